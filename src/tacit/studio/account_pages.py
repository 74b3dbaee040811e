"""Pages for accounts: set up, sign in and out, password, tokens, members, audit log."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.responses import JSONResponse, RedirectResponse, Response

from tacit.errors import DataError, unknown
from tacit.studio import accounts, site
from tacit.studio.accounts import Account, Role
from tacit.studio.guess_limits import Guess
from tacit.studio.passkeys import SiteOrigin
from tacit.studio.site import Answer, PageRoute, PageVisit, Refusal, RefusalError, Right

WRONG = Refusal("wrong", 403, "Name or password is wrong.")
OTHER_WAYS = (
    " A device on which you have signed in before, and a passkey, need not wait for strangers."
)
PASSKEY_SCRIPT = "passkeys.js"


def show_set_up(visit: PageVisit, problem: str | None = None, status: int = 200) -> Response:
    """The form of a one-time link."""
    token = visit.request.path_params["token"]
    works = problem is not None or visit.studio.accounts.link_works(token)
    return visit.page("set_up.html", status if works else 404, works=works, problem=problem)


def set_up(visit: PageVisit) -> Response:
    """Make an account and sign in."""
    token, password = visit.request.path_params["token"], visit.text("password")
    if password != visit.text("again"):
        raise DataError("the two passwords differ; type the same one twice")
    account = visit.studio.accounts.create(token, visit.text("name"), password)
    if account is None:
        return show_set_up(visit)
    inviter = next(row.invited_by for row in visit.studio.accounts.all() if row.id == account.id)
    note = "" if inviter is None else f"invited by {inviter}"
    visit.studio.accounts.record(account.name, "account made", note)
    return signed_in(visit, account)


def show_sign_in(visit: PageVisit, problem: str | None = None, status: int = 200) -> Response:
    """The form to sign in."""
    return visit.page("sign_in.html", status, PASSKEY_SCRIPT, problem=problem)


def sign_in(visit: PageVisit) -> Response:
    """Begin a session; after failures, the next try has to wait."""
    name = visit.text("name")
    account = _with_password(visit, _guess(visit, name), name, visit.text("password"))
    if account is None:
        visit.studio.accounts.record_failed_sign_in(name)
        raise RefusalError(WRONG)
    visit.studio.accounts.record(account.name, "signed in")
    return signed_in(visit, account)


def _guess(visit: PageVisit, name: str) -> Guess:
    """A guess at the password of an account, from a device that it knows or from elsewhere."""
    number = visit.studio.accounts.number_of(name)
    if number is None:
        return Guess(name[: accounts.LONGEST_NAME], visit.networks)
    cookie = site.cookie_name(visit.request, site.DEVICE_COOKIE)
    secret = visit.request.cookies.get(cookie)  # also beside that of a session
    device = None if secret is None else visit.studio.accounts.device(secret)
    if device is not None and not visit.studio.accounts.signed_in_on(number, device):
        device = None
    return Guess(number, visit.networks, device)


def _with_password(visit: PageVisit, guess: Guess, name: str, password: str) -> Account | None:
    """The account, if the password is right; refused after many failures."""
    _require_no_wait(visit.studio.guesses.begin(guess), "" if guess.device else OTHER_WAYS)
    account = visit.studio.accounts.check_password(name, password)
    if account is not None:
        visit.studio.guesses.succeeded(guess)
    return account


def _require_no_wait(seconds: float, hint: str = "") -> None:
    if seconds > 0:
        words = f"Too many failed tries. Wait {seconds:.0f} seconds, then try again.{hint}"
        raise RefusalError(Refusal("too-many", 429, words))


def _own_password(visit: PageVisit, password: str) -> bool:
    """Whether somebody who is signed in knows the password; only sessions make others wait."""
    guess = Guess(visit.person.id, device=b"session")
    return _with_password(visit, guess, visit.person.name, password) is not None


def sign_out(visit: PageVisit) -> Response:
    """End the session."""
    name = site.cookie_name(visit.request, site.SESSION_COOKIE)
    visit.studio.accounts.end_session(visit.request.cookies.get(name, ""))
    visit.record("signed out")
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(name, secure=visit.request.url.scheme == "https", httponly=True)
    return response


def show_account(
    visit: PageVisit, secret: str | None = None, problem: str | None = None, status: int = 200
) -> Response:
    """The own account: password and tokens; `secret` is a new token, shown once."""
    return visit.page(
        "account.html",
        status,
        PASSKEY_SCRIPT,
        tokens=visit.studio.accounts.tokens(visit.person.id),
        surveys=visit.studio.surveys(visit.person),
        passkeys=visit.studio.passkeys.of_account(visit.person.id),
        secret=secret,
        problem=problem,
    )


def change_password(visit: PageVisit) -> Response:
    """Set a new password; every session ends, and a new one begins."""
    if not _own_password(visit, visit.text("old")):
        visit.record("password not changed")
        raise DataError("The old password is wrong.")
    visit.studio.accounts.change_password(visit.person.id, visit.text("new"))
    visit.record("password changed")
    return signed_in(visit, visit.person, RedirectResponse("/account", 303))


def issue_token(visit: PageVisit) -> Response:
    """Make an API token and show it once."""
    scope = Role.named(visit.form.get("scope", "viewer"))
    slug = visit.text("survey")
    fingerprints = {s.slug: s.survey.fingerprint for s in visit.studio.surveys(visit.person)}
    if slug and slug not in fingerprints:
        raise DataError("there is no such survey; choose one of the list")
    label = visit.text("label")
    only = fingerprints.get(slug)
    secret = visit.studio.accounts.issue_token(visit.person.id, label, scope, only)
    visit.record("token issued", label)
    return show_account(visit, secret)


def revoke_token(visit: PageVisit) -> None:
    """Revoke a token; it stops working at once."""
    if visit.studio.accounts.revoke_token(visit.person.id, visit.number):
        visit.record("token revoked", str(visit.number))


def show_people(visit: PageVisit, link: str | None = None) -> Response:
    """The address, links, and who has which role; `link` makes a new account."""
    accounts, fingerprint = visit.studio.accounts, visit.survey.survey.fingerprint
    return visit.page(
        "people.html",
        **visit.survey_values(),
        invited=visit.survey.survey.access == "invited",
        members=accounts.members(fingerprint),
        invitations=[(item, visit.survey) for item in accounts.invitations(fingerprint)],
        link=link,
    )


def change_members(visit: PageVisit) -> Response:
    """Invite somebody with a role, or change or end the role of a member."""
    chosen, member = visit.form.get("role", "viewer"), visit.text("member")
    role = None if chosen == "none" else Role.named(chosen)
    if not member:
        if role is None:
            raise DataError("choose a role for the new member")
        return show_people(visit, invite(visit, role)[1])
    names = {str(row.id): row.name for row in visit.studio.accounts.members(visit.key)}
    if member not in names:
        raise DataError("there is no such member; choose one of the list")
    visit.studio.accounts.give(int(member), visit.key, role)
    visit.record("role changed", f"{visit.survey.title}: {names[member]} {chosen}")
    return RedirectResponse(f"/surveys/{visit.survey.slug}/people", 303)


def invite(visit: PageVisit, role: Role) -> tuple[Any, str]:
    """An invitation to the survey of a page, and its link."""
    invitation, secret = visit.studio.accounts.invite(visit.person, visit.key, role)
    visit.record("member invited", f"{visit.survey.title}: {role.name.lower()}")
    return invitation, f"{visit.request.base_url}set-up/{secret}"


def revoke_invitation(visit: PageVisit) -> None:
    """Revoke an invitation; its link stops working at once."""
    if not visit.studio.accounts.revoke_invitation(visit.number, visit.key):
        raise RefusalError(site.NOT_FOUND)
    visit.record("invitation revoked", visit.survey.title)


def show_accounts(visit: PageVisit, problem: str | None = None, status: int = 200) -> Response:
    """All accounts, and the invitations to all surveys."""
    surveys = {survey.survey.fingerprint: survey for survey in visit.studio.store.published()}
    invitations = visit.studio.accounts.invitations()
    return visit.page(
        "accounts.html",
        status,
        accounts=visit.studio.accounts.all(),
        invitations=[(i, surveys[i.survey]) for i in invitations if i.survey in surveys],
        problem=problem,
    )


def change_account(visit: PageVisit) -> None:
    """Disable or enable an account, or make it an administrator or no longer one."""
    people, number = visit.studio.accounts, visit.number
    names = {row.id: row.name for row in people.all()}
    if number not in names:
        raise RefusalError(site.NOT_FOUND)
    changes = {
        "disable": (people.disable, True, "account disabled"),
        "enable": (people.disable, False, "account enabled"),
        "promote": (people.make_administrator, True, "administrator made"),
        "demote": (people.make_administrator, False, "administrator ended"),
    }
    action = visit.text("action")
    if action not in changes:
        raise DataError(unknown("action", action, changes))
    change, value, words = changes[action]
    change(number, value)
    visit.record(words, names[number])


def show_audit(visit: PageVisit) -> Response:
    """The audit log, newest first."""
    return visit.page("audit.html", lines=visit.studio.accounts.history())


def signed_in(visit: PageVisit, account: Account, response: Response | None = None) -> Response:
    """A response, else one that opens the surveys, with the cookie of a new session."""
    response = response or RedirectResponse("/", 303)
    people, request = visit.studio.accounts, visit.request
    session = site.cookie_name(request, site.SESSION_COOKIE)
    device = site.cookie_name(request, site.DEVICE_COOKIE)
    remembered = people.remember_device(account, request.cookies.get(device))
    for name, secret, seconds in (
        (session, people.begin_session(account), accounts.SESSION_SECONDS),
        (device, remembered, accounts.DEVICE_SECONDS),
    ):
        secure = request.url.scheme == "https"
        rules: dict[str, Any] = dict(secure=secure, httponly=True, samesite="lax")
        response.set_cookie(name, secret, max_age=int(seconds), **rules)
    return response


# Passkeys; all but removing needs the script ------------------------------------------------------

_UNKNOWN_PASSKEY = Refusal(
    "wrong", 403, "This passkey is not known here, or it took too long. Try again."
)


def passkey_options(visit: PageVisit) -> Answer:
    """What a browser needs to make a passkey for the account; its password is needed."""
    person, password = visit.person, visit.json.get("password")
    if not _own_password(visit, password if isinstance(password, str) else ""):
        visit.record("passkey refused", "wrong password")
        raise DataError("The password is wrong.")
    return visit.studio.passkeys.options_to_add(person.id, person.name, _site_origin(visit))


def add_passkey(visit: PageVisit) -> Answer:
    """Add the passkey that a browser made."""
    label, credential = visit.json.get("label"), visit.json.get("credential")
    if not isinstance(label, str):
        raise DataError("the key label must be a text")
    visit.studio.passkeys.add(visit.person.id, label, credential, _site_origin(visit))
    visit.record("passkey added", label)
    return {"to": "/account"}


def remove_passkey(visit: PageVisit) -> None:
    """Remove a passkey; it stops working at once."""
    if visit.studio.passkeys.remove(visit.person.id, visit.number):
        visit.record("passkey removed", str(visit.number))


def passkey_sign_in_options(visit: PageVisit) -> Answer:
    """What a browser needs to sign in with a passkey."""
    return visit.studio.passkeys.options_to_sign_in(_site_origin(visit))


def sign_in_with_passkey(visit: PageVisit) -> Response:
    """Begin a session with a passkey, which nobody can guess: failures never keep it out."""
    number = visit.studio.passkeys.account_of(visit.json.get("credential"), _site_origin(visit))
    account = None if number is None else visit.studio.accounts.of_number(number)
    if account is None:  # many failures do not fill the audit log
        _require_no_wait(visit.studio.guesses.failed_otherwise(visit.networks))
        visit.studio.accounts.record("", "sign-in failed", "passkey")
        raise RefusalError(_UNKNOWN_PASSKEY)
    visit.studio.accounts.record(account.name, "signed in", "passkey")
    return signed_in(visit, account, JSONResponse({"to": "/"}))


def _site_origin(visit: PageVisit) -> SiteOrigin:
    return SiteOrigin(site.origin_of(visit.request), visit.studio.address is not None)


_SURVEY, _NUMBER = "/surveys/{survey}", "{number:int}"
_TOKEN, _PASSKEY = f"/account/tokens/{_NUMBER}", f"/account/passkeys/{_NUMBER}"
_PEOPLE, _REVOKE = f"{_SURVEY}/people", f"{_SURVEY}/invitations/{_NUMBER}/revoke"
_change_accounts = partial(PageRoute, then="/accounts", again=show_accounts)
#: The pages of this module with the rights that they need.
ROUTES = (
    PageRoute("GET", "/set-up/{token}", Right.EVERYONE, show_set_up),
    PageRoute("POST", "/set-up/{token}", Right.EVERYONE, set_up, again=show_set_up),
    PageRoute("GET", "/sign-in", Right.EVERYONE, show_sign_in),
    PageRoute("POST", "/sign-in", Right.EVERYONE, sign_in, again=show_sign_in),
    PageRoute("POST", "/sign-out", Right.PERSON, sign_out),
    PageRoute("GET", "/account", Right.PERSON, show_account),
    PageRoute("POST", "/account/password", Right.PERSON, change_password, again=show_account),
    PageRoute("POST", "/account/tokens", Right.PERSON, issue_token),
    PageRoute("POST", f"{_TOKEN}/revoke", Right.PERSON, revoke_token, then="/account"),
    PageRoute("GET", "/accounts", Right.ADMINISTRATOR, show_accounts),
    _change_accounts("POST", f"/accounts/{_NUMBER}", Right.ADMINISTRATOR, change_account),
    PageRoute("GET", "/audit", Right.ADMINISTRATOR, show_audit),
    PageRoute("GET", _PEOPLE, Role.OWNER, show_people),
    PageRoute("POST", f"{_SURVEY}/members", Role.OWNER, change_members),
    PageRoute("POST", _REVOKE, Role.OWNER, revoke_invitation, then=_PEOPLE),
    PageRoute("POST", "/account/passkeys/options", Right.PERSON, passkey_options),
    PageRoute("POST", "/account/passkeys", Right.PERSON, add_passkey, status=201),
    PageRoute("POST", f"{_PASSKEY}/remove", Right.PERSON, remove_passkey, then="/account"),
    PageRoute("POST", "/sign-in/passkey/options", Right.EVERYONE, passkey_sign_in_options),
    PageRoute("POST", "/sign-in/passkey", Right.EVERYONE, sign_in_with_passkey),
)
