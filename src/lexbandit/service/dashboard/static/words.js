// Numbers and sentences, in plain words.

import { FEW, always, comparable } from "./series.js";

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

// A difference with the digits that its interval tells apart.
export function fine(number, { low, high }) {
  const half = (high - low) / 2;
  const digits = half > 0 ? 1 - Math.floor(Math.log10(half)) : 3;
  if (digits > 8) return short(number);
  const wanted = Math.max(0, digits);
  return number.toLocaleString("en", { minimumFractionDigits: wanted, maximumFractionDigits: wanted });
}

// What is certain of a difference to always playing an arm, by its interval. `unknown`: nothing.
// `equal`: the arm was always played. `unsure`: better or worse. `same`: it is as good, within the
// tolerance. `tolerated`: worse, and within the tolerance.
export function kindOf({ tolerance }, { value: by, low, high }) {
  if (by === null) return "unknown";
  if (low === 0 && high === 0) return "equal";
  if (low < 0 && high > 0) return tolerance > 0 && Math.max(-low, high) <= tolerance ? "same" : "unsure";
  if (by > 0) return "gain";
  return -low <= tolerance ? "tolerated" : "loss";
}

const within = (objective) => `within its tolerance of ${short(objective.tolerance)}`;

// How the chooser did in one objective, compared with always playing an arm: a kind and words.
// `always` is what the arm would have given.
export function gain(objective, difference, always) {
  const kind = kindOf(objective, difference);
  if (kind === "unknown") return { kind, text: "unknown" };
  if (kind === "equal") return { kind, text: "the same" };
  if (kind === "same") return { kind, text: `as good, ${within(objective)}` };
  const by = difference.value;
  const share = always ? Math.abs(by / always) : NaN;
  const much = share >= 0.005 && share < 10 ? ` (${percent(share)})` : "";
  const text = `${fine(Math.abs(by), difference)} ${by > 0 ? better(objective) : worse(objective)}${much}`;
  return { kind, text: kind === "tolerated" ? `${text}, ${within(objective)}` : text };
}

// A difference and its interval, for a table.
export function interval(objective, difference) {
  const kind = kindOf(objective, difference);
  if (kind === "unknown") return "cannot tell";
  if (kind === "equal") return "the same";
  const { value: by, low, high } = difference;
  const size = (x) => fine(Math.abs(x), difference);
  const side = (x) => `${size(x)} ${x >= 0 ? better(objective) : worse(objective)}`;
  if (low < 0 && high > 0) return `${side(by)} (${side(low)} to ${side(high)})`;
  const [near, far] = Math.abs(low) <= Math.abs(high) ? [low, high] : [high, low];
  return `${side(by)} (${size(near)} to ${size(far)})`;
}

// So many arms are compared at the top; the table has more.
const COMPARED = 3;

export const compared = (summary) => Object.keys(summary.against).slice(0, COMPARED);

// The sentences at the top, each a list of parts that are plain text, or { strong } text.
export function headline(told) {
  const { decisions, rewards } = told.totals;
  if (!decisions) return [["No decisions yet."]];
  if (!rewards) return [[`${counted(decisions, "decision")}, and no rewards yet: there is nothing to learn from.`]];
  if (!comparable(told.summary)) return [[early(told)]];
  const sentences = compared(told.summary).map((arm) => sentence(told, arm));
  return [["The chooser compared with always playing"], ...sentences];
}

// How many rewards are missing until anything is compared, of the objective with the fewest.
function early({ objectives, summary }) {
  const received = ({ name }) => summary.received[name].count;
  const least = objectives.reduce((one, other) => (received(other) < received(one) ? other : one));
  const n = received(least);
  return `It is too early to compare with always playing one arm: ${count(n)} of the ${FEW} rewards of ${least.name} that it takes ${n === 1 ? "has" : "have"} come.`;
}

function sentence({ objectives, summary }, arm) {
  const every = objectives.map((o) => {
    const difference = summary.against[arm][o.name];
    return { o, difference, ...gain(o, difference, always(o, summary, arm)) };
  });
  if (every.every(({ kind }) => kind === "equal")) return [`${arm}: it was always played.`];
  const blind = every.filter(({ kind }) => kind === "unknown");
  if (blind.length === every.length) {
    const { tried, decisions } = blind[0].difference;
    return [`${arm}: how this would compare cannot be told; it was tried in ${count(tried)} of ${counted(decisions, "decision")}.`];
  }
  const open = every.filter(({ kind }) => kind === "unsure" || kind === "unknown").map(({ o }) => o.name);
  const clauses = every.filter(({ o }) => !open.includes(o.name)).map(({ o, kind, text }) => {
    const said = `${o.name} is ${text}`;
    return [kind === "gain" || kind === "loss" ? { strong: said } : said];
  });
  if (open.length) clauses.push([`it cannot be told yet whether ${listed(open)} ${open.length === 1 ? "is" : "are"} better or worse`]);
  return [`${arm}: `, ...clauses.flatMap((one, n) => (n ? ["; ", ...one] : one)), "."];
}
