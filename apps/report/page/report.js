"use strict";
// Curves of one run, or of several over each other.

const kColours = ["--blue", "--orange", "--green", "--pink", "--yellow", "--quiet"]
  .map((name) => `var(${name})`);
const { runs } = data;
const single = runs.length === 1;
const view = { axis: "step", log: false, smoothing: 0.8 };

function last(list) {
  return list[list.length - 1];
}

// Folders of the same name are told apart by numbers.
runs.forEach((run, i) => {
  const earlier = runs.slice(0, i).filter((other) => other.name === run.name).length;
  run.label = earlier === 0 ? run.name : `${run.name} (${earlier + 1})`;
  run.colour = kColours[i % kColours.length];
});

function points(list, name) {
  return list.filter((point) => Number.isFinite(point[name]))
    .map((point) => [point[view.axis], point[name]]);
}

// A mean that forgets: each new value counts 1 - smoothing, corrected for the short memory of the
// first ones.
function smooth(list, smoothing) {
  let mean = 0;
  let weight = 0;
  return list.map(([x, y]) => {
    mean = smoothing * mean + (1 - smoothing) * y;
    weight = smoothing * weight + (1 - smoothing);
    return [x, mean / weight];
  });
}

const charts = {
  loss: new LineChart(byId("loss"), { title: "Loss", height: 320 }),
  bits: new LineChart(byId("bits"), { title: "Bits per byte" }),
  lr: new LineChart(byId("lr"), { title: "Learning rate" }),
  norm: new LineChart(byId("norm"), { title: "Gradient norm" }),
  speed: new LineChart(byId("speed"), { title: "Tokens per second", formatY: formatCount }),
};

function lossSeries() {
  return runs.flatMap((run) => {
    const prefix = single ? "" : `${run.label} `;
    const raw = points(run.training, "loss");
    return [
      { name: `${prefix}training, unsmoothed`, colour: run.colour, points: raw, faint: true },
      { name: `${prefix}training`, colour: run.colour, points: smooth(raw, view.smoothing) },
      { name: `${prefix}validation`, colour: single ? "var(--orange)" : run.colour,
        points: points(run.validation, "loss"), markers: true },
      { name: `${prefix}floor`, colour: single ? "var(--green)" : run.colour,
        points: points(run.validation, "floor"), dashed: true },
    ];
  }).filter((series) => series.points.length > 0);
}

function curve(name, list = "training") {
  return runs.map((run) => ({
    name: run.label, colour: run.colour, points: points(run[list], name), markers: list !== "training",
  }));
}

function draw() {
  const options = {
    xLabel: view.axis === "step" ? "step" : "time",
    formatX: view.axis === "step" ? formatCount : formatSeconds,
    logY: false,
  };
  const series = lossSeries();
  byId("legend").replaceChildren(legend(series));
  charts.loss.show(series, { ...options, logY: view.log });
  charts.bits.show(curve("bits_per_byte", "validation"), options);
  charts.lr.show(curve("lr"), options);
  charts.norm.show(curve("grad_norm"), options);
  charts.speed.show(curve("tokens_per_s"), { ...options, formatY: formatCount });
}

// Rows {name, values, help}, one value for each run, those that differ marked.
function table(rows) {
  const differs = (row) => new Set(row.values).size > 1;
  const heads = single ? ["value"] : runs.map((run) => run.label);
  return h("table", {},
    h("thead", {}, h("tr", {}, ["", ...heads].map((name) => h("th", {}, name)))),
    h("tbody", {}, rows.map((row) =>
      h("tr", { class: differs(row) ? "differs" : null, title: row.help },
        h("td", {}, row.name), row.values.map((value) => h("td", {}, value))))));
}

function settingRows() {
  const names = new Map();
  for (const run of runs) for (const one of run.config) names.set(one.name, one);
  return [...names.values()].map((setting) => ({
    name: setting.name,
    help: `${setting.group}: ${setting.help}`,
    values: runs.map((run) => (run.config.find((one) => one.name === setting.name) || { value: "–" }).value),
  }));
}

function outcomeRows() {
  const best = (run) => run.validation.reduce((least, point) =>
    least === null || point.loss < least.loss ? point : least, null);
  const row = (name, value) => ({ name, values: runs.map(value) });
  return [
    row("best validation loss", (run) => best(run) ? formatNumber(best(run).loss) : "–"),
    row("at step", (run) => best(run) ? String(best(run).step) : "–"),
    row("bits per byte there", (run) => best(run) ? formatNumber(best(run).bits_per_byte) : "–"),
    row("steps done", (run) => String(last(run.training).step)),
    row("training loss at the end", (run) =>
      formatNumber(last(smooth(points(run.training, "loss"), 0.8))[1])),
    row("time", (run) => formatSeconds(last(run.training).seconds)),
  ];
}

function machineRows() {
  const names = new Set(runs.flatMap((run) => Object.keys(run.machine || {})));
  return [...names].map((name) => ({
    name, values: runs.map((run) => String((run.machine || {})[name] ?? "–")),
  }));
}

function showSettings(text) {
  const wanted = text.trim().toLowerCase();
  const rows = settingRows().filter((row) => row.name.includes(wanted)
    || row.help.toLowerCase().includes(wanted) || row.values.some((value) => value.includes(wanted)));
  byId("config").replaceChildren(rows.length > 0 ? table(rows) : h("p", { class: "quiet" }, "Nothing found."));
}

function showSample() {
  const { samples } = runs[Number(byId("sample-run").value)];
  byId("sample").max = Math.max(0, samples.length - 1);
  const sample = samples[Math.min(Number(byId("sample").value), samples.length - 1)];
  byId("sample-step").textContent = sample ? `step ${sample.step}` : "no samples";
  byId("sample-text").textContent = sample ? sample.text.trim() : "";
}

byId("title").textContent = single ? `Training run ${runs[0].label}` : `${runs.length} training runs`;
if (single) {
  byId("totals").append(chips(outcomeRows().map((row) => [row.name, row.values[0]])));
} else {
  byId("differences").hidden = false;
  const rows = [...outcomeRows(), ...settingRows(), ...machineRows()];
  byId("difference-table").append(table(rows.filter((row) => new Set(row.values).size > 1)));
}
showSettings("");
const machines = machineRows();
byId("machine").append(machines.length > 0 ? table(machines) : h("p", { class: "quiet" }, "Not recorded."));

byId("samples").hidden = runs.every((run) => run.samples.length === 0);
byId("sample-run").append(...runs.map((run, i) => h("option", { value: i }, run.label)));
byId("sample-run").hidden = single;
showSample();
byId("sample").value = byId("sample").max;
showSample();

byId("axis").addEventListener("change", (event) => { view.axis = event.target.value; draw(); });
byId("log").addEventListener("change", (event) => { view.log = event.target.checked; draw(); });
byId("smoothing").addEventListener("input", (event) => {
  view.smoothing = Number(event.target.value);
  draw();
});
byId("sample").addEventListener("input", showSample);
byId("sample-run").addEventListener("change", () => { byId("sample").value = 1e9; showSample(); });
byId("search").addEventListener("input", (event) => showSettings(event.target.value));
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || typing(event)) return;
  event.preventDefault();
  byId("search").focus();
});
draw();

const change = (id, value, event) => {
  byId(id).value = value;
  byId(id).dispatchEvent(new Event(event));
};
selfTest({
  "every run has a loss curve": () =>
    document.querySelectorAll("#loss polyline").length >= 2 * runs.length,
  "the axis changes": () => {
    const before = byId("loss").innerHTML;
    change("axis", "seconds", "change");
    const changed = byId("loss").innerHTML !== before;
    change("axis", "step", "change");
    return changed && byId("loss").innerHTML === before;
  },
  "the smoothing slider works": () => {
    const before = byId("loss").innerHTML;
    change("smoothing", 0, "input");
    const changed = byId("loss").innerHTML !== before;
    change("smoothing", 0.8, "input");
    return changed || runs.every((run) => run.training.length < 3);
  },
  "search filters the settings": () => {
    change("search", "weight-decay", "input");
    const found = document.querySelectorAll("#config tbody tr").length;
    change("search", "", "input");
    return found === 1 || runs.every((run) => run.config.length === 0);
  },
  "the sample slider shows the first sample": () => {
    if (byId("samples").hidden) return true;
    change("sample", 0, "input");
    return byId("sample-step").textContent === `step ${runs[0].samples[0].step}`;
  },
  "several runs have a table of differences": () => single
    || document.querySelectorAll("#difference-table tbody tr").length > 0,
});
