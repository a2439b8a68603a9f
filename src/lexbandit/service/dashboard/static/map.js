// The map of arms over two features of the context; the viewer sets the others.

import { ask } from "./asking.js";
import { colours, draw } from "./charts.js";
import { by, el, say, swatch, table, tableWhenOpen } from "./dom.js";
import { OTHERS } from "./series.js";
import { fact, listed, percent, short } from "./words.js";

const NOTHING = "";
const PATIENCE = 15000; // hundreds of contexts are explained for a map
const UNDECIDED = { name: "undecided", colour: "#c9ced4", ink: "#000000" };
let point = null;
let features = [];
let chosen = { x: NOTHING, y: NOTHING, at: Object.create(null) };
let shown = null; // what was last asked for and answered

const numeric = (feature) => feature.low !== undefined;
const options = (names, now) => names.map((name) => el("option", { value: name, selected: name === now }, name || "nothing"));

// Builds the form anew for another point; while the point stays, what the viewer set stays too.
export function prepare(name, context) {
  const flat = context.filter((feature) => feature.kind !== "vector");
  if (name === point && JSON.stringify(features) === JSON.stringify(flat)) return;
  [point, features, shown] = [name, flat, null];
  // A number across makes the best map; upwards goes what the service names next.
  const x = flat.find(numeric) ?? flat[0];
  chosen = { x: x?.name ?? NOTHING, y: flat.find((feature) => feature !== x)?.name ?? NOTHING, at: Object.create(null) };
  form();
}

function form() {
  const names = features.map((feature) => feature.name);
  const fields = [
    field("Across", "x", el("select", { name: "x" }, ...options(names, chosen.x))),
    field("Upwards", "y", el("select", { name: "y" }, ...options([NOTHING, ...names.filter((name) => name !== chosen.x)], chosen.y))),
    ...features.filter(({ name }) => name !== chosen.x && name !== chosen.y).map((feature, n) => field(`${feature.name} at`, `at-${n}`, control(feature))),
  ];
  by("map-form").replaceChildren(...fields);
}

function field(text, id, input) {
  input.id = `map-${id}`;
  return el("label", { for: input.id }, text, input);
}

function control(feature) {
  const now = chosen.at[feature.name];
  const values = feature.kind === "flag" ? ["false", "true"] : feature.values;
  const node = values
    ? el("select", {}, el("option", { value: NOTHING }, "typical"), ...options(values, String(now)))
    : el("input", { type: "number", step: "any", min: feature.low, max: feature.high, placeholder: "typical", value: now });
  node.dataset.feature = feature.name;
  return node;
}

function changed({ target }) {
  const name = target.dataset.feature;
  if (name === undefined) {
    chosen[target.name] = target.value;
    if (chosen.x === chosen.y) chosen.y = NOTHING;
    form();
    by(target.id)?.focus();
  } else {
    const { kind } = features.find((feature) => feature.name === name);
    if (target.value === NOTHING) delete chosen.at[name];
    else if (kind === "flag") chosen.at[name] = target.value === "true";
    else if (kind === "category") chosen.at[name] = target.value;
    else if (target.checkValidity()) chosen.at[name] = Number(target.value);
  }
  return true;
}

export function listen(again) {
  by("map-form").addEventListener("change", (event) => { changed(event); again(); });
  by("map-form").addEventListener("submit", (event) => event.preventDefault());
}

function question() {
  const query = new URLSearchParams({ x: chosen.x });
  if (chosen.y) query.set("y", chosen.y);
  const at = Object.fromEntries(Object.entries(chosen.at).filter(([name]) => name !== chosen.x && name !== chosen.y));
  if (Object.keys(at).length) query.set("at", JSON.stringify(at));
  return `/v1/${point}/map?${query}`;
}

export async function refresh(looks) {
  if (!chosen.x) return void say(by("map-note"), "The context has no feature that a map could show.");
  const url = question();
  let told = null;
  let wrong = "";
  try {
    told = await ask(url, undefined, PATIENCE);
  } catch (error) {
    if (error.status !== 422) throw error;
    wrong = error.message; // a value that cannot be
  }
  if (url !== question()) return; // the viewer has chosen again, and that is asked for too
  if (wrong) {
    shown = null;
    return void say(by("map-note"), wrong);
  }
  const now = JSON.stringify([url, told, looks.named]);
  if (now !== shown) show(told, looks);
  shown = now;
}

function show(told, looks) {
  const { x, y, cells } = told;
  const across = x.values.length;
  const look = { of: (name) => (name === UNDECIDED.name ? UNDECIDED : looks.of(name)) };
  const rows = cells.map(([arm, chance], n) => ({
    ...place("x", x, n % across), ...place("y", y, Math.floor(n / across)), ...cell(told.arms[arm], chance, looks),
  }));
  const there = new Set(rows.map((row) => row.arm));
  const names = [...looks.named, OTHERS, UNDECIDED.name].filter((name) => there.has(name));
  const key = JSON.stringify([x, y, names, names.map((name) => look.of(name).colour)]);
  draw(by("map"), key, spec(x, y, look, names), { rows, labels: labels(rows, x, y, look) }, inWords(told));
  by("map-key").replaceChildren(...names.map((name) => {
    const share = rows.filter((row) => row.arm === name).length / rows.length;
    const more = name === UNDECIDED.name ? ": several arms are equally likely" : "";
    return el("li", {}, swatch(look.of(name).colour), `${name}, ${percent(share)} of the map${more}`);
  }));
  const fixed = Object.entries(told.at).map(([name, one]) => `${name} = ${fact(one)}`);
  say(by("map-note"), fixed.length ? `With ${listed(fixed)}.` : "");
  tableWhenOpen(by("map-table"), () => table([y ? y.name : "", `arms by ${x.name}`], runs(told)));
}

// Who is chosen at a step; without an arm nobody is ahead there.
function cell(arm, chance, looks) {
  if (arm === undefined) return { arm: UNDECIDED.name, name: UNDECIDED.name, chance: 1, told: chance === null ? "unknown" : `${percent(chance)} for each of several arms` };
  return { arm: looks.group(arm), name: arm, chance: chance ?? 1, told: chance === null ? "unknown" : percent(chance) };
}

const at = (axis, n) => (axis.edges ? `${short(axis.edges[n])} to ${short(axis.edges[n + 1])}` : String(axis.values[n]));

// Where a step lies: between two edges, or in a band.
function place(side, axis, n) {
  if (!axis) return { [`${side}at`]: "" };
  if (!axis.edges) return { [side]: String(axis.values[n]), [`${side}at`]: at(axis, n) };
  return { [side]: axis.edges[n], [`${side}2`]: axis.edges[n + 1], [`${side}at`]: at(axis, n) };
}

function channels(side, axis) {
  if (!axis) return {};
  if (!axis.edges) return { [side]: { field: side, type: "nominal", title: axis.name, scale: { domain: axis.values.map(String) }, sort: null, axis: { labelAngle: 0, grid: false } } };
  const type = axis.scale === "log" ? "log" : "linear";
  return {
    [side]: { field: side, type: "quantitative", title: axis.name, scale: { type, domain: [axis.low, axis.high], nice: false }, axis: { tickCount: 5, format: "~s", grid: false } },
    [`${side}2`]: { field: `${side}2` },
  };
}

function spec(x, y, looks, names) {
  const tooltip = [{ field: "name", title: "arm" }, { field: "told", title: "probability" }, { field: "xat", title: x.name }];
  if (y) tooltip.push({ field: "yat", title: y.name });
  const both = { ...channels("x", x), ...channels("y", y) };
  const spot = Object.fromEntries(Object.entries(both).filter(([name]) => name.length === 1));
  return {
    height: y ? 320 : 60,
    layer: [
      { data: { name: "rows" }, mark: { type: "rect", tooltip: true, strokeWidth: 0 }, encoding: { ...both,
        color: { field: "arm", type: "nominal", scale: colours(looks, names), legend: null },
        opacity: { field: "chance", type: "quantitative", scale: { domain: [0, 1], range: [0.15, 1] }, legend: null }, tooltip } },
      { data: { name: "labels" }, mark: { type: "text", fontWeight: 600, fontSize: 13, limit: 130 }, encoding: { ...spot, text: { field: "arm" }, color: { field: "ink", type: "nominal", scale: null } } },
    ],
    resolve: { scale: { color: "independent" } },
  };
}

// A name in the midst of each arm's largest part: the cell that is deepest inside it.
function labels(rows, x, y, looks) {
  const wide = x.values.length;
  const high = y ? y.values.length : 1;
  const found = new Map();
  rows.forEach((row, n) => {
    const [across, up] = [n % wide, Math.floor(n / wide)];
    let deep = 0;
    const same = (i, j) => i >= 0 && i < wide && (!y || (j >= 0 && j < high)) && rows[(y ? j : 0) * wide + i].arm === row.arm;
    const free = (d) => same(across - d, up) && same(across + d, up) && (!y || !y.edges || (same(across, up - d) && same(across, up + d)));
    while (deep < 12 && free(deep + 1)) deep += 1;
    if (row.chance > 0.5 && (x.edges ? deep >= 2 : true) && deep > (found.get(row.arm)?.deep ?? -1)) found.set(row.arm, { deep, across, up });
  });
  const middle = (axis, n) => (axis.edges ? axis.values[n] : String(axis.values[n]));
  return [...found].map(([arm, { across, up }]) => ({ arm, ink: looks.of(arm).ink, x: middle(x, across), ...(y ? { y: middle(y, up) } : {}) }));
}

// The map row by row: which arm from where to where.
function runs({ x, y, arms, cells }) {
  const wide = x.values.length;
  return (y ? y.values : [""]).map((_, up) => {
    const told = [];
    for (let from = 0; from < wide;) {
      const arm = cells[up * wide + from][0];
      let to = from;
      while (to + 1 < wide && cells[up * wide + to + 1][0] === arm) to += 1;
      const where = x.edges ? `${short(x.edges[from])} to ${short(x.edges[to + 1])}` : listed(x.values.slice(from, to + 1).map(String));
      told.push(`${arms[arm] ?? UNDECIDED.name} (${where})`);
      from = to + 1;
    }
    return [y ? at(y, up) : "all", told.join(", ")];
  });
}

function inWords({ x, y, arms, cells }) {
  const on = (arm) => percent(cells.filter(([one]) => one === arm).length / cells.length);
  const shares = arms.map((arm, n) => `${arm} on ${on(n)}`);
  if (cells.some(([arm]) => arm === null)) shares.push(`${UNDECIDED.name} on ${on(null)}`);
  return `Map of arms over ${x.name}${y ? ` and ${y.name}` : ""}: ${listed(shares)}. It stands in words below.`;
}
