// Elements are made one by one and texts are always texts: nothing is ever parsed as markup.

/** An element with attributes, listeners (onclick) and children; null and false are left out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return node;
}

export const button = (kind, label, onclick) =>
  el("button", { type: onclick ? "button" : "submit", class: kind, onclick }, label);

/** A heading that takes the focus when its step is shown. */
export const heading = (...children) => el("h1", { tabindex: "-1" }, ...children);

let count = 0;
/** An id that is not in use. */
export const fresh = () => `n${(count += 1)}`;
