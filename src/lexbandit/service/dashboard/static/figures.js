// What stands on the page between the sentence at the top and the map.

import { draw, objectiveSpec, sharesSpec, trafficSpec, lateSpec } from "./charts.js";
import { armed, by, el, say, swatch, table, tableWhenOpen } from "./dom.js";
import { OTHERS, always, comparable, lastMinute, lately, looks, mean, reach, runs, stretches } from "./series.js";
import { compared, count, counted, ends, headline, interval, kindOf, lasting, percent, rateUnit, short, value } from "./words.js";

const POINTS = 60;
// A stretch of so many decisions has an average one can read.
const READABLE = 80;
const moment = new Intl.DateTimeFormat("en-GB", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });
const when = (part) => moment.format(part.begin * 1000);

// From the first to the last moment shown; every chart has all of it, though it may have gaps.
const spanOf = (parts) => [1000 * parts[0].begin, 1000 * parts.at(-1).end];

export const looksOf = (told) => looks(told.arms, told.series);

export function show(told) {
  document.title = `${told.point} – lexbandit`;
  say(by("title"), told.point);
  const parts = stretches(told.series, POINTS);
  const few = Math.min(POINTS, Math.max(12, Math.floor(parts.reduce((sum, part) => sum + part.decisions, 0) / READABLE)));
  const wide = stretches(told.series, few);
  const now = Object.fromEntries(told.objectives.map((o) => [o.name, lately(parts, o.name)]));
  sentences(told);
  empty(told);
  by("figures").hidden = !told.totals.decisions;
  if (!told.totals.decisions) return;
  objectives(told, wide, now);
  shares(told, wide);
  traffic(parts);
  waiting(told, parts);
}

function sentences(told) {
  const lines = headline(told);
  const text = lines.flat().map((part) => part.strong ?? part).join("");
  if (by("headline").textContent !== text) {
    by("headline").classList.toggle("lines", lines.length > 1);
    by("headline").replaceChildren(...lines.map((parts) => el("span", {}, ...parts.map((part) => (part.strong ? el("strong", {}, part.strong) : part)))));
  }
  const known = told.totals.rewards > 0 && comparable(told.summary);
  by("against").hidden = !known;
  say(by("certainty"), known ? "Over the decisions so far in which the arm was allowed, by the probabilities that arms had; what is not certain at 95\u00a0% is not claimed." : "");
  if (known) tableWhenOpen(by("against-table"), () => against(told));
}

// The differences to every arm that is told, with their intervals.
function against(told) {
  const { objectives, summary } = told;
  const look = looksOf(told);
  const most = (told, field) => Math.max(...Object.values(told).map((one) => one[field]));
  const cell = (o, one) => el("span", { class: { gain: "gain", loss: "loss" }[kindOf(o, one)] }, interval(o, one));
  const rows = Object.entries(summary.against).map(([arm, told]) => [armed(look, arm), ...objectives.map((o) => cell(o, told[o.name])),
    count(most(told, "decisions")), count(most(told, "tried")), percent(most(told, "modelled"))]);
  if (summary.more) rows.push([`and ${counted(summary.more, "more arm")}`, ...Array(objectives.length + 3).fill("")]);
  const head = ["always", ...objectives.map((o) => `${o.name} of the chooser`), "decisions", "tried", "by the model"];
  return table(head, rows, [...head.keys()].slice(1));
}

export function tiles(told, now) {
  const latest = lastMinute(told.latest, now);
  const rows = [
    ["Decisions", count(told.totals.decisions), null],
    ["Last minute", count(latest), latest === 1 ? " decision" : " decisions"],
    ["Rewards learned", count(told.totals.rewards), null],
    ["Kept for rewards", count(told.waiting), null],
    ["Late rewards", count(told.totals.late), null],
  ];
  if (by("tiles").children.length !== rows.length) {
    by("tiles").replaceChildren(...rows.map(([name]) => el("div", {}, el("dt", {}, name), el("dd"))));
  }
  rows.forEach(([, number, unit], n) => {
    const place = by("tiles").children[n].lastChild;
    if (place.textContent !== number + (unit ?? "")) place.replaceChildren(number, ...(unit ? [el("small", {}, unit)] : []));
  });
}

function empty(told) {
  const { decisions, rewards } = told.totals;
  by("empty").hidden = decisions > 0 && rewards > 0;
  const key = JSON.stringify([told.point, decisions > 0, rewards > 0]);
  if (by("empty").dataset.key === key || by("empty").hidden) return;
  by("empty").dataset.key = key;
  const [path, body] = decisions
    ? ["decisions/ID/rewards", Object.fromEntries(told.objectives.map((o) => [o.name, o.range[0]]))]
    : ["decisions", { context: Object.fromEntries(told.context.map((f) => [f.name, example(f)])) }];
  const bearer = document.body.dataset.auth === "keys" ? " -H 'Authorization: Bearer KEY'" : "";
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  by("empty").replaceChildren(
    el("p", {}, decisions ? "Tell the rewards of a decision by its id, all or some of them:" : "Ask for the first decision:"),
    el("pre", {}, el("code", {}, `curl ${location.origin}/v1/${told.point}/${path} \\\n  -H 'Content-Type: application/json'${bearer} \\\n  -d '${quoted}'`)),
  );
}

function example(feature) {
  if (feature.kind === "category") return feature.values[0];
  if (feature.kind === "flag") return false;
  return feature.kind === "vector" ? Array(feature.length ?? 1).fill(feature.low ?? 0) : feature.low;
}

const at = (t, rows) => rows.map((row) => ({ t: 1000 * t, ...row }));

// Rows for lines from middle to middle of a run's stretches; it goes from its begin to its end.
function spread(run, rowsOf) {
  const middles = run.flatMap((part) => at((part.begin + part.end) / 2, rowsOf(part)));
  return [...at(run[0].begin, rowsOf(run[0])), ...middles, ...at(run.at(-1).end, rowsOf(run.at(-1)))];
}

// Rows for steps: those of each stretch at its begin, and the last one's again at its end.
function steps(run, rowsOf) {
  return [...run.flatMap((part) => at(part.begin, rowsOf(part))), ...at(run.at(-1).end, rowsOf(run.at(-1)))];
}

function objectives(told, parts, now) {
  const home = by("objectives");
  const names = JSON.stringify([told.point, told.objectives]);
  if (home.dataset.names !== names) {
    home.dataset.names = names;
    home.replaceChildren(...told.objectives.map((o, n) => el("figure", { "aria-labelledby": `objective-${n}` },
      el("h3", { id: `objective-${n}` }, `${n + 1}. ${o.name} `, el("small", { class: "note" }, `${o.goal === "min" ? "less" : "more"} is better`)),
      el("p", { class: "figure-line" }), el("ul", { class: "key", "aria-label": `Lines of ${o.name}` }), el("div", { class: "chart" }),
      el("details", {}, el("summary", {}, `${o.name} as a table`), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${o.name} over time` })))));
  }
  const dashed = told.objectives.map((objective, n) => one(told, objective, n, home.children[n], parts, now[objective.name]));
  by("dashed-note").hidden = !dashed.some(Boolean);
}

// Tells whether there are dashed lines.
function one(told, objective, n, figure, parts, now) {
  const line = figure.querySelector(".figure-line");
  const place = figure.querySelector(".chart");
  if (!now) {
    say(line, "No rewards yet.");
    figure.querySelector(".key").replaceChildren();
    place.hidden = true;
    return false;
  }
  place.hidden = false;
  line.replaceChildren(el("b", {}, value(objective, now.value)), ` lately (${ends(objective, now)})`);
  const known = runs(parts, (part) => part.rewards[objective.name]?.[0]);
  const rows = known.flatMap((run, n) => spread(run, (part) => [{ run: n, ...within(objective, mean(part.rewards[objective.name])) }]));
  const look = looksOf(told);
  const levels = compared(told.summary).map((arm) => ({ arm, value: always(objective, told.summary, arm) })).filter((level) => level.value !== null)
    .map((level) => ({ ...level, dash: "base", colour: look.of(level.arm).colour, label: `always ${level.arm}: ≈ ${value(objective, level.value)}` }));
  const words = levels.map((level) => ` Always ${level.arm} would have given about ${value(objective, level.value)}.`).join("");
  if (n === 0 && objective.tolerance && levels.length) {
    const lower = objective.goal === "min";
    const best = (lower ? Math.min : Math.max)(...levels.map((level) => level.value));
    const edge = lower ? best + objective.tolerance : best - objective.tolerance;
    levels.push({ value: edge, dash: "tolerance", colour: null, label: `tolerance: ${value(objective, objective.tolerance)} ${lower ? "more" : "less"} than the best of these` });
  }
  figure.querySelector(".key").replaceChildren(...levels.map(({ dash, colour, label }) => el("li", {}, dashed(dash, colour), label)));
  const label = `${objective.name} over time, lately ${value(objective, now.value)}.${words}`;
  const has = [rows.some((row) => row.low !== null), levels.length > 0];
  const values = [...rows.flatMap((row) => [row.value, row.low ?? row.value, row.high ?? row.value]), ...levels.map((one) => one.value)];
  const spec = objectiveSpec(spanOf(parts), reach(objective, values), ...has);
  draw(place, `${told.point} ${n} ${has}`, spec, has[1] ? { rows, levels } : { rows }, label);
  tableWhenOpen(figure.querySelector(".scroll"), () => table(["from", "mean", "95 % interval", "rewards"],
    known.flat().map((part) => {
      const told = mean(part.rewards[objective.name]);
      return [when(part), value(objective, told.value), ends(objective, told), count(told.count)];
    }).reverse(), [1, 2, 3]));
  return has[1];
}

// An interval says nothing beyond the objective's range.
function within(objective, told) {
  if (told.low === null) return told;
  const [low, high] = objective.range;
  return { ...told, low: Math.max(told.low, Math.min(low, told.value)), high: Math.min(told.high, Math.max(high, told.value)) };
}

// A piece of a dashed line, in a colour or that of the text.
function dashed(kind, colour) {
  const node = el("span", { class: `dash ${kind}`, "aria-hidden": "true" });
  if (colour) node.style.borderTopColor = colour;
  return node;
}

function shares(told, parts) {
  const look = looksOf(told);
  const names = [...look.named, ...(look.others.length ? [OTHERS] : [])];
  const of = (part, name) => (name === OTHERS ? look.others.reduce((sum, arm) => sum + (part.arms[arm] ?? 0), 0) : part.arms[name] ?? 0);
  const found = runs(parts, (part) => part.decisions);
  const busy = found.flat();
  const rows = found.flatMap((run, n) => steps(run, (part) => stacked(names.map((arm) => ({ run: n, arm, n: of(part, arm), share: of(part, arm) / part.decisions })))));
  const total = busy.reduce((sum, part) => sum + part.decisions, 0);
  const retired = new Set(told.arms.filter((arm) => arm.retired).map((arm) => arm.name));
  const lines = names.map((name) => {
    const share = total ? busy.reduce((sum, part) => sum + of(part, name), 0) / total : 0;
    return { name, text: `${name}${name === OTHERS ? ` (${look.others.length})` : ""}${retired.has(name) ? " (retired)" : ""} ${percent(share)}` };
  });
  say(by("key-note"), `Of the ${counted(total, "decision")} shown:`);
  by("key").replaceChildren(...lines.map(({ name, text }) => el("li", { class: retired.has(name) ? "retired" : null }, swatch(look.of(name).colour), text)));
  draw(by("shares"), JSON.stringify([told.point, names]), sharesSpec(spanOf(parts), look, names), { rows }, `Shares of the arms over time. Of all decisions shown: ${lines.map((line) => line.text).join(", ")}.`);
  tableWhenOpen(by("shares-table"), () => table(["from", ...names.map((name) => armed(look, name))],
    busy.map((part) => [when(part), ...names.map((name) => percent(of(part, name) / part.decisions))]).reverse(), names.map((_, n) => n + 1)));
}

// Each arm's share upon those before it.
function stacked(shares) {
  let below = 0;
  return shares.map((one) => ({ ...one, from: below, to: (below += one.share) }));
}

function traffic(parts) {
  const rates = parts.map((part) => part.decisions / (part.end - part.begin));
  const [unit, size] = rateUnit(Math.max(...rates));
  const rows = steps(parts, (part) => [{ n: part.decisions, rate: (size * part.decisions) / (part.end - part.begin) }]);
  say(by("traffic-unit"), `per ${unit}`);
  draw(by("traffic"), unit, trafficSpec(spanOf(parts), unit), { rows }, `Decisions over time, at most ${short(Math.max(...rows.map((row) => row.rate)))} per ${unit}.`);
  tableWhenOpen(by("traffic-table"), () => table(["from", "decisions", `per ${unit}`],
    parts.map((part, n) => [when(part), count(part.decisions), short(rows[n].rate)]).reverse(), [1, 2]));
}

function waiting(told, parts) {
  const { late, expired } = told.totals;
  const patience = told.wait === null ? "for as long as there is room" : `each for ${lasting(told.wait)}`;
  say(by("waiting-note"), `${counted(told.waiting, "decision")} ${told.waiting === 1 ? "is kept for its" : "are kept for their"} rewards, ${patience}. ${count(expired)} ${expired === 1 ? "was let go when its" : "were let go when their"} time was over. ${counted(late, "reward")} came after that, too late to be learned.`);
  by("waiting-figure").hidden = !late;
  if (!late) return;
  const rows = steps(parts, (part) => [{ n: part.late }]);
  draw(by("waiting"), "late", lateSpec(spanOf(parts)), { rows }, `Late rewards over time: ${count(late)} in all.`);
  tableWhenOpen(by("waiting-table"), () => table(["from", "late rewards", "decisions let go"],
    parts.map((part) => [when(part), count(part.late), count(part.expired)]).reverse(), [1, 2]));
}
