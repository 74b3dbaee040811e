"""Who may open which page: rights, the account of a request, and requests from other sites."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request

from tacit.collect.http import ProblemType
from tacit.studio.accounts import Account, Accounts, Role

#: Browsers accept this cookie only from a secure origin, for the whole host, and send it nowhere
#: else; on http://localhost there is no secure origin, and the second name is used.
SECURE_COOKIE, PLAIN_COOKIE = "__Host-tacit-studio", "tacit-studio"
SECURE_DEVICE, PLAIN_DEVICE = "__Host-tacit-device", "tacit-device"
SAFE_METHODS = ("GET", "HEAD")
_OWN_SITES = ("same-origin", "none")


class Right(enum.Enum):
    """What a page needs besides, or instead of, a role for a survey."""

    EVERYONE = "everyone"
    SIGNED_IN = "signed in"
    PERSON = "signed in, not with a token"
    AUTHOR = "signed in; a token needs the role owner for all surveys"
    PUBLISHER = "administrator; a token needs the role owner for all surveys"
    ADMINISTRATOR = "administrator, not with a token"


@dataclass(frozen=True)
class Refusal(ProblemType):
    """Why a request is refused; programs get the details as well."""

    details: dict[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> dict[str, Any]:
        """Problem details for programs (RFC 9457), with more members if there are some."""
        return self.content() | self.details


SIGN_IN = Refusal("sign-in", 401, "Sign in first.")
NOT_FOUND = Refusal("not-found", 404, "There is no such page, or you may not see it.")
NOT_ALLOWED = Refusal("not-allowed", 403, "Your role does not allow this.")
OTHER_SITE = Refusal("other-site", 403, "The request came from another site.")


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


def device_cookie_name(request: Request) -> str:
    """The name of the cookie that recognizes a device on which somebody has signed in."""
    return SECURE_DEVICE if request.url.scheme == "https" else PLAIN_DEVICE


def refusal(
    request: Request, needs: Right | Role, account: Account | None, survey: str | None
) -> Refusal | None:
    """Why an account may not make a request; None if it may.

    `survey` is the fingerprint of the survey in the address, or the key of the draft, if there is
    one. A survey that the account has no role for does not exist for it.
    """
    by_token = account is not None and account.by_token
    if request.method not in SAFE_METHODS and not by_token and from_other_site(request):
        return OTHER_SITE
    if needs is Right.EVERYONE:
        return None
    if account is None:
        return SIGN_IN
    if isinstance(needs, Role):
        return _without_role(account, needs, survey)
    return None if has_right(account, needs) else NOT_ALLOWED


def has_right(account: Account, needs: Right) -> bool:
    """Whether somebody who is signed in has a right that is not a role."""
    whole = account.most is Role.OWNER and account.only is None
    match needs:
        case Right.ADMINISTRATOR:
            return account.administrator and not account.by_token
        case Right.PERSON:
            return not account.by_token
        case Right.AUTHOR:
            return whole
        case Right.PUBLISHER:
            return whole and account.administrator
        case _:
            return True


def _without_role(account: Account, needs: Role, survey: str | None) -> Refusal | None:
    own = None if survey is None else account.role(survey)
    if own is None:
        return NOT_FOUND
    return None if own >= needs else NOT_ALLOWED


def from_other_site(request: Request) -> bool:
    """Whether a form may have been sent by a page of another site.

    Current browsers say where a request comes from (Sec-Fetch-Site), older ones at least the
    origin, with its scheme and port. A request with neither is refused: browsers send one of them
    with every form.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN_SITES
    return request.headers.get("origin") != origin_of(request)


def origin_of(request: Request) -> str:
    """The origin of the studio for a request, as browsers write it: scheme, host and port."""
    return origin(f"{request.scope['scheme']}://{request.headers.get('host', '')}")


def origin(address: str) -> str:
    """The origin of an address, without the port that its scheme implies. Raises ValueError.

    >>> origin("https://Studio.example.org:443/account")
    'https://studio.example.org'
    """
    parts = urlsplit(address)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    implied = {"http": 80, "https": 443}.get(parts.scheme)
    port = "" if parts.port in (None, implied) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"
