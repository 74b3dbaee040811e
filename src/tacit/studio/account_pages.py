"""Pages for accounts: set up, sign in and out, password, tokens, members, audit log."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, RedirectResponse, Response

from tacit.errors import DataError, unknown
from tacit.studio.accounts import (
    DEVICE_SECONDS,
    LONGEST_NAME,
    SESSION_SECONDS,
    Account,
    Invitation,
    Role,
)
from tacit.studio.guess_limits import Guess
from tacit.studio.passkeys import SiteOrigin
from tacit.studio.site import (
    NOT_FOUND,
    PageRoute,
    PageVisit,
    Refusal,
    RefusalError,
    Right,
    cookie_name,
    device_cookie_name,
    origin_of,
)

WRONG = "Name or password is wrong."
OTHER_WAYS = (
    "A device on which you have signed in before, and a passkey, need not wait for strangers."
)
PASSKEY_SCRIPT = "passkeys.js"


def show_set_up(visit: PageVisit) -> Response:
    """The form of a one-time link."""
    works = visit.studio.accounts.link_works(visit.request.path_params["token"])
    return visit.page("set_up.html", 200 if works else 404, works=works, problem=None)


def set_up(visit: PageVisit) -> Response:
    """Make an account and sign in."""
    token = visit.request.path_params["token"]
    name, password = visit.form.get("name", ""), visit.form.get("password", "")
    try:
        if password != visit.form.get("again", ""):
            raise DataError("the two passwords differ; type the same one twice")
        account = visit.studio.accounts.create(token, name, password)
    except DataError as error:
        return visit.page("set_up.html", 400, works=True, problem=str(error))
    if account is None:
        return visit.page("set_up.html", 404, works=False, problem=None)
    inviter = next(row.invited_by for row in visit.studio.accounts.all() if row.id == account.id)
    note = "" if inviter is None else f"invited by {inviter}"
    visit.studio.accounts.record(account.name, "account made", note)
    return signed_in(visit, account)


def show_sign_in(visit: PageVisit) -> Response:
    """The form to sign in."""
    return visit.page("sign_in.html", script=PASSKEY_SCRIPT, problem=None)


def sign_in(visit: PageVisit) -> Response:
    """Begin a session; after failures, the next try has to wait."""
    name, password = visit.form.get("name", ""), visit.form.get("password", "")
    guess = _guess(visit, name)
    wait = visit.studio.guesses.begin(guess)
    if wait > 0:
        problem = too_many(wait) if guess.device else f"{too_many(wait)} {OTHER_WAYS}"
        return visit.page("sign_in.html", 429, PASSKEY_SCRIPT, problem=problem)
    account = visit.studio.accounts.check_password(name, password)
    if account is None:
        visit.studio.accounts.record_failed_sign_in(name)
        return visit.page("sign_in.html", 403, PASSKEY_SCRIPT, problem=WRONG)
    visit.studio.guesses.succeeded(guess)
    visit.studio.accounts.record(account.name, "signed in")
    return signed_in(visit, account)


def _guess(visit: PageVisit, name: str) -> Guess:
    """A guess at the password of an account, from a device that it knows or from elsewhere."""
    accounts, request = visit.studio.accounts, visit.request
    number = accounts.number_of(name)
    if number is None:
        return Guess(name[:LONGEST_NAME], visit.networks)
    secret = request.cookies.get(device_cookie_name(request))  # also beside that of a session
    device = None if secret is None else accounts.device(secret)
    signed_in_before = device is not None and accounts.signed_in_on(number, device)
    return Guess(number, visit.networks, device if signed_in_before else None)


def guess_inside(visit: PageVisit) -> Guess:
    """A guess of somebody who is signed in: only those with a session can make others wait."""
    return Guess(visit.person.id, device=b"session")


def sign_out(visit: PageVisit) -> Response:
    """End the session."""
    name = cookie_name(visit.request)
    visit.studio.accounts.end_session(visit.request.cookies.get(name, ""))
    visit.record("signed out")
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(name, secure=visit.request.url.scheme == "https", httponly=True)
    return response


def show_account(
    visit: PageVisit, secret: str | None = None, problem: str | None = None, status: int = 400
) -> Response:
    """The own account: password and tokens; `secret` is a new token, shown once.

    `status` is that of a page with a problem.
    """
    tokens = visit.studio.accounts.tokens(visit.person.id)
    surveys = visit.studio.surveys(visit.person)
    return visit.page(
        "account.html",
        status if problem else 200,
        PASSKEY_SCRIPT,
        tokens=tokens,
        surveys=surveys,
        passkeys=visit.studio.passkeys.of_account(visit.person.id),
        secret=secret,
        problem=problem,
    )


def change_password(visit: PageVisit) -> Response:
    """Set a new password; every session ends, and a new one begins."""
    accounts, person, guesses = visit.studio.accounts, visit.person, visit.studio.guesses
    guess = guess_inside(visit)
    wait = guesses.begin(guess)
    if wait > 0:
        return show_account(visit, problem=too_many(wait), status=429)
    if accounts.check_password(person.name, visit.form.get("old", "")) is None:
        visit.record("password not changed")
        return show_account(visit, problem="The old password is wrong.")
    guesses.succeeded(guess)
    try:
        accounts.change_password(person.id, visit.form.get("new", ""))
    except DataError as error:
        return show_account(visit, problem=str(error))
    visit.record("password changed")
    return signed_in(visit, person, RedirectResponse("/account", 303))


def issue_token(visit: PageVisit) -> Response:
    """Make an API token and show it once."""
    scope = Role.named(visit.form.get("scope", "viewer"))
    slug = visit.form.get("survey", "")
    only = next(
        (survey for survey in visit.studio.surveys(visit.person) if survey.slug == slug), None
    )
    if slug and only is None:
        raise DataError("there is no such survey; choose one of the list")
    fingerprint = None if only is None else only.survey.fingerprint
    label = visit.form.get("label", "")
    secret = visit.studio.accounts.issue_token(visit.person.id, label, scope, fingerprint)
    visit.record("token issued", label)
    return show_account(visit, secret)


def revoke_token(visit: PageVisit) -> Response:
    """Revoke a token; it stops working at once."""
    number = visit.request.path_params["number"]
    if visit.studio.accounts.revoke_token(visit.person.id, number):
        visit.record("token revoked", str(number))
    return RedirectResponse("/account", 303)


def show_members(visit: PageVisit, link: str | None = None) -> Response:
    """Who has which role for a survey; `link` makes a new account."""
    accounts, survey = visit.studio.accounts, visit.survey
    return visit.page(
        "members.html",
        survey=survey,
        members=accounts.members(survey.survey.fingerprint),
        invitations=[
            (invitation, survey) for invitation in accounts.invitations(survey.survey.fingerprint)
        ],
        link=link,
    )


def change_members(visit: PageVisit) -> Response:
    """Invite somebody with a role, or change or end the role of a member."""
    accounts, survey = visit.studio.accounts, visit.survey.survey.fingerprint
    chosen = visit.form.get("role", "viewer")
    role = None if chosen == "none" else Role.named(chosen)
    member = visit.form.get("member", "")
    if not member:
        if role is None:
            raise DataError("choose a role for the new member")
        _, link = invite(visit, role)
        return show_members(visit, link)
    names = {str(row.id): row.name for row in accounts.members(survey)}
    if member not in names:
        raise DataError("there is no such member; choose one of the list")
    accounts.give(int(member), survey, role)
    visit.record("role changed", f"{visit.survey.title}: {names[member]} {chosen}")
    return RedirectResponse(f"/surveys/{visit.survey.slug}/members", 303)


def invite(visit: PageVisit, role: Role) -> tuple[Invitation, str]:
    """An invitation to the survey of a page, and its link."""
    survey = visit.survey
    invitation, secret = visit.studio.accounts.invite(visit.person, survey.survey.fingerprint, role)
    visit.record("member invited", f"{survey.title}: {role.name.lower()}")
    return invitation, f"{visit.request.base_url}set-up/{secret}"


def revoke_invitation(visit: PageVisit) -> None:
    """Revoke the invitation in the address; refused if the survey does not have it."""
    number, survey = visit.request.path_params["number"], visit.survey
    if not visit.studio.accounts.revoke_invitation(number, survey.survey.fingerprint):
        raise RefusalError(NOT_FOUND)
    visit.record("invitation revoked", survey.title)


def revoke(visit: PageVisit) -> Response:
    """Revoke an invitation; its link stops working at once."""
    revoke_invitation(visit)
    return RedirectResponse(f"/surveys/{visit.survey.slug}/members", 303)


def show_accounts(visit: PageVisit, problem: str | None = None) -> Response:
    """All accounts, and the invitations to all surveys."""
    surveys = {survey.survey.fingerprint: survey for survey in visit.studio.store.published()}
    invitations = [
        (survey, surveys[survey.survey])
        for survey in visit.studio.accounts.invitations()
        if survey.survey in surveys
    ]
    return visit.page(
        "accounts.html",
        400 if problem else 200,
        accounts=visit.studio.accounts.all(),
        invitations=invitations,
        problem=problem,
    )


def change_account(visit: PageVisit) -> Response:
    """Disable or enable an account, or make it an administrator or no longer one."""
    accounts, number = visit.studio.accounts, visit.request.path_params["number"]
    name = next((row.name for row in accounts.all() if row.id == number), None)
    if name is None:
        raise RefusalError(NOT_FOUND)
    changes = {
        "disable": (accounts.disable, True, "account disabled"),
        "enable": (accounts.disable, False, "account enabled"),
        "promote": (accounts.make_administrator, True, "administrator made"),
        "demote": (accounts.make_administrator, False, "administrator ended"),
    }
    action = visit.form.get("action", "")
    if action not in changes:
        raise DataError(unknown("action", action, changes))
    change, value, words = changes[action]
    try:
        change(number, value)
    except DataError as error:
        return show_accounts(visit, str(error))
    visit.record(words, name)
    return RedirectResponse("/accounts", 303)


def show_audit(visit: PageVisit) -> Response:
    """The audit log, newest first."""
    return visit.page("audit.html", lines=visit.studio.accounts.history())


def signed_in(visit: PageVisit, account: Account, response: Response | None = None) -> Response:
    """A response, else one that opens the surveys, with the cookie of a new session."""
    response = response or RedirectResponse("/", 303)
    accounts, request = visit.studio.accounts, visit.request
    device = device_cookie_name(request)
    cookies = {
        cookie_name(request): (accounts.begin_session(account), SESSION_SECONDS),
        device: (accounts.remember_device(account, request.cookies.get(device)), DEVICE_SECONDS),
    }
    for name, (secret, seconds) in cookies.items():
        secure = request.url.scheme == "https"
        rules: dict[str, Any] = dict(secure=secure, httponly=True, samesite="lax")
        response.set_cookie(name, secret, max_age=int(seconds), **rules)
    return response


def too_many(seconds: float) -> str:
    """Throttling message after failed tries."""
    return f"Too many failed tries. Wait {seconds:.0f} seconds, then try again."


# Passkeys; all but removing needs the script ------------------------------------------------------

_UNKNOWN_PASSKEY = Refusal(
    "wrong", 403, "This passkey is not known here, or it took too long. Try again."
)


def passkey_options(visit: PageVisit) -> Response:
    """What a browser needs to make a passkey for the account; its password is needed."""
    person, password = visit.person, visit.json.get("password")
    guess = guess_inside(visit)
    wait = visit.studio.guesses.begin(guess)
    if wait > 0:
        return _too_many(visit, wait)
    correct = isinstance(password, str) and visit.studio.accounts.check_password(
        person.name, password
    )
    if not correct:
        visit.record("passkey refused", "wrong password")
        raise DataError("The password is wrong.")
    visit.studio.guesses.succeeded(guess)
    options = visit.studio.passkeys.options_to_add(person.id, person.name, _site_origin(visit))
    return JSONResponse(options)


def add_passkey(visit: PageVisit) -> Response:
    """Add the passkey that a browser made."""
    label = visit.json.get("label")
    if not isinstance(label, str):
        raise DataError("the key label must be a text")
    sent, site = visit.json.get("credential"), _site_origin(visit)
    visit.studio.passkeys.add(visit.person.id, label, sent, site)
    visit.record("passkey added", label)
    return JSONResponse({"to": "/account"}, 201)


def remove_passkey(visit: PageVisit) -> Response:
    """Remove a passkey; it stops working at once."""
    number = visit.request.path_params["number"]
    if visit.studio.passkeys.remove(visit.person.id, number):
        visit.record("passkey removed", str(number))
    return RedirectResponse("/account", 303)


def passkey_sign_in_options(visit: PageVisit) -> Response:
    """What a browser needs to sign in with a passkey."""
    return JSONResponse(visit.studio.passkeys.options_to_sign_in(_site_origin(visit)))


def sign_in_with_passkey(visit: PageVisit) -> Response:
    """Begin a session with a passkey, which nobody can guess: failures never keep it out."""
    sent = visit.json.get("credential")
    number = visit.studio.passkeys.account_of(sent, _site_origin(visit))
    account = None if number is None else visit.studio.accounts.of_number(number)
    if account is None:
        wait = visit.studio.guesses.failed_otherwise(visit.networks)
        if wait > 0:  # and the audit log is not filled
            return _too_many(visit, wait)
        visit.studio.accounts.record("", "sign-in failed", "passkey")
        raise RefusalError(_UNKNOWN_PASSKEY)
    visit.studio.accounts.record(account.name, "signed in", "passkey")
    return signed_in(visit, account, JSONResponse({"to": "/"}))


def _too_many(visit: PageVisit, seconds: float) -> Response:
    raise RefusalError(Refusal("too-many", 429, too_many(seconds)))


def _site_origin(visit: PageVisit) -> SiteOrigin:
    return SiteOrigin(origin_of(visit.request), visit.studio.address is not None)


#: The pages of this module with the rights that they need.
ROUTES = (
    PageRoute("GET", "/set-up/{token}", Right.EVERYONE, show_set_up),
    PageRoute("POST", "/set-up/{token}", Right.EVERYONE, set_up),
    PageRoute("GET", "/sign-in", Right.EVERYONE, show_sign_in),
    PageRoute("POST", "/sign-in", Right.EVERYONE, sign_in),
    PageRoute("POST", "/sign-out", Right.PERSON, sign_out),
    PageRoute("GET", "/account", Right.PERSON, show_account),
    PageRoute("POST", "/account/password", Right.PERSON, change_password),
    PageRoute("POST", "/account/tokens", Right.PERSON, issue_token),
    PageRoute("POST", "/account/tokens/{number:int}/revoke", Right.PERSON, revoke_token),
    PageRoute("GET", "/accounts", Right.ADMINISTRATOR, show_accounts),
    PageRoute("POST", "/accounts/{number:int}", Right.ADMINISTRATOR, change_account),
    PageRoute("GET", "/audit", Right.ADMINISTRATOR, show_audit),
    PageRoute("GET", "/surveys/{survey}/members", Role.OWNER, show_members),
    PageRoute("POST", "/surveys/{survey}/members", Role.OWNER, change_members),
    PageRoute(
        "POST",
        "/surveys/{survey}/invitations/{number:int}/revoke",
        Role.OWNER,
        revoke,
    ),
    PageRoute("POST", "/account/passkeys/options", Right.PERSON, passkey_options),
    PageRoute("POST", "/account/passkeys", Right.PERSON, add_passkey),
    PageRoute("POST", "/account/passkeys/{number:int}/remove", Right.PERSON, remove_passkey),
    PageRoute("POST", "/sign-in/passkey/options", Right.EVERYONE, passkey_sign_in_options),
    PageRoute("POST", "/sign-in/passkey", Right.EVERYONE, sign_in_with_passkey),
)
