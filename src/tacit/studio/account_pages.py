"""Pages for accounts: set up, sign in and out, password, tokens, members, audit log."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.responses import RedirectResponse, Response

from tacit.errors import DataError
from tacit.studio.access import cookie_name
from tacit.studio.accounts import LONGEST_NAME, SESSION_SECONDS, Account, Role
from tacit.studio.site import PageVisit

WRONG = "Name or password is wrong."
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
        made = visit.studio.accounts.create(token, name, password)
    except DataError as error:
        return visit.page("set_up.html", 400, works=True, problem=str(error))
    if made is None:
        return visit.page("set_up.html", 404, works=False, problem=None)
    visit.studio.accounts.record(made.name, "account made")
    return signed_in(visit, made)


def show_sign_in(visit: PageVisit) -> Response:
    """The form to sign in."""
    return visit.page("sign_in.html", script=PASSKEY_SCRIPT, problem=None)


def sign_in(visit: PageVisit) -> Response:
    """Begin a session; after failures, the next try has to wait."""
    name, password = visit.form.get("name", ""), visit.form.get("password", "")
    delay, keys = (
        visit.studio.delay,
        (f"name {name[:LONGEST_NAME]}", f"address {address_of(visit)}"),
    )
    wait = delay.begin(*keys)
    if wait > 0:
        return visit.page("sign_in.html", 429, PASSKEY_SCRIPT, problem=too_many(wait))
    account = visit.studio.accounts.check_password(name, password)
    if account is None:
        visit.studio.accounts.record(name, "sign-in failed")
        return visit.page("sign_in.html", 403, PASSKEY_SCRIPT, problem=WRONG)
    delay.succeeded(*keys)
    visit.studio.accounts.record(account.name, "signed in")
    return signed_in(visit, account)


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
    accounts, person, delay = visit.studio.accounts, visit.person, visit.studio.delay
    keys = (f"name {person.name}", f"address {address_of(visit)}")
    wait = delay.begin(*keys)
    if wait > 0:
        return show_account(visit, problem=too_many(wait), status=429)
    if accounts.check_password(person.name, visit.form.get("old", "")) is None:
        visit.record("password not changed")
        return show_account(visit, problem="The old password is wrong.")
    delay.succeeded(*keys)
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
    only = next((one for one in visit.studio.surveys(visit.person) if one.slug == slug), None)
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
    members = visit.studio.accounts.members(visit.survey.survey.fingerprint)
    return visit.page("members.html", survey=visit.survey, members=members, link=link)


def change_members(visit: PageVisit) -> Response:
    """Invite somebody with a role, or change or end the role of a member."""
    accounts, survey = visit.studio.accounts, visit.survey.survey.fingerprint
    asked = visit.form.get("role", "viewer")
    role = None if asked == "none" else Role.named(asked)
    member = visit.form.get("member", "")
    if not member:
        if role is None:
            raise DataError("choose a role for the new member")
        token = accounts.invite(survey=survey, role=role)
        visit.record("member invited", f"{visit.survey.title}: {asked}")
        return show_members(visit, str(visit.request.base_url) + f"set-up/{token}")
    known = {str(number): name for number, name, _ in accounts.members(survey)}
    if member not in known:
        raise DataError("there is no such member; choose one of the list")
    accounts.give(int(member), survey, role)
    visit.record("role changed", f"{visit.survey.title}: {known[member]} {asked}")
    return RedirectResponse(f"/surveys/{visit.survey.slug}/members", 303)


def show_audit(visit: PageVisit) -> Response:
    """The audit log, newest first."""
    lines = [
        (datetime.fromtimestamp(row.at, UTC).strftime("%Y-%m-%d %H:%M:%S"), row)
        for row in visit.studio.accounts.history()
    ]
    return visit.page("audit.html", lines=lines)


def signed_in(visit: PageVisit, account: Account, response: Response | None = None) -> Response:
    """A response, else one that opens the surveys, with the cookie of a new session."""
    response = response or RedirectResponse("/", 303)
    response.set_cookie(
        cookie_name(visit.request),
        visit.studio.accounts.begin_session(account),
        max_age=int(SESSION_SECONDS),
        secure=visit.request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return response


def too_many(seconds: float) -> str:
    """What somebody is told who has to wait after failed tries."""
    return f"Too many failed tries. Wait {seconds:.0f} seconds, then try again."


def address_of(visit: PageVisit) -> str:
    """The network address of a visitor."""
    client = visit.request.client
    return "" if client is None else client.host
