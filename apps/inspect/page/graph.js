"use strict";
// The tape as rows from top to bottom, grouped by layer, with arcs from each node to its users.

class Graph {
  constructor(pass, choose) {
    this.pass = pass;
    this.choose = choose;
    this.rows = new Array(pass.nodes.length).fill(null);  // made when their group opens
    this.groups = [];
    this.step = 0;
    this.chosen = null;
    this.groupOf = [];
    this.collect(pass.root);
    byId("rows").replaceChildren(...this.items(pass.root));
    this.arcs = svg("svg", { id: "arcs", "aria-hidden": true });
    const graph = byId("graph");
    for (const old of graph.querySelectorAll("#arcs")) old.remove();
    graph.prepend(this.arcs);
    // Small graphs are shown whole; large ones layer by layer.
    for (const group of this.groups) {
      this.setOpen(group, pass.nodes.length <= 60 || group.path === this.groups[0].path, false);
    }
    this.update(0);
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.drawArcs()));
    this.observer.observe(graph);
  }

  stop() {
    this.observer.disconnect();
  }

  collect(group) {
    for (const item of group.items) {
      if (typeof item === "number") {
        this.groupOf[item] = group;
      } else {
        this.groups.push(item);
        this.collect(item);
      }
    }
  }

  items(group) {
    return group.items.map((item) =>
      typeof item === "number" ? this.nodeRow(item) : this.groupRow(item));
  }

  nodeRow(index) {
    const node = this.pass.nodes[index];
    const row = h("button", {
      type: "button", class: "row", "data-node": index, onclick: () => this.choose(index),
    },
    h("span", { class: "label" }, `${index} `, h("b", {}, node.op),
      h("span", { class: "shape mono" }, formatShape(node.shape))),
    this.savedBar(node.savedBytes),
    h("span", { class: "time" }, formatSeconds(node.forwardSeconds + node.backwardSeconds)));
    row.classList.toggle("view", node.view);
    this.rows[index] = row;
    withTip(row, () => nodeSummary(this.pass, index));
    this.paint(index);
    return row;
  }

  groupRow(group) {
    const nodes = this.pass.nodes.slice(group.first, group.last + 1);
    const sum = (value) => nodes.reduce((total, node) => total + value(node), 0);
    const saved = sum((node) => node.savedBytes);
    group.savedBytes = saved;
    const seconds = sum((node) => node.forwardSeconds + node.backwardSeconds);
    group.arrow = h("span", { "aria-hidden": true }, "▸ ");
    group.header = h("button", {
      type: "button", class: "row header", "aria-expanded": "false",
      onclick: () => this.setOpen(group, !group.open),
    },
    h("span", { class: "label" }, group.arrow, h("b", {}, group.label),
      h("span", { class: "shape" }, `${nodes.length} node${nodes.length === 1 ? "" : "s"}`)),
    this.savedBar(saved),
    h("span", { class: "time" }, formatSeconds(seconds)));
    withTip(group.header, () => `${group.path}\n${nodes.length} nodes, `
      + `${formatBytes(saved)} saved, ${formatSeconds(seconds)}, `
      + `${formatCount(sum((node) => node.flops))} FLOPs`);
    group.body = h("div", { class: "group", hidden: true });
    return h("div", {}, group.header, group.body);
  }

  savedBar(bytes) {
    const bar = h("span", { class: "saved" });
    if (bytes > 0) {
      const share = Math.min(1, Math.sqrt(bytes / this.pass.mostSaved));
      bar.append(h("i", { style: `width: ${Math.round(100 * share)}%` }));
    }
    return bar;
  }

  setOpen(group, open, redraw = true) {
    if (open && group.body === undefined) this.setOpen(group.parent, true, false);
    if (open && group.body.childElementCount === 0) group.body.append(...this.items(group));
    if (group.body === undefined) return;
    group.open = open;
    group.body.hidden = !open;
    group.arrow.textContent = open ? "▾ " : "▸ ";
    group.header.setAttribute("aria-expanded", open);
    if (redraw) {
      this.update(this.step);
      this.drawArcs();
    }
  }

  setAllOpen(open) {
    for (const group of this.groups) this.setOpen(group, open, false);
    this.update(this.step);
    this.drawArcs();
  }

  // Opens the layers around a node.
  reveal(index) {
    const around = [];
    for (let group = this.groupOf[index]; group.parent; group = group.parent) around.unshift(group);
    for (const group of around) if (!group.open) this.setOpen(group, true, false);
    this.update(this.step);
    this.drawArcs();
  }

  // The row that shows a node: its own, or that of a closed layer around it.
  visibleRow(index) {
    let shown = this.rows[index];
    for (let group = this.groupOf[index]; group.parent; group = group.parent) {
      if (!group.open) shown = group.header;
    }
    return shown;
  }

  update(step) {
    this.step = step;
    for (let index = 0; index < this.rows.length; ++index) this.paint(index);
    for (const group of this.groups) {
      if (group.header === undefined) continue;
      const states = new Set();
      for (let i = group.first; i <= group.last; ++i) states.add(this.pass.stateOf(i, step));
      const classes = group.header.classList;
      classes.toggle("holding", states.has("holding"));
      classes.toggle("released", !states.has("holding") && states.has("released"));
      classes.toggle("future", states.size === 1 && states.has("future"));
      const now = this.pass.at(step);
      classes.toggle("current",
        now !== null && !group.open && now.node >= group.first && now.node <= group.last);
    }
  }

  paint(index) {
    const row = this.rows[index];
    if (row === null) return;
    const state = this.pass.stateOf(index, this.step);
    for (const name of ["holding", "released", "future"]) {
      row.classList.toggle(name, state === name);
    }
    const now = this.pass.at(this.step);
    row.classList.toggle("current", now !== null && now.node === index);
    row.classList.toggle("chosen", index === this.chosen);
  }

  setChosen(index) {
    this.chosen = index;
    this.update(this.step);
    this.drawArcs();
  }

  drawArcs() {
    const graph = byId("graph").getBoundingClientRect();
    const gutter = parseFloat(getComputedStyle(byId("rows")).paddingLeft);
    const height = byId("rows").clientHeight;
    const boxes = new Map();  // read all positions before drawing
    const middle = (row) => {
      if (!boxes.has(row)) {
        const box = row.getBoundingClientRect();
        boxes.set(row, { x: box.left - graph.left, y: box.top - graph.top + box.height / 2 });
      }
      return boxes.get(row);
    };
    const drawn = new Set();
    const paths = [];
    this.pass.nodes.forEach((node, to) => {
      for (const input of node.inputs) {
        if (input.node < 0) continue;
        const from = this.visibleRow(input.node);
        const target = this.visibleRow(to);
        const chosen = this.chosen === to || this.chosen === input.node;
        const a = middle(from);
        const b = middle(target);
        const key = `${a.y} ${b.y}`;
        if (from === target || (drawn.has(key) && !chosen)) continue;
        drawn.add(key);
        const reach = Math.min(gutter - 10, 7 + Math.sqrt(Math.abs(b.y - a.y)) * 2.1);
        const left = gutter - reach;
        paths.push(svg("path", {
          class: chosen ? "chosen" : null,
          d: `M ${a.x - 2} ${a.y} H ${gutter - 2} C ${left} ${a.y} ${left} ${b.y} ${gutter - 2} ${b.y} H ${b.x - 2}`,
        }));
      }
    });
    this.arcs.setAttribute("width", graph.width);
    this.arcs.setAttribute("height", height);
    this.arcs.replaceChildren(...paths);
  }
}

function nodeSummary(pass, index) {
  const node = pass.nodes[index];
  const inputs = node.inputs.map((input) => formatShape(input.shape)).join(", ");
  const lines = [`${index} ${node.op}${node.layer === "" ? "" : ` in ${node.layer}`}`,
    `${inputs} → ${formatShape(node.shape)} ${node.dtype}`,
    `forward ${formatSeconds(node.forwardSeconds)}, backward ${formatSeconds(node.backwardSeconds)}`];
  if (node.gradientNorm !== null) lines.push(`|gradient| ${formatNumber(node.gradientNorm)}`);
  if (node.output) {
    lines.push(`output: mean ${formatNumber(node.output.mean)}, std ${formatNumber(node.output.deviation)}`);
  }
  lines.push(node.savedBytes > 0 ? `saves ${formatBytes(node.savedBytes)}` : "saves nothing");
  return lines.join("\n");
}
