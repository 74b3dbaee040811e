"""Adding and removing passkeys, and signing in with one; all but removing needs the script."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tacit.errors import DataError
from tacit.studio.access import Refusal, Right
from tacit.studio.account_pages import address_of, signed_in, too_many
from tacit.studio.passkeys import SiteOrigin
from tacit.studio.site import PageRoute, PageVisit, refused

_WRONG = Refusal("wrong", 403, "This passkey is not known here, or it took too long. Try again.")


def options_to_add(visit: PageVisit) -> Response:
    """What a browser needs to make a passkey for the account; its password is needed."""
    person, password = visit.person, visit.json.get("password")
    keys = (f"name {person.name}", f"address {address_of(visit)}")
    wait = visit.studio.delay.begin(*keys)
    if wait > 0:
        return _wait(visit, wait)
    known = isinstance(password, str) and visit.studio.accounts.check_password(
        person.name, password
    )
    if not known:
        visit.record("passkey refused", "wrong password")
        raise DataError("The password is wrong.")
    visit.studio.delay.succeeded(*keys)
    options = visit.studio.passkeys.options_to_add(person.id, person.name, _site(visit.request))
    return JSONResponse(options)


def add(visit: PageVisit) -> Response:
    """Add the passkey that a browser made."""
    label = visit.json.get("label")
    if not isinstance(label, str):
        raise DataError("the key label must be a text")
    sent, site = visit.json.get("credential"), _site(visit.request)
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
    return JSONResponse(visit.studio.passkeys.options_to_sign_in(_site(visit.request)))


def sign_in(visit: PageVisit) -> Response:
    """Begin a session with a passkey."""
    key = f"address {address_of(visit)}"
    wait = visit.studio.delay.begin(key)
    if wait > 0:
        return _wait(visit, wait)
    sent = visit.json.get("credential")
    number = visit.studio.passkeys.account_of(sent, _site(visit.request))
    account = None if number is None else visit.studio.accounts.of_number(number)
    if account is None:
        visit.studio.accounts.record("", "sign-in failed", "passkey")
        return refused(visit.studio, visit.request, _WRONG)
    visit.studio.delay.succeeded(key)
    visit.studio.accounts.record(account.name, "signed in", "passkey")
    return signed_in(visit, account, JSONResponse({"to": "/"}))


def _wait(visit: PageVisit, seconds: float) -> Response:
    return refused(visit.studio, visit.request, Refusal("too-many", 429, too_many(seconds)))


def _site(request: Request) -> SiteOrigin:
    return SiteOrigin(f"{request.url.scheme}://{request.url.netloc}")


PASSKEY_PAGES = (
    PageRoute("POST", "/account/passkeys/options", Right.PERSON, options_to_add),
    PageRoute("POST", "/account/passkeys", Right.PERSON, add),
    PageRoute("POST", "/account/passkeys/{number:int}/remove", Right.PERSON, remove),
    PageRoute("POST", "/sign-in/passkey/options", Right.EVERYONE, options_to_sign_in),
    PageRoute("POST", "/sign-in/passkey", Right.EVERYONE, sign_in),
)
