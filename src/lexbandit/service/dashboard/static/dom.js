// Elements from data. Text goes in as text only: an arm may be called anything.

export const by = (id) => document.getElementById(id);

export function el(tag, facts = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(facts)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function swatch(colour) {
  const node = el("span", { class: "swatch", "aria-hidden": "true" });
  node.style.backgroundColor = colour;
  return node;
}

// The name of an arm beside its colour.
export const armed = (looks, name, more = "") => el("span", { class: "arm" }, swatch(looks.of(name).colour), name + more);

// Replaces the text only if it is another, so that a reader who is in it is not disturbed.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// A table: head is a list of texts, a row a list of texts whose first heads the row. Roles and
// labels are for tables that a small page shows as blocks.
export function table(head, rows, numbers = []) {
  const kind = (n) => (numbers.includes(n) ? "number" : null);
  const cell = (text, n) => (n === 0 ? el("th", { scope: "row", role: "rowheader", class: kind(n) }, text)
    : el("td", { role: "cell", class: kind(n), "data-label": head[n].textContent ?? head[n] }, text));
  return el("table", { role: "table" },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...head.map((text, n) => el("th", { scope: "col", role: "columnheader", class: kind(n) }, text)))),
    el("tbody", { role: "rowgroup" }, ...rows.map((row) => el("tr", { role: "row" }, ...row.map(cell)))));
}

// Fills a place with a table when its details are open; nobody pays for tables that are closed.
export function tableWhenOpen(place, make) {
  const details = place.closest("details");
  const fill = () => {
    if (details.open) place.replaceChildren(make());
  };
  details.ontoggle = fill;
  fill();
}
