// Passkeys on the pages "Sign in" and "Account". Passwords work without this script.

const told = document.getElementById("passkey-said");
const button = document.getElementById("passkey");
const label = document.getElementById("passkey-label");
const password = document.getElementById("passkey-password");

const bytes = (text) => {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
};

const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

/** Sends JSON; the answer, or an error with what the studio says. */
async function ask(address, content) {
  const answer = await fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.title);
  return found;
}

const known = (credentials) => (credentials ?? []).map((one) => ({ ...one, id: bytes(one.id) }));

/** What both kinds of answers of a device have in common, as JSON. */
const shared = ({ id, rawId, type, response }) => ({
  id,
  rawId: text(rawId),
  type,
  response: { clientDataJSON: text(response.clientDataJSON) },
});

async function add() {
  const options = await ask("/account/passkeys/options", { password: password.value });
  const { challenge, user, excludeCredentials } = options;
  const made = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytes(challenge),
      user: { ...user, id: bytes(user.id) },
      excludeCredentials: known(excludeCredentials),
    },
  });
  const credential = shared(made);
  credential.response.attestationObject = text(made.response.attestationObject);
  return ask("/account/passkeys", { label: label.value, credential });
}

async function signIn() {
  const options = await ask("/sign-in/passkey/options", {});
  const { challenge, allowCredentials } = options;
  const found = await navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: bytes(challenge),
      allowCredentials: known(allowCredentials),
    },
  });
  const credential = shared(found);
  const { authenticatorData, signature, userHandle } = found.response;
  credential.response.authenticatorData = text(authenticatorData);
  credential.response.signature = text(signature);
  credential.response.userHandle = userHandle && text(userHandle);
  return ask("/sign-in/passkey", { credential });
}

async function act() {
  told.textContent = "";
  try {
    const { to } = await (label ? add() : signIn());
    location.assign(to);
  } catch (error) {
    const stopped = error.name === "NotAllowedError";
    told.textContent = stopped ? "No passkey was used." : error.message;
  }
}

if (window.PublicKeyCredential) {
  document.getElementById("passkeys").hidden = false;
  button.addEventListener("click", (event) => {
    event.preventDefault();
    act();
  });
}
