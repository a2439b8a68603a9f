// What the charts show, worked out from buckets: counts add, so buckets can be put together.

// Puts buckets together until there are at most `most` stretches; empty ones are there too.
export function stretches(series, most) {
  const { width, begin, end } = series;
  if (!begin.length) return [];
  const first = begin[0];
  const places = Math.round((begin.at(-1) - first) / width) + 1;
  const wide = Math.max(1, Math.ceil(places / most));
  const found = Array.from({ length: Math.ceil(places / wide) }, (_, n) => ({
    begin: first + n * wide * width, end: first + (n + 1) * wide * width,
    arms: Object.create(null), rewards: Object.create(null), decisions: 0, late: 0, expired: 0,
  }));
  begin.forEach((time, n) => {
    const into = found[Math.floor(Math.round((time - first) / width) / wide)];
    const nth = (columns) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[n]]));
    const arms = nth(series.arms);
    const decisions = Object.values(arms).reduce((sum, one) => sum + one, 0);
    add(into, { end: into.end, arms, decisions, rewards: nth(series.rewards), late: series.late[n], expired: series.expired[n] });
  });
  const last = found.at(-1);
  last.end = end.at(-1);
  // What has only just begun says little on its own.
  if (found.length > 1 && last.end - last.begin < (wide * width) / 2) add(found.at(-2), found.pop());
  return found;
}

function add(into, other) {
  into.end = other.end;
  for (const name of ["decisions", "late", "expired"]) into[name] += other[name];
  for (const [arm, n] of Object.entries(other.arms)) into.arms[arm] = (into.arms[arm] ?? 0) + n;
  for (const [objective, rewards] of Object.entries(other.rewards)) {
    into.rewards[objective] = together(into.rewards[objective] ?? NONE, rewards);
  }
}

// Rewards are told as their number, their mean and the sum of their squared distances from it.
const NONE = [0, 0, 0];

function together([n, middle, squares], [m, other, more]) {
  if (!m) return [n, middle, squares];
  const apart = other - middle;
  return [n + m, middle + apart * (m / (n + m)), squares + more + apart * apart * n * (m / (n + m))];
}

// Runs of stretches that follow each other and have something to show; between them is nothing.
export function runs(parts, has) {
  const found = [];
  parts.forEach((part, n) => {
    if (!has(part)) return;
    if (n === 0 || !has(parts[n - 1])) found.push([]);
    found.at(-1).push(part);
  });
  return found;
}

// How many decisions came in the last minute, up to now; of a longer stretch, its share of it.
export function lastMinute(stretches, now) {
  const within = (begin, end) => Math.max(0, end - Math.max(begin, now - 60)) / (end - begin);
  return Math.round(stretches.reduce((sum, [begin, end, n]) => sum + n * within(begin, end), 0));
}

// From where to where an axis goes: over all values. Where these are as good as one, ticks could not
// tell them apart: then it shows a tenth of the objective's range around them.
export function reach({ range: [least, most] }, values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (high - low > (most - least) / 1000) return [low, high];
  const room = (most - least) / 20;
  return [Math.max(low - room, Math.min(least, low)), Math.min(high + room, Math.max(most, high))];
}

// The mean of rewards with a 95 % interval; one reward has none. Rewards that can only have been 0
// and 1, which their squares tell, have Wilson's.
export function mean([n, middle, squares]) {
  if (Math.abs(squares - n * middle * (1 - middle)) <= 1e-9 * n && middle >= 0 && middle <= 1) return wilson(n, middle);
  if (n < 2) return { value: middle, low: null, high: null, count: n };
  const half = 1.96 * Math.sqrt(squares / n / (n - 1));
  return { value: middle, low: middle - half, high: middle + half, count: n };
}

function wilson(n, share) {
  const z = 1.96;
  const middle = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z * Math.sqrt((share * (1 - share)) / n + (z / (2 * n)) ** 2)) / (1 + (z * z) / n);
  return { value: share, low: Math.min(share, Math.max(0, middle - half)), high: Math.max(share, Math.min(1, middle + half)), count: n };
}

// The mean of the last rewards, at least 256 of them if there are so many.
export function lately(parts, objective) {
  let rewards = NONE;
  for (const part of [...parts].reverse()) {
    rewards = together(rewards, part.rewards[objective] ?? NONE);
    if (rewards[0] >= 256) break;
  }
  return rewards[0] ? mean(rewards) : null;
}

// With fewer rewards than this nothing is said of comparisons.
export const FEW = 30;

// Whether enough is known of every objective to compare.
export const comparable = ({ received }) => Object.values(received).every(({ count }) => count >= FEW);

// What always playing an arm would have given, over all decisions so far; null if it cannot be told.
// It lies in the objective's range, as rewards do, though estimates may not.
export function always(objective, summary, arm) {
  const { value } = summary.against[arm][objective.name];
  const mean = summary.received[objective.name].value;
  if (value === null || mean === null || !comparable(summary)) return null;
  const [low, high] = objective.range;
  return Math.min(Math.max(objective.goal === "min" ? mean + value : mean - value, low), high);
}

// Okabe and Ito's colours: neighbours differ for every kind of colour vision.
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"];
const INK = ["#ffffff", "#000000", "#ffffff", "#000000", "#000000", "#ffffff", "#000000"];
export const OTHERS = "other arms";
const GREY = "#8a8f96";

// The colour of an arm follows from its place among all arms there ever were, so it is the same in
// every chart and table, whatever they show. Later places go around the circle of colours.
function look(place) {
  if (place < COLOURS.length) return { colour: COLOURS[place], ink: INK[place] };
  const hue = Math.round((place - COLOURS.length) * 137.508 + 20) % 360;
  return { colour: `hsl(${hue} 55% ${place % 2 ? 38 : 62}%)`, ink: place % 2 ? "#ffffff" : "#000000" };
}

// How arms look. Of more than seven, charts show the six most chosen; the rest are put together.
export function looks(arms, series) {
  const total = (arm) => (series.arms[arm] ?? []).reduce((sum, n) => sum + n, 0);
  const names = arms.map((arm) => arm.name);
  let named = names;
  if (names.length > COLOURS.length) {
    const most = [...names].sort((a, b) => total(b) - total(a)).slice(0, COLOURS.length - 1);
    named = names.filter((name) => most.includes(name));
  }
  const places = new Map(names.map((name, place) => [name, place]));
  return {
    of: (name) => (places.has(name) ? look(places.get(name)) : { colour: GREY, ink: "#ffffff" }),
    named, others: names.filter((name) => !named.includes(name)),
    group: (name) => (named.includes(name) ? name : OTHERS),
  };
}
