"use strict";
// The slider over the steps of the pass, and the memory curve above it.

class Timeline {
  constructor(pass, onStep) {
    this.pass = pass;
    this.onStep = onStep;
    this.timer = null;
    byId("step").max = pass.steps;
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.draw()));
    this.observer.observe(byId("memory"));
    this.go(pass.forwardSteps);
  }

  stop() {
    this.observer.disconnect();
    this.play(false);
  }

  draw() {
    const { pass } = this;
    const width = Math.max(240, byId("memory").clientWidth);
    const height = width < 600 ? 74 : 110;
    const base = height - 16;
    const most = Math.max(pass.bytesBefore, ...pass.memory.map((point) => point.peak));
    this.toX = (step) => step / pass.steps * width;
    const least = pass.bytesBefore - 0.08 * (most - pass.bytesBefore || most);
    const toY = (bytes) => base - (bytes - least) / (most - least) * (base - 12);
    const line = (values) => values.map((bytes, step) =>
      `${this.toX(step).toFixed(1)},${toY(bytes).toFixed(1)}`).join(" ");
    const inUse = [pass.bytesBefore, ...pass.memory.map((point) => point.bytes)];
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "Memory over the pass" });
    const middle = this.toX(pass.forwardSteps);
    const peaks = pass.memory.map((point, i) => svg("line", {
      x1: this.toX(i + 1), x2: this.toX(i + 1), y1: toY(point.peak), y2: toY(point.bytes),
      stroke: "var(--pink)", "stroke-width": 1,
    }));
    const saved = pass.heldBytes.map((bytes) => pass.bytesBefore + bytes);
    this.cursor = svg("line", { y1: 0, y2: base, stroke: "var(--ink)", "stroke-width": 1.5 });
    picture.append(
      svg("polygon", { points: `0,${base} ${line(inUse)} ${width},${base}`, fill: "var(--blue)", opacity: 0.16 }),
      svg("polyline", { points: line(inUse), fill: "none", stroke: "var(--blue)", "stroke-width": 1.6 }),
      ...peaks,
      svg("polyline", { points: line(saved), fill: "none", stroke: "var(--orange)", "stroke-width": 1.6, "stroke-dasharray": "4 3" }),
      svg("line", { class: "grid", x1: 0, x2: width, y1: toY(pass.bytesBefore), y2: toY(pass.bytesBefore) }),
      svg("line", { class: "grid", x1: middle, x2: middle, y1: 0, y2: base }),
      svg("text", { x: 4, y: 11 }, `peak ${formatBytes(most)}`),
      svg("text", { x: 0, y: height - 2 }, "forward →"),
      svg("text", { x: middle + 4, y: height - 2 }, "backward →"),
      svg("text", { x: width, y: height - 2, "text-anchor": "end" },
        width < 600 ? "" : "in use (blue), saved by the tape (orange), peak of a step (pink)"),
      this.cursor);
    const stepAt = (event) => {
      const box = picture.getBoundingClientRect();
      return Math.round((event.clientX - box.left) / box.width * pass.steps);
    };
    picture.addEventListener("click", (event) => this.go(stepAt(event)));
    picture.addEventListener("mousemove", (event) => {
      const step = Math.min(Math.max(stepAt(event), 0), pass.steps);
      showTip(`step ${step}: ${formatBytes(inUse[step])} in use`, event.clientX, event.clientY);
    });
    picture.addEventListener("mouseleave", hideTip);
    byId("memory").replaceChildren(picture);
    this.moveCursor();
  }

  moveCursor() {
    if (!this.cursor) return;
    this.cursor.setAttribute("x1", this.toX(this.step));
    this.cursor.setAttribute("x2", this.toX(this.step));
  }

  go(step) {
    this.step = Math.min(Math.max(step, 0), this.pass.steps);
    byId("step").value = this.step;
    this.moveCursor();
    this.describe();
    this.onStep(this.step);
  }

  play(on) {
    clearInterval(this.timer);
    this.timer = null;
    byId("play").textContent = on ? "Pause" : "Play";
    byId("play").setAttribute("aria-pressed", on);
    if (!on) return;
    if (this.step === this.pass.steps) this.go(0);
    const pause = Math.max(30, Math.min(400, 20000 / this.pass.steps));
    this.timer = setInterval(() => {
      this.go(this.step + 1);
      if (this.step === this.pass.steps) this.play(false);
    }, pause);
  }

  describe() {
    const { pass, step } = this;
    const point = pass.at(step);
    const now = byId("now");
    if (point === null) {
      now.replaceChildren(`Before the pass: ${formatBytes(pass.bytesBefore)} in use, parameters among them.`);
      return;
    }
    const node = pass.nodes[point.node];
    const where = node.layer === "" ? "" : ` in ${node.layer}`;
    const title = h("strong", {}, `${point.backward ? "backward" : "forward"} ${node.op}`);
    let does;
    if (!point.backward) {
      const kept = node.saved.filter((tensor) => !tensor.lasting);
      does = kept.length === 0 ? "Saves nothing." : `Saves ${kept.map(describeSaved).join("; ")}.`;
    } else {
      const freed = pass.freedBy(step);
      does = `Gradient norm ${formatNumber(node.gradientNorm)}. `;
      if (freed.length > 0) {
        does += `Frees ${freed.map((t) => `${t.what} ${formatShape(t.shape)}`).join(", ")}.`;
      } else {
        does += node.savedBytes > 0 ? "Frees nothing: earlier nodes still hold what it saved."
          : "It had saved nothing.";
      }
    }
    now.replaceChildren(`Step ${step} of ${pass.steps}, `, title,
      `${where} (node ${point.node}). ${formatBytes(point.bytes)} in use. ${does}`);
  }
}
