// Drawing by Vega-Lite. Its expressions are interpreted, not compiled, so the page's policy holds.

const AXIS = {
  labelColor: "currentColor", titleColor: "currentColor", domainColor: "currentColor", tickColor: "currentColor",
  gridColor: "currentColor", gridOpacity: 0.12, domainOpacity: 0.5, tickOpacity: 0.5,
  labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: 110, titleLimit: 300,
};
const CONFIG = {
  aria: false, // the figure's own words and table speak for it
  font: "system-ui, sans-serif", background: "transparent", axis: AXIS,
  axisY: { minExtent: 48 }, // new rows may have longer labels, and the chart keeps its place
  text: { color: "currentColor", fontSize: 12 }, view: { stroke: null },
};
const OPTIONS = { ast: true, actions: false, defaultStyle: false, renderer: "svg", tooltip: { disableDefaultStyle: true } };
const drawn = new Map();
// Words and tables do not wait for it.
const vega = import(document.body.dataset.vega);

// Draws rows at a place, with words for those who do not see it. While `key` stays, only the rows
// and the values of the parameters are changed.
export function draw(place, key, spec, rows, label) {
  const before = drawn.get(place);
  const work = (before?.work ?? Promise.resolve()).then(() => paint(place, key, spec, rows)).then(() => {
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", label);
  }).catch((error) => {
    place.textContent = `This chart could not be drawn: ${error.message}`;
  });
  drawn.set(place, { ...before, work });
  return work;
}

async function paint(place, key, spec, rows) {
  await vega;
  const now = drawn.get(place);
  if (now.key === key && now.view) {
    for (const [name, values] of Object.entries(rows)) now.view.data(name, values);
    for (const { name, value } of spec.params ?? []) now.view.signal(name, value);
    await now.view.runAsync();
    return;
  }
  now.view?.finalize();
  const whole = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json", // a name; nothing is fetched
    width: "container", autosize: { type: "fit-x", contains: "padding", resize: true }, height: 170, padding: 4,
    config: CONFIG, datasets: rows, ...spec,
  };
  const { view } = await window.vegaEmbed(place, whole, OPTIONS);
  drawn.set(place, { ...drawn.get(place), key, view });
}

export function forget(place) {
  drawn.get(place)?.view?.finalize();
  drawn.delete(place);
  place.replaceChildren();
}

// What is no arm has the colour of the text: colours are the arms'.
const PLAIN = "currentColor";
export const colours = (looks, names) => ({ domain: names, range: names.map((name) => looks.of(name).colour) });

// A moment is written by what is new in it: a whole minute has no seconds, midnight is a day.
const CLOCK = { month: "%b %d", date: "%b %d", day: "%b %d", hours: "%H:%M", minutes: "%H:%M", seconds: "%H:%M:%S" };
// Ticks by the room there is, none between two seconds.
const time = {
  field: "t", type: "temporal", title: null, scale: { domain: [{ expr: "span[0]" }, { expr: "span[1]" }] },
  axis: { tickCount: { expr: "min(width / 100, (span[1] - span[0]) / 1000)" }, format: CLOCK, labelFlush: true, labelOverlap: true, labelSeparation: 10, grid: false },
};
// What charts of time share: which time it is, in milliseconds, and a whole height, so that the axes
// of charts beside each other are level.
const during = (span) => ({ params: [{ name: "span", value: span }], height: 200, autosize: { type: "fit", contains: "padding", resize: true } });
const moment = { field: "t", type: "temporal", title: "time", format: "%b %d, %H:%M:%S" };

export function sharesSpec(span, looks, names) {
  return {
    ...during(span), data: { name: "rows" },
    mark: { type: "area", interpolate: "step-after", line: false, opacity: 0.92 },
    encoding: {
      x: time, detail: { field: "run" },
      y: { field: "from", type: "quantitative", title: null, scale: { domain: [0, 1], clamp: true }, axis: { format: ".0%", tickCount: 3 } }, y2: { field: "to" },
      color: { field: "arm", type: "nominal", scale: colours(looks, names), legend: null },
      tooltip: [moment, { field: "arm", title: "arm" }, { field: "share", title: "share", format: ".1%" }, { field: "n", title: "decisions", format: "," }],
    },
  };
}

export function trafficSpec(span, unit) {
  return {
    ...during(span), data: { name: "rows" },
    layer: [
      { mark: { type: "area", interpolate: "step-after", color: PLAIN, opacity: 0.2, tooltip: true } },
      { mark: { type: "line", interpolate: "step-after", color: PLAIN, strokeWidth: 1.8 } },
    ],
    encoding: {
      x: time,
      y: { field: "rate", type: "quantitative", title: null, axis: { tickCount: 4 }, scale: { zero: true } },
      tooltip: [moment, { field: "rate", title: `per ${unit}`, format: ",.3~r" }, { field: "n", title: "decisions", format: "," }],
    },
  };
}

// `reach`: from where to where values go; `band`: some row has an interval; `lines`: there are levels.
// What has no rows is left out.
export function objectiveSpec(span, reach, band, lines) {
  const y = { field: "value", type: "quantitative", title: null, axis: { tickCount: 4 }, scale: { domain: [{ expr: "reach[0]" }, { expr: "reach[1]" }], nice: true } };
  const level = { data: { name: "levels" }, encoding: { y } };
  const { params, ...common } = during(span);
  return {
    ...common, params: [...params, { name: "reach", value: reach }],
    layer: [
      band && { data: { name: "rows" }, mark: { type: "area", color: PLAIN, opacity: 0.2, interpolate: "linear", clip: true }, encoding: { x: time, detail: { field: "run" }, y: { ...y, field: "low" }, y2: { field: "high" } } },
      // The line is not clipped: at the highest value it would have half its width.
      { data: { name: "rows" }, mark: { type: "line", color: PLAIN, strokeWidth: 2.2 }, encoding: { x: time, detail: { field: "run" }, y } },
      { data: { name: "rows" }, mark: { type: "point", filled: true, size: 40, color: PLAIN, opacity: 0.001, clip: true, tooltip: true }, encoding: { x: time, y,
        tooltip: [moment, { field: "value", title: "mean", format: ",.4~r" }, { field: "low", title: "from", format: ",.4~r" }, { field: "high", title: "to", format: ",.4~r" }, { field: "count", title: "rewards", format: "," }] } },
      lines && { ...level, mark: { type: "rule", strokeWidth: 1.5, opacity: 0.85 }, encoding: { ...level.encoding, color: { condition: { test: "datum.colour", field: "colour", type: "nominal", scale: null }, value: "currentColor" }, strokeDash: { field: "dash", type: "nominal", scale: { domain: ["base", "tolerance"], range: [[6, 4], [1, 4]] }, legend: null } } },
    ].filter(Boolean),
  };
}

export function lateSpec(span) {
  return {
    ...during(span), data: { name: "rows" },
    layer: [
      { mark: { type: "area", interpolate: "step-after", color: PLAIN, opacity: 0.2, tooltip: true } },
      { mark: { type: "line", interpolate: "step-after", color: PLAIN, strokeWidth: 1.8 } },
    ],
    encoding: {
      x: time, y: { field: "n", type: "quantitative", title: null, axis: { tickCount: 4, format: "~s", tickMinStep: 1 }, scale: { zero: true } },
      tooltip: [moment, { field: "n", title: "late rewards", format: "," }],
    },
  };
}

export function intervalsSpec(objective, names) {
  const y = { field: "arm", type: "nominal", title: null, scale: { domain: names }, axis: { labelLimit: 120, grid: false, domain: false, ticks: false } };
  const colour = { field: "colour", type: "nominal", scale: null };
  return {
    height: 28 * names.length, data: { name: "rows" },
    layer: [
      { mark: { type: "rule" }, encoding: { y, x: { field: "low", type: "quantitative", title: objective.name, axis: { tickCount: 4 }, scale: { zero: false, nice: true } }, x2: { field: "high" }, color: colour, strokeWidth: { condition: { test: "datum.good", value: 6 }, value: 2.5 }, opacity: { condition: { test: "datum.good", value: 0.55 }, value: 0.8 } } },
      { mark: { type: "point", filled: true, opacity: 1, tooltip: true }, encoding: { y, x: { field: "value", type: "quantitative" }, color: colour, size: { condition: { test: "datum.likely", value: 140 }, value: 50 }, tooltip: [{ field: "arm", title: "arm" }, { field: "value", title: "estimate", format: ",.4~r" }, { field: "low", title: "from", format: ",.4~r" }, { field: "high", title: "to", format: ",.4~r" }, { field: "n", title: "rewards", format: "," }] } },
    ],
  };
}
