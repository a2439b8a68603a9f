// The page: asks every two seconds, and not while nobody looks.

import { Failed, askIfNew } from "./asking.js";
import { by, el, say } from "./dom.js";
import * as figures from "./figures.js";
import * as map from "./map.js";
import * as recent from "./recent.js";
import * as whatIf from "./what-if.js";

const EVERY = 2000;
const points = document.body.dataset.points.split(" ").filter(Boolean);
let paused = false;
let told = null; // what is shown
let shown = { url: null, tag: null }; // what was asked for it, and its tag
let behind = 0; // seconds that this clock is behind the service's
let timer = 0;
let begun = 0; // turns: each makes those before it obsolete
let failures = 0;
let lost = []; // why nothing new comes, as a text and maybe a link

const current = () => (points.includes(location.hash.slice(1)) ? location.hash.slice(1) : points[0]);

function navigation() {
  by("points").replaceChildren(...points.map((name) =>
    el("a", { href: `#${name}`, "aria-current": name === current() ? "page" : null }, name)));
  by("points").hidden = points.length < 2;
}

async function turn() {
  clearTimeout(timer);
  begun += 1;
  const mine = begun;
  const over = () => mine !== begun;
  const name = current();
  if (!name) return say(by("headline"), "The service has no decision points.");
  try {
    const url = `/v1/${name}/history?series=${by("series").value}`;
    const news = await askIfNew(url, url === shown.url ? shown.tag : null);
    if (over()) return;
    if (news) {
      told = news.told;
      shown = { url, tag: news.tag };
      behind = told.now - Date.now() / 1000;
      figures.show(told);
      banner();
      if (told.totals.decisions) map.prepare(name, told.context);
      whatIf.prepare(name, told.objectives);
    }
    const now = Date.now() / 1000 + behind;
    figures.tiles(told, now); // time goes on though nothing happens
    if (told.totals.decisions) {
      await map.refresh(figures.looksOf(told));
      if (over()) return;
      await recent.refresh(name, told, figures.looksOf(told), now, over);
    }
    if (over()) return;
    found();
  } catch (error) {
    if (over()) return;
    failed(error);
  }
  document.body.dataset.turns = Number(document.body.dataset.turns ?? 0) + 1;
  if (!paused && !document.hidden) timer = setTimeout(turn, EVERY * Math.min(2 ** failures, 15));
}

function found() {
  if (failures) say(by("status"), "Connected again.");
  failures = 0;
  lost = [];
  banner();
}

function failed(error) {
  failures += 1;
  if (!(error instanceof Failed)) console.error(error);
  lost = error.status === 401 || error.status === 403
    ? ["Your session is over, and what you see is out of date. ", el("a", { href: "/login" }, "Sign in again"), "."]
    : [`${error.message} What you see may be out of date; trying again.`];
  if (!paused) say(by("status"), "");
  banner();
}

// What a viewer must know before looking at any figure.
function banner() {
  const trouble = told?.trouble ? [`Nothing is being recorded: ${told.trouble}`] : [];
  const parts = lost.length ? lost : trouble;
  const text = parts.map((part) => part.textContent ?? part).join("");
  if (by("trouble").textContent !== text) by("trouble").replaceChildren(...parts);
  by("trouble").hidden = !parts.length;
}

function pause() {
  paused = !paused;
  by("pause").setAttribute("aria-pressed", String(paused));
  say(by("pause"), paused ? "Go on" : "Pause");
  say(by("status"), paused ? "Updates are paused." : "Updates go on.");
  if (paused) clearTimeout(timer);
  else turn();
}

function theme() {
  const chosen = by("theme").value;
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  try {
    localStorage.setItem("lexbandit-theme", chosen);
  } catch { /* storage may be forbidden: the choice lasts as long as the page */ }
}

by("theme").value = document.documentElement.dataset.theme ?? "";
by("theme").addEventListener("change", theme);
by("pause").addEventListener("click", pause);
by("series").addEventListener("change", turn);
addEventListener("hashchange", () => { navigation(); turn(); });
document.addEventListener("visibilitychange", () => (document.hidden || paused ? clearTimeout(timer) : turn()));
map.listen(() => { if (told) map.refresh(figures.looksOf(told)).then(found, failed); });
recent.listen();
whatIf.listen();
navigation();
turn();
