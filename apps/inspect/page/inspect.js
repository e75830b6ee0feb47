"use strict";
// Puts the page together.

const page = { pass: null, graph: null, timeline: null, found: [], foundAt: -1 };

function choose(index) {
  page.graph.reveal(index);
  page.graph.setChosen(index);
  showDetails(page.pass, index, choose);
}

function showTotals(pass) {
  const pairs = [
    ["nodes", String(pass.nodes.length)],
    ["forward", formatSeconds(pass.forwardSeconds)],
    ["backward", formatSeconds(pass.backwardSeconds)],
    ["both, unwatched", formatSeconds(pass.unobservedSeconds)],
    ["FLOPs", formatCount(pass.flops)],
    ["saved for backward", formatBytes(pass.savedBytes)],
    ["peak memory", formatBytes(pass.peakBytes)],
  ];
  if (pass.loss !== null) pairs.unshift(["loss", formatNumber(pass.loss)]);
  byId("totals").replaceChildren(chips(pairs));
}

function showPass(pass) {
  if (page.graph) page.graph.stop();
  if (page.timeline) page.timeline.stop();
  hideDetails();
  page.pass = pass;
  showTotals(pass);
  page.graph = new Graph(pass, choose);
  page.timeline = new Timeline(pass, (step) => page.graph.update(step));
  fillLayers(pass);
  search(byId("search").value);
}

function search(text) {
  const wanted = text.trim().toLowerCase();
  page.found = [];
  page.foundAt = -1;
  page.pass.nodes.forEach((node, index) => {
    const names = [node.op, node.layer, ...node.inputs.map((input) => input.parameter)];
    const hit = wanted !== "" && names.some((name) => name.toLowerCase().includes(wanted));
    if (hit) page.found.push(index);
  });
  const found = new Set(page.found);
  for (const index of page.found.slice(0, 200)) page.graph.reveal(index);
  page.graph.rows.forEach((row, index) => {
    if (row !== null) row.classList.toggle("found", found.has(index));
  });
  byId("found").textContent = wanted === "" ? "" : `${page.found.length} found`;
}

function goToFound(step) {
  if (page.found.length === 0) return;
  page.foundAt = (page.foundAt + step + page.found.length) % page.found.length;
  const index = page.found[page.foundAt];
  choose(index);
  page.graph.rows[index].scrollIntoView({ block: "center" });
}

function showComparison(fused, composed) {
  byId("compared").hidden = false;
  const sums = (pass) => {
    const layers = new Map();
    for (const node of pass.nodes) {
      const layer = layers.get(node.layer) || { nodes: 0, saved: 0, seconds: 0 };
      layer.nodes += 1;
      layer.saved += node.savedBytes;
      layer.seconds += node.forwardSeconds + node.backwardSeconds;
      layers.set(node.layer, layer);
    }
    return layers;
  };
  const left = sums(fused);
  const right = sums(composed);
  const whole = (pass) => ({ nodes: pass.nodes.length, saved: pass.savedBytes,
    seconds: pass.forwardSeconds + pass.backwardSeconds });
  const nothing = { nodes: 0, saved: 0, seconds: 0 };
  const times = (a, b) => a > 0 ? `${(b / a).toFixed(1)}×` : "–";
  const line = (name, a, b) => h("tr", {}, h("td", {}, name),
    [a.nodes, b.nodes, formatBytes(a.saved), formatBytes(b.saved), times(a.saved, b.saved),
      formatSeconds(a.seconds), formatSeconds(b.seconds), times(a.seconds, b.seconds)]
      .map((text) => h("td", { class: "number" }, String(text))));
  const titles = ["nodes", "composed", "saved", "composed", "", "time", "composed", ""];
  byId("comparison").replaceChildren(h("table", {},
    h("thead", {}, h("tr", {}, h("th", {}, "layer"),
      titles.map((title) => h("th", { class: "number" }, title)))),
    h("tbody", {},
      [...left].map(([name, sum]) => line(name || "outside of layers", sum, right.get(name) || nothing)),
      line("all, each storage once", whole(fused), whole(composed)))));
  const buttons = [["Fused", fused], ["Composed", composed]].map(([name, pass]) =>
    h("button", { type: "button", "aria-pressed": String(pass === fused), onclick: (event) => {
      for (const button of buttons) button.setAttribute("aria-pressed", button === event.target);
      showPass(pass);
    } }, name));
  byId("which").replaceChildren(...buttons);
}

document.title = `${data.name}, inspected`;
byId("title").textContent = data.name;
byId("about").textContent = data.about;
const fusedPass = new Pass(data.pass);
showPass(fusedPass);
if (data.composed) showComparison(fusedPass, new Pass(data.composed));
new AttentionView(data.pass.attention, data.tokens);

const step = (change) => page.timeline.go(page.timeline.step + change);
const playing = () => page.timeline.timer !== null;
byId("step").addEventListener("input", (event) => page.timeline.go(Number(event.target.value)));
byId("first").addEventListener("click", () => page.timeline.go(0));
byId("back").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
byId("last").addEventListener("click", () => page.timeline.go(page.pass.steps));
byId("play").addEventListener("click", () => page.timeline.play(!playing()));
byId("expand").addEventListener("click", () => page.graph.setAllOpen(true));
byId("collapse").addEventListener("click", () => page.graph.setAllOpen(false));
byId("search").addEventListener("input", (event) => search(event.target.value));
byId("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") goToFound(event.shiftKey ? -1 : 1);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    hideDetails();
    hideTip();
    event.target.blur();
  }
  if (typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  const onButton = event.target.tagName === "BUTTON";
  const keys = {
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    Home: () => page.timeline.go(0),
    End: () => page.timeline.go(page.pass.steps),
    " ": () => page.timeline.play(!playing()),
    "/": () => byId("search").focus(),
  };
  if (!(event.key in keys) || (event.key === " " && onButton)) return;
  event.preventDefault();
  keys[event.key]();
});

selfTest({
  "the slider starts between the passes": () => page.timeline.step === page.pass.forwardSteps,
  "the slider moves": () => {
    byId("step").value = 1;
    byId("step").dispatchEvent(new Event("input"));
    return page.timeline.step === 1 && byId("now").textContent.startsWith("Step 1 of");
  },
  "arrow keys step": () => {
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    return page.timeline.step === 2;
  },
  "the first forward steps leave the rest for later": () =>
    page.pass.stateOf(page.pass.nodes.length - 1, 1) === "future" || page.pass.nodes.length === 1,
  "everything saved is held between the passes": () => {
    const held = [...page.pass.heldStorages(page.pass.forwardSteps).values()];
    const bytes = held.reduce((sum, one) => sum + one, 0);
    return bytes === page.pass.savedBytes && page.pass.heldBytes[page.pass.forwardSteps] === bytes;
  },
  "nothing is held at the end": () => {
    page.timeline.go(page.pass.steps);
    return page.pass.heldStorages(page.pass.steps).size === 0
      && page.pass.heldBytes[page.pass.steps] === 0;
  },
  "search finds every node of an operation": () => {
    const { op } = page.pass.nodes[0];
    byId("search").value = op;
    byId("search").dispatchEvent(new Event("input"));
    const marked = document.querySelectorAll(".row.found").length;
    return marked > 0 && marked === page.found.length
      && byId("found").textContent === `${marked} found`;
  },
  "a found node opens its details": () => {
    goToFound(1);
    return byId("details").querySelector("h2").textContent.includes(page.pass.nodes[page.found[0]].op);
  },
  "search can find nothing": () => {
    search("no such operation");
    return byId("found").textContent === "0 found";
  },
  "layers open and close": () => {
    page.graph.setAllOpen(true);
    const all = document.querySelectorAll(".row[data-node]").length;
    page.graph.setAllOpen(false);
    page.graph.setAllOpen(true);
    return all === page.pass.nodes.length;
  },
  "arcs are drawn": () => page.pass.nodes.length < 2 || byId("arcs").childElementCount > 0,
  "histograms are drawn": () => document.querySelectorAll("#histograms rect").length > 0,
  "attention has a square for each head": () => data.pass.attention.length === 0
    || document.querySelectorAll("#heads canvas").length === data.pass.attention[0].heads,
  "both themes work": () => {
    setTheme("dark");
    const dark = getComputedStyle(document.body).backgroundColor;
    setTheme("light");
    return dark !== getComputedStyle(document.body).backgroundColor;
  },
});
