/** Elements of the page. Every text becomes a text node: names are never read as markup. */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node|string|null|undefined|false} Child */

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} attributes a function is a listener
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name, value);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
function append(element, children) {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) {
      element.append(child);
    }
  }
}

/**
 * @param {string} tag
 * @param {Record<string, string|number>} attributes
 * @param {...SVGElement} children
 */
export function svg(tag, attributes, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * The element of the page with that id.
 *
 * @param {string} id
 */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * Puts children in place of the present ones, unless nothing has changed: then a selection of
 * text and the focus stay.
 *
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  const next = document.createElement("div");
  append(next, children);
  const before = element.childNodes;
  const same =
    next.childNodes.length === before.length &&
    [...next.childNodes].every((child, i) => child.isEqualNode(before[i] ?? null));
  if (!same) {
    element.replaceChildren(...next.childNodes);
  }
}

/**
 * A table; its roles stay where style lays it out as blocks.
 *
 * @param {string} label
 * @param {string[]} titles
 * @param {Child[][]} rows
 * @param {string} kind a class
 */
export function table(label, titles, rows, kind) {
  return el(
    "table",
    { class: kind, role: "table", "aria-label": label },
    el(
      "thead",
      { role: "rowgroup" },
      el("tr", { role: "row" }, ...titles.map((title) => el("th", { role: "columnheader", scope: "col" }, title))),
    ),
    el(
      "tbody",
      { role: "rowgroup" },
      ...rows.map((cells) =>
        el("tr", { role: "row" }, ...cells.map((cell, i) => el("td", { role: "cell", "data-title": titles[i] }, cell))),
      ),
    ),
  );
}

/**
 * Buttons of which one is pressed.
 *
 * @param {string} label
 * @param {[value: string, text: string][]} choices
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
export function choice(label, choices, chosen, choose) {
  const group = el("div", { class: "choice", role: "group", "aria-label": label });
  for (const [value, text] of choices) {
    const button = el("button", { type: "button", "aria-pressed": String(value === chosen) }, text);
    button.addEventListener("click", () => {
      for (const other of group.children) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      choose(value);
    });
    group.append(button);
  }
  return group;
}

/** Shapes of states, in 12 by 12. */
const SHAPES = {
  free: "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9zm0 1.6a2.9 2.9 0 1 1 0 5.8a2.9 2.9 0 1 1 0-5.8z",
  held: "M1.5 1.5h9v9h-9z",
  reserved: "M1.5 1.5h9v9h-9zm1.6 1.6v5.8h2.9v-5.8z",
  stuck: "M2 1h8v2L7.2 6L10 9v2H2V9l2.8-3L2 3z",
  unmanaged: "M6 .8L11.6 11H.4zM5.3 4.2v3.4h1.4V4.2zm0 4.3v1.4h1.4V8.5z",
  cordoned: "M6 .8a5.2 5.2 0 1 0 0 10.4A5.2 5.2 0 1 0 6 .8zM3 5.2h6v1.6H3z",
  sick: "M4.6 1h2.8v3.6H11v2.8H7.4V11H4.6V7.4H1V4.6h3.6z",
  missing: "M2.6 1.2L6 4.6l3.4-3.4l1.4 1.4L7.4 6l3.4 3.4l-1.4 1.4L6 7.4l-3.4 3.4l-1.4-1.4L4.6 6L1.2 2.6z",
};

/**
 * A state as shape, colour and word.
 *
 * @param {string} state
 */
export function stateMark(state) {
  const shape = svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" });
  const path = /** @type {Record<string, string>} */ (SHAPES)[state];
  if (path) {
    shape.append(svg("path", { d: path, "fill-rule": "evenodd" }));
  }
  return el("span", { class: `state ${path ? state : ""}` }, shape, state);
}

/**
 * The places of users in the palette: each has its own by its name, as long as there are enough.
 *
 * @param {string[]} users those who matter most first
 * @returns {Map<string, number>}
 */
export function colours(users) {
  const places = new Map();
  const taken = new Set();
  for (const user of users) {
    let place = [...user].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 997, 7) % PALETTE;
    for (let tries = 0; tries < PALETTE && taken.has(place); tries++) {
      place = (place + 1) % PALETTE;
    }
    taken.add(place);
    places.set(user, place);
  }
  return places;
}

/** How many colours style.css has for users. */
const PALETTE = 8;
