"""Adding and removing passkeys, and signing in with one; all but removing needs the script."""

from __future__ import annotations

from starlette.responses import JSONResponse, RedirectResponse, Response

from tacit.errors import DataError
from tacit.studio.access import Refusal, Right, origin_of
from tacit.studio.account_pages import guess_inside, signed_in, too_many
from tacit.studio.passkeys import SiteOrigin
from tacit.studio.site import PageRoute, PageVisit, refused

_WRONG = Refusal("wrong", 403, "This passkey is not known here, or it took too long. Try again.")


def options_to_add(visit: PageVisit) -> Response:
    """What a browser needs to make a passkey for the account; its password is needed."""
    person, password = visit.person, visit.json.get("password")
    guess = guess_inside(visit)
    wait = visit.studio.guesses.begin(guess)
    if wait > 0:
        return _wait(visit, wait)
    known = isinstance(password, str) and visit.studio.accounts.check_password(
        person.name, password
    )
    if not known:
        visit.record("passkey refused", "wrong password")
        raise DataError("The password is wrong.")
    visit.studio.guesses.succeeded(guess)
    options = visit.studio.passkeys.options_to_add(person.id, person.name, _site(visit))
    return JSONResponse(options)


def add(visit: PageVisit) -> Response:
    """Add the passkey that a browser made."""
    label = visit.json.get("label")
    if not isinstance(label, str):
        raise DataError("the key label must be a text")
    sent, site = visit.json.get("credential"), _site(visit)
    visit.studio.passkeys.add(visit.person.id, label, sent, site)
    visit.record("passkey added", label)
    return JSONResponse({"to": "/account"}, 201)


def remove(visit: PageVisit) -> Response:
    """Remove a passkey; it stops working at once."""
    number = visit.request.path_params["number"]
    if visit.studio.passkeys.remove(visit.person.id, number):
        visit.record("passkey removed", str(number))
    return RedirectResponse("/account", 303)


def options_to_sign_in(visit: PageVisit) -> Response:
    """What a browser needs to sign in with a passkey."""
    return JSONResponse(visit.studio.passkeys.options_to_sign_in(_site(visit)))


def sign_in(visit: PageVisit) -> Response:
    """Begin a session with a passkey, which nobody can guess: failures never keep it out."""
    sent = visit.json.get("credential")
    number = visit.studio.passkeys.account_of(sent, _site(visit))
    account = None if number is None else visit.studio.accounts.of_number(number)
    if account is None:
        wait = visit.studio.guesses.failed_otherwise(visit.networks)
        if wait > 0:  # and the audit log is not filled
            return _wait(visit, wait)
        visit.studio.accounts.record("", "sign-in failed", "passkey")
        return refused(visit.studio, visit.request, _WRONG)
    visit.studio.accounts.record(account.name, "signed in", "passkey")
    return signed_in(visit, account, JSONResponse({"to": "/"}))


def _wait(visit: PageVisit, seconds: float) -> Response:
    return refused(visit.studio, visit.request, Refusal("too-many", 429, too_many(seconds)))


def _site(visit: PageVisit) -> SiteOrigin:
    return SiteOrigin(origin_of(visit.request), visit.studio.address is not None)


PASSKEY_PAGES = (
    PageRoute("POST", "/account/passkeys/options", Right.PERSON, options_to_add),
    PageRoute("POST", "/account/passkeys", Right.PERSON, add),
    PageRoute("POST", "/account/passkeys/{number:int}/remove", Right.PERSON, remove),
    PageRoute("POST", "/sign-in/passkey/options", Right.EVERYONE, options_to_sign_in),
    PageRoute("POST", "/sign-in/passkey", Right.EVERYONE, sign_in),
)
