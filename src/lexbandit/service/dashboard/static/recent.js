// The last decisions, and why one came about.

import { ask } from "./asking.js";
import { draw, forget, intervalsSpec } from "./charts.js";
import { armed, by, el, say, swatch, table } from "./dom.js";
import { ago, count, counted, facts, percent, value } from "./words.js";

let point = null;
let objectives = [];
let retired = new Set();
let look = null; // how arms look
let shown = new Map(); // the decisions in the list, by id
let asked = null; // the one that the dialog is about
let over = false;

const body = () => by("recent");
export const busy = () => over || by("why").open || body().contains(document.activeElement);

export function listen() {
  body().addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row) open(shown.get(row.dataset.id), row.querySelector("button"));
  });
  body().addEventListener("pointerenter", (event) => { over = event.pointerType === "mouse"; });
  body().addEventListener("pointerleave", () => { over = false; });
  by("why").addEventListener("close", () => {
    for (const place of by("why-charts").querySelectorAll(".chart")) forget(place);
  });
}

// `over` tells whether something else is asked for by now.
export async function refresh(name, told, looks, now, over) {
  [objectives, look] = [told.objectives, looks];
  retired = new Set(told.arms.filter((arm) => arm.retired).map((arm) => arm.name));
  if (name === point && busy()) return;
  const { decisions } = await ask(`/v1/${name}/recent`);
  if (over() || (name === point && busy())) return;
  point = name;
  shown = new Map(decisions.map((one) => [one.id, one]));
  const kept = new Map([...body().children].map((row) => [row.dataset.id, row]));
  body().replaceChildren(...decisions.map((one) => filled(kept.get(one.id) ?? blank(one.id), one, looks, now)));
}

function blank(id) {
  const row = el("tr", { role: "row" },
    el("th", { scope: "row", role: "rowheader" }),
    el("td", { role: "cell" }), el("td", { class: "number", role: "cell" }), el("td", { role: "cell" }), el("td", { role: "cell" }));
  row.dataset.id = id;
  return row;
}

function filled(row, one, looks, now) {
  const [arm, when, chance, context, rewards] = row.children;
  if (!arm.textContent) {
    const button = el("button", { type: "button", class: "why", "aria-label": `${one.arm}: why? Decision ${one.id}` }, one.arm);
    arm.append(swatch(looks.of(one.arm).colour), button);
  }
  say(when, ago(now - one.time));
  say(chance, one.propensity === null ? "unknown" : percent(one.propensity));
  say(context, facts(one.context));
  say(rewards, Object.keys(one.rewards).length ? facts(one.rewards) : "none yet");
  return row;
}

// Explains by the decision's context, which stands in the list: the service may have forgotten it.
async function open(decision, opener) {
  asked = decision;
  say(by("why-title"), `Why ${decision.arm}?`);
  const allowed = decision.allowed ? ` Allowed: ${decision.allowed.join(", ")}.` : "";
  const chance = decision.propensity === null ? "" : ` It had a probability of ${percent(decision.propensity)}.`;
  const rewards = Object.keys(decision.rewards).length ? `Rewards: ${facts(decision.rewards)}.` : "No rewards yet.";
  say(by("why-facts"), `Decision ${decision.id}, with ${facts(decision.context)}.${allowed}${chance} ${rewards}`);
  say(by("why-reason"), "Asking…");
  by("why-table").replaceChildren();
  by("why-charts").replaceChildren();
  by("why").showModal();
  by("close").focus();
  by("why").addEventListener("close", () => opener.focus(), { once: true });
  const present = decision.allowed?.filter((arm) => !retired.has(arm)) ?? [];
  try {
    const told = await ask(`/v1/${point}/explain`, { context: decision.context, ...(present.length && { allowed: present }) });
    if (asked === decision && by("why").open) explain(told);
  } catch (error) {
    if (asked === decision) say(by("why-reason"), `It cannot be explained now: ${error.message}`);
  }
}

function explain({ reason, arms, level }) {
  const kind = level === null ? "intervals" : `${percent(level)} credible intervals`;
  const told = level === null ? "" : ` Intervals are ${kind}.`;
  say(by("why-reason"), `By what is known now: ${reason}${told}`);
  by("why-table").replaceChildren(known(arms, level));
  for (const objective of objectives) intervals(objective, arms, kind);
}

function intervals(objective, arms, kind) {
  const place = el("div", { class: "chart" });
  const way = objective.goal === "min" ? "less" : "more";
  by("why-charts").append(el("figure", {}, el("h3", {}, `${objective.name} (${way} is better)`), place));
  const most = Math.max(...arms.map((arm) => arm.propensity ?? 0));
  const rows = arms.filter((arm) => arm.estimates[objective.name].value !== null).map((arm) => {
    const { value: middle, low, high, observations } = arm.estimates[objective.name];
    return { arm: arm.name, colour: look.of(arm.name).colour, value: middle, low, high, n: observations, good: arm.as_good, likely: most > 0 && arm.propensity === most };
  });
  const label = `${objective.name}: estimates and ${kind} of ${counted(arms.length, "arm")}; the table below has the numbers.`;
  draw(place, "", intervalsSpec(objective, arms.map((arm) => arm.name)), { rows }, label);
}

function known(arms, level) {
  const within = level === null ? [] : ["within tolerance"];
  const head = ["arm", "probability", ...within, ...objectives.map((o) => o.name), "rewarded plays", "why"];
  const estimate = (objective, { value: middle, low, high }) => (middle === null ? "not observed yet"
    : `${value(objective, middle)} (${value(objective, low)} to ${value(objective, high)})`);
  const rows = arms.map((arm) => [
    armed(look, arm.name, arm.retired ? " (retired)" : ""),
    arm.propensity === null ? "unknown" : percent(arm.propensity),
    ...within.map(() => (arm.allowed ? percent(arm.within) : "")),
    ...objectives.map((o) => estimate(o, arm.estimates[o.name])),
    count(arm.plays), arm.why,
  ]);
  return table(head, rows, [1, ...within.map(() => 2), head.length - 2]);
}
