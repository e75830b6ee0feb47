"use strict";
// Everything about one node.

function showDetails(pass, index, choose) {
  const node = pass.nodes[index];
  const entry = (name, ...value) => [h("dt", {}, name), h("dd", {}, ...value)];
  const input = (one, i) => h("div", {},
    one.node >= 0
      ? h("button", { type: "button", class: "link", onclick: () => choose(one.node) },
        `node ${one.node} ${pass.nodes[one.node].op}`)
      : one.parameter || "a constant or leaf",
    ` ${formatShape(one.shape)}`);
  const share = pass.flops > 0 ? `, ${(100 * node.flops / pass.flops).toFixed(1)} % of all` : "";
  byId("details").classList.remove("empty");
  byId("details").replaceChildren(
    h("button", { type: "button", class: "close", "aria-label": "Close", onclick: hideDetails }, "×"),
    h("h2", {}, `${index} ${node.op}`),
    h("dl", {},
      entry("layer", node.layer || "outside of layers"),
      entry("inputs", node.inputs.map(input)),
      entry("output", `${formatShape(node.shape)} ${node.dtype}${node.view ? ", a view" : ""}`),
      entry("forward", formatSeconds(node.forwardSeconds)),
      entry("backward", node.gradientNorm === null ? "no gradient came" : formatSeconds(node.backwardSeconds)),
      entry("FLOPs", `${formatCount(node.flops)}${share}`),
      entry("|gradient|", formatNumber(node.gradientNorm))),
    h("h3", {}, "Kept for the backward pass"),
    node.saved.length === 0 ? h("p", { class: "small" }, "Nothing: the gradient needs no values.")
      : h("ul", {}, node.saved.map((tensor) => h("li", {}, describeSaved(tensor)))),
    node.output ? histogram("output", node.output, "var(--blue)") : null,
    node.gradient ? histogram("its gradient", node.gradient, "var(--orange)") : null);
}

function hideDetails() {
  byId("details").classList.add("empty");
  byId("details").replaceChildren(h("p", { class: "quiet small" },
    "Choose a node to see where its inputs come from, what it keeps for the backward pass and why, ",
    "and how its values and gradients are spread."));
}

// Histograms of a layer: its parameters and their gradients, what its nodes give and get back.
function showHistograms(pass, layer) {
  const inside = (path) => path === layer || path.startsWith(`${layer}.`);
  const figures = [];
  for (const parameter of pass.parameters) {
    const owner = parameter.name.includes(".") ? parameter.name.replace(/\.[^.]*$/, "") : "";
    if (owner !== layer) continue;
    const name = `${parameter.name} ${formatShape(parameter.shape)}`;
    if (parameter.values) figures.push(histogram(name, parameter.values, "var(--green)"));
    if (parameter.gradient) {
      figures.push(histogram(`gradient of ${parameter.name}`, parameter.gradient, "var(--pink)"));
    }
  }
  pass.nodes.forEach((node, index) => {
    if (!(layer === "" ? node.layer === "" : inside(node.layer)) || !node.output) return;
    figures.push(histogram(`output of ${index} ${node.op}`, node.output, "var(--blue)"));
    if (node.gradient) {
      figures.push(histogram(`gradient at ${index} ${node.op}`, node.gradient, "var(--orange)"));
    }
  });
  byId("histograms").replaceChildren(...figures);
}

// Every layer that has a parameter or a node, in the order of the tape.
function layerNames(pass) {
  const names = new Set();
  for (const node of pass.nodes) {
    const parts = pathParts(node.layer);
    for (let i = 1; i <= parts.length; ++i) names.add(parts.slice(0, i).join("."));
  }
  if (pass.nodes.some((node) => node.layer === "") || pass.parameters.some((one) => !one.name.includes("."))) {
    names.add("");
  }
  return [...names];
}

function fillLayers(pass) {
  const names = layerNames(pass);
  const select = byId("layer");
  const before = select.options.length > 0 ? select.value : null;
  const kept = names.includes(before) ? before : names[0];
  select.replaceChildren(...names.map((name) =>
    h("option", { value: name }, name === "" ? "outside of layers" : name)));
  select.value = kept;
  select.onchange = () => showHistograms(pass, select.value);
  showHistograms(pass, kept);
}
