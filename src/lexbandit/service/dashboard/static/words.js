// Numbers and sentences, in plain words.

import { comparable } from "./series.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export const count = (n) => whole.format(n);
// A number with what it counts: 1 decision, 2,000 decisions.
export const counted = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
export const short = (n) => (n !== 0 && Math.abs(n) < 1e-4 ? n.toExponential(1) : three.format(n));

export function percent(share) {
  if (share > 0 && share < 0.001) return "under 0.1\u00a0%";
  if (share < 1 && share > 0.999) return "over 99.9\u00a0%";
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}\u00a0%`;
}

// A mean's interval; one reward has none.
export const ends = (objective, { low, high }) => (low === null ? "by one reward" : `${value(objective, low)} to ${value(objective, high)}`);

// A value of an objective: as many digits as a thousandth of its range asks for.
export function value(objective, number) {
  const span = objective.range[1] - objective.range[0];
  const digits = Math.max(0, Math.ceil(3 - Math.log10(span)));
  return digits > 8 ? short(number) : number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const UNITS = [["s", 1], ["min", 60], ["h", 3600], ["day", 86400]];

// The unit of time in which a rate is a number one can say: 3 a minute, not 0.05 a second.
export function rateUnit(perSecond) {
  return UNITS.find(([, seconds]) => perSecond * seconds >= 1) ?? UNITS[3];
}

export function ago(seconds) {
  if (seconds < 1) return "just now";
  if (seconds < 100) return `${Math.floor(seconds)} s ago`;
  if (seconds < 6000) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} days ago`;
}

export function lasting(seconds) {
  const [unit, size] = [...UNITS].reverse().find(([, one]) => seconds >= one) ?? UNITS[0];
  return `${short(seconds / size)} ${unit}`;
}

export function listed(texts) {
  return texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;
}

// "context" and "rewards" as text: prompt_tokens 812, task chat.
export function facts(values) {
  return Object.entries(values).map(([name, one]) => `${name} ${fact(one)}`).join(", ");
}

export function fact(one) {
  if (typeof one === "number") return short(one);
  if (Array.isArray(one)) return `(${one.length} numbers)`;
  return String(one);
}

const better = (objective) => (objective.goal === "min" ? "lower" : "higher");
const worse = (objective) => (objective.goal === "min" ? "higher" : "lower");

// Whether an objective gained or lost. `unsure`: it may be either. `same`: it is as good, because of
// its tolerance or because nobody would see it. `tolerated`: a loss within the tolerance.
function kindOf({ range, tolerance }, { value: by, low, high }) {
  const slight = 5e-4 * (range[1] - range[0]);
  if (low < 0 && high > 0) return Math.max(-low, high) <= Math.max(slight, tolerance) ? "same" : "unsure";
  if (Math.abs(by) < slight) return "same";
  if (by > 0) return "gain";
  return -by <= tolerance ? "tolerated" : "loss";
}

// What one objective gained or gave up, as a kind, a sentence's part, and what its tolerance says.
export function gain(objective, gained, baseline) {
  const by = gained.value;
  const kind = kindOf(objective, gained);
  const share = baseline ? Math.abs(by / baseline) : NaN;
  const much = share >= 0.005 && share < 10 ? ` (${percent(share)})` : "";
  const way = by > 0 ? better(objective) : worse(objective);
  return {
    kind,
    text: kind === "same" ? "as good" : `${value(objective, Math.abs(by))} ${way}${much}`,
    within: by < 0 && -by <= objective.tolerance ? `, within its tolerance of ${value(objective, objective.tolerance)}` : "",
  };
}

export function interval(objective, gained) {
  const side = (x) => `${value(objective, Math.abs(x))} ${x >= 0 ? better(objective) : worse(objective)}`;
  return `between ${side(gained.low)} and ${side(gained.high)}`;
}

// The sentence at the top: parts that are plain text, or { strong } text.
export function headline(told, baselines) {
  const [first, ...others] = told.objectives;
  const gained = told.summary.gained;
  if (!told.totals.decisions) return ["No decisions yet."];
  if (!told.totals.rewards) return [`${counted(told.totals.decisions, "decision")}, and no rewards yet: there is nothing to learn from.`];
  if (!others.length) return [`One objective, ${first.name}: there is nothing to give up for another.`];
  if (!comparable(told.summary)) {
    return [`It is too early to tell what was gained and what was given up: there ${told.totals.rewards === 1 ? "is" : "are"} ${counted(told.totals.rewards, "reward")} so far.`];
  }
  const gains = [...others, first].map((o) => ({ o, ...gain(o, gained[o.name], baselines[o.name]) }));
  const clauses = gains.filter(({ kind }) => kind !== "unsure").map(({ o, kind, text, within }) => {
    const lost = o === first && (kind === "loss" || kind === "tolerated");
    return [{ strong: `${o.name} ${lost ? `gives up ${value(o, -gained[o.name].value)}` : `is ${text}`}` }, within];
  });
  const unsure = gains.filter(({ kind }) => kind === "unsure").map(({ o }) => o.name);
  if (unsure.length) clauses.push([`it cannot be told yet whether ${listed(unsure)} ${unsure.length === 1 ? "is" : "are"} better or worse`]);
  return [`Compared with always taking the arm best for ${first.name}, `, ...clauses.flatMap((one, n) => (n ? ["; ", ...one] : one)), "."];
}
