"""Who may open which page: rights, the account of a request, and requests from other sites."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request

from tacit.studio.accounts import Account, Accounts, Role

#: Browsers accept this cookie only from a secure origin, for the whole host, and send it nowhere
#: else; on http://localhost there is no secure origin, and the second name is used.
SECURE_COOKIE, PLAIN_COOKIE = "__Host-tacit-studio", "tacit-studio"
_SAFE_METHODS = ("GET", "HEAD")
_OWN_SITES = ("same-origin", "none")


class Right(enum.Enum):
    """What a page needs besides, or instead of, a role for a survey."""

    EVERYONE = "everyone"
    SIGNED_IN = "signed in"
    PERSON = "signed in, not with a token"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused: a status and a sentence."""

    status: int
    reason: str


SIGN_IN = Refusal(401, "Sign in first.")
NOT_FOUND = Refusal(404, "There is no such page, or you may not see it.")
NOT_ALLOWED = Refusal(403, "Your role does not allow this.")
OTHER_SITE = Refusal(403, "The request came from another site.")


def account_of(request: Request, accounts: Accounts) -> Account | None:
    """The account of a token or of a session; None if there is neither."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind:
        return accounts.of_token(secret.strip()) if kind.lower() == "bearer" else None
    session = request.cookies.get(cookie_name(request))
    return None if session is None else accounts.of_session(session)


def cookie_name(request: Request) -> str:
    """The name of the session's cookie."""
    return SECURE_COOKIE if request.url.scheme == "https" else PLAIN_COOKIE


def refusal(
    request: Request, needs: Right | Role, account: Account | None, survey: str | None
) -> Refusal | None:
    """Why an account may not make a request; None if it may.

    `survey` is the fingerprint of the survey in the address, if there is such a survey. A survey
    that the account has no role for does not exist for it.
    """
    by_token = account is not None and account.by_token
    if request.method not in _SAFE_METHODS and not by_token and from_other_site(request):
        return OTHER_SITE
    if needs is Right.EVERYONE:
        return None
    if account is None:
        return SIGN_IN
    if isinstance(needs, Role):
        return _without_role(account, needs, survey)
    person = needs is Right.SIGNED_IN or not by_token
    enough = needs is not Right.ADMINISTRATOR or account.administrator
    return None if person and enough else NOT_ALLOWED


def _without_role(account: Account, needs: Role, survey: str | None) -> Refusal | None:
    own = None if survey is None else account.role(survey)
    if own is None:
        return NOT_FOUND
    return None if own >= needs else NOT_ALLOWED


def from_other_site(request: Request) -> bool:
    """Whether a form may have been sent by a page of another site.

    Current browsers say where a request comes from (Sec-Fetch-Site), older ones at least the
    origin. A request with neither is refused: browsers send one of them with every form.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN_SITES
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc != request.headers.get("host")
