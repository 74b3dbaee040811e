// Checks the text of a draft while it is written. Without script, the button "Check" does the same.

const area = document.querySelector("textarea[name=text]");
const found = document.getElementById("found");
const PAUSE = 600; // milliseconds without a key before a check
let timer = 0;
let latest = 0;

function paragraph(text, kind) {
  const made = document.createElement("p");
  made.className = kind;
  made.textContent = text;
  return made;
}

function show(problems) {
  if (problems.length === 0) {
    found.replaceChildren(paragraph("The text is correct.", "note plain"));
    return;
  }
  const list = document.createElement("ul");
  for (const problem of problems) {
    const item = document.createElement("li");
    item.textContent = problem.replace(/^survey:/, "Line ");
    list.append(item);
  }
  const box = document.createElement("div");
  box.className = "note bad plain";
  box.append(paragraph("The text has problems:", ""), list);
  found.replaceChildren(box);
}

async function check() {
  latest += 1;
  const mine = latest;
  try {
    const answer = await fetch(found.dataset.address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ text: area.value }),
    });
    const { problems } = await answer.json();
    if (answer.ok && mine === latest) show(problems);
  } catch {
    // The next key tries again; "Check" and "Save" work without this.
  }
}

area.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE);
});
