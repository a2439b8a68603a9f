// What other policies would have done, by the log: asked for by a button, since it costs seconds.

import { ask } from "./asking.js";
import { by, el, say, table } from "./dom.js";
import { count, counted, interval, lasting } from "./words.js";

// How long to wait before asking again, and for an answer, in milliseconds: who asks for something
// long is patient.
const AGAIN = 1000;
const PATIENCE = 30000;
const CLASS = { better: "gain", worse: "loss" };
let point = null;
let objectives = [];
let begun = 0; // questions: each makes those before it obsolete

export function listen() {
  by("what-if-ask").addEventListener("click", evaluate);
}

export function prepare(name, those) {
  objectives = those;
  if (name === point) return;
  point = name;
  begun += 1;
  by("what-if-table").hidden = true;
  by("what-if-more").hidden = true;
  say(by("what-if-note"), "");
  ready("Evaluate the log");
}

function ready(words) {
  by("what-if-ask").removeAttribute("aria-disabled");
  say(by("what-if-ask"), words);
}

async function evaluate() {
  if (by("what-if-ask").hasAttribute("aria-disabled")) return;
  begun += 1;
  const mine = begun;
  by("what-if-ask").setAttribute("aria-disabled", "true");
  say(by("what-if-note"), "Computing…");
  try {
    let told = await ask(`/v1/${point}/what-if`, undefined, PATIENCE);
    while (told.computing && mine === begun) {
      await new Promise((done) => setTimeout(done, AGAIN));
      if (mine === begun) told = await ask(`/v1/${point}/what-if`, undefined, PATIENCE);
    }
    if (mine === begun) show(told);
  } catch (error) {
    if (mine === begun) say(by("what-if-note"), `It cannot be evaluated now: ${error.message}`);
  }
  if (mine !== begun) return;
  ready("Compute again");
  say(by("status"), by("what-if-note").textContent); // for listeners
}

function show({ kept, report }) {
  const { error, candidates, more, rows, young, wait, decisions, time } = report;
  const which = rows < decisions ? `the last ${count(rows)} of ${counted(decisions, "decision")}` : counted(rows, "decision");
  const when = new Date(1000 * time).toLocaleTimeString();
  const why = error ? ` The log cannot be evaluated: ${error}` : "";
  const early = young && !error ? ` Rewards of ${count(young)} of them do not count yet: they may come within ${lasting(wait)}.` : "";
  say(by("what-if-note"), `Computed at ${when} on ${which}, and kept for ${count(kept)} s.${early}${why}`);
  by("what-if-table").hidden = by("what-if-more").hidden = error !== null;
  by("what-if-table").replaceChildren(table(
    ["instead", "verdict", ...objectives.map((o) => o.name), "effective rows", "in words"],
    candidates.map(row), [2 + objectives.length],
  ));
  const left = more ? ` Of the arms, ${count(more)} played less often are left out.` : "";
  say(by("what-if-more"), "Intervals of 95\u00a0% hold at every look. Tolerances "
    + `are tried with what is known now, which was learned from these rows too, so they may look somewhat better than they are.${left} For files, other policies and segments: lexbandit evaluate.`);
}

function row({ candidate, error, verdict, kind, objectives: differences, effective_rows: effective, sentence }) {
  const name = candidate.replace(/^always:/, "always ");
  if (error) return [name, "none", ...objectives.map(() => ""), "", error];
  return [
    name, el("span", { class: CLASS[kind] }, verdict),
    ...objectives.map((o) => interval(o, differences[o.name])),
    count(effective), sentence,
  ];
}
