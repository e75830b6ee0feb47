"use strict";
// Charts drawn as SVG at the width of their container.

// About `count` round numbers that cover [low, high].
function axisTicks(low, high, count) {
  // Values that differ in nothing but rounding leave no room for steps.
  const span = Math.max(high - low, Math.max(Math.abs(low), Math.abs(high)) * 1e-9) || 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step = power * [1, 2, 5, 10].find((factor) => span / (power * factor) <= count);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) {
    ticks.push(Number(tick.toPrecision(12)));
  }
  return ticks;
}

function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [0, 1] : [low, high];
}

// series: [{name, colour, points: [[x, y], ...], markers, dashed, faint}]
// options: {title, xLabel, formatX, formatY, logY, height}
class LineChart {
  constructor(container, options) {
    this.container = container;
    this.options = options;
    this.series = [];
    new ResizeObserver(() => requestAnimationFrame(() => this.draw())).observe(container);
  }

  show(series, options = {}) {
    this.series = series.filter((one) => one.points.length > 0);
    Object.assign(this.options, options);
    this.draw();
  }

  draw() {
    const { height = 260, logY = false } = this.options;
    const width = Math.max(260, this.container.clientWidth);
    const box = { left: 58, right: 14, top: 10, bottom: 40 };
    const points = this.series.flatMap((one) => one.points);
    const scaleY = logY ? (y) => Math.log10(Math.max(y, 1e-12)) : (y) => y;
    const [x0, x1] = extent(points.map((point) => point[0]));
    let [y0, y1] = extent(points.map((point) => scaleY(point[1])));
    const margin = (y1 - y0 || Math.abs(y0) || 1) * 0.05;
    y0 -= margin;
    y1 += margin;
    this.toX = (x) => box.left + (x - x0) / (x1 - x0 || 1) * (width - box.left - box.right);
    this.toY = (y) => height - box.bottom
      - (scaleY(y) - y0) / (y1 - y0) * (height - box.top - box.bottom);

    const picture = svg("svg", {
      width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": this.options.title,
    });
    this.drawAxes(picture, { width, height, box, x0, x1, y0, y1, logY });
    for (const one of this.series) this.drawSeries(picture, one);
    const cursor = svg("line", { class: "grid", y1: box.top, y2: height - box.bottom, x1: -9, x2: -9 });
    picture.append(cursor);
    picture.addEventListener("mousemove", (event) => this.hover(event, picture, cursor));
    picture.addEventListener("mouseleave", () => {
      hideTip();
      cursor.setAttribute("x1", -9);
      cursor.setAttribute("x2", -9);
    });
    this.container.replaceChildren(picture);
  }

  drawAxes(picture, { width, height, box, x0, x1, y0, y1, logY }) {
    const { formatX = formatNumber, formatY = formatNumber, xLabel = "" } = this.options;
    for (const tick of axisTicks(x0, x1, width < 500 ? 4 : 8)) {
      const x = this.toX(tick);
      picture.append(
        svg("line", { class: "grid", x1: x, x2: x, y1: box.top, y2: height - box.bottom }),
        svg("text", { x, y: height - box.bottom + 16, "text-anchor": "middle" }, formatX(tick)));
    }
    for (const tick of axisTicks(y0, y1, 5)) {
      const value = logY ? 10 ** tick : tick;
      const y = this.toY(value);
      picture.append(
        svg("line", { class: "grid", x1: box.left, x2: width - box.right, y1: y, y2: y }),
        svg("text", { x: box.left - 6, y: y + 4, "text-anchor": "end" }, formatY(value)));
    }
    picture.append(svg("text", {
      x: (box.left + width - box.right) / 2, y: height - 6, "text-anchor": "middle",
    }, xLabel));
  }

  drawSeries(picture, one) {
    const path = one.points.map(([x, y]) => `${this.toX(x).toFixed(1)},${this.toY(y).toFixed(1)}`);
    picture.append(svg("polyline", {
      points: path.join(" "), fill: "none", stroke: one.colour,
      "stroke-width": one.markers ? 2.2 : 1.6, "stroke-linejoin": "round",
      "stroke-dasharray": one.dashed ? "5 4" : null, opacity: one.faint ? 0.35 : 1,
    }));
    if (!one.markers) return;
    for (const [x, y] of one.points) {
      picture.append(svg("circle", { cx: this.toX(x), cy: this.toY(y), r: 3.2, fill: one.colour }));
    }
  }

  // Says what every curve has at the point nearest to the pointer.
  hover(event, picture, cursor) {
    const at = event.clientX - picture.getBoundingClientRect().left;
    const { formatX = formatNumber, formatY = formatNumber, xLabel = "" } = this.options;
    let nearest = null;
    for (const one of this.series) {
      for (const [x] of one.points) {
        if (nearest === null || Math.abs(this.toX(x) - at) < Math.abs(this.toX(nearest) - at)) {
          nearest = x;
        }
      }
    }
    if (nearest === null) return;
    const lines = [`${xLabel} ${formatX(nearest)}`];
    for (const one of this.series) {
      const point = one.points.reduce((best, other) =>
        Math.abs(other[0] - nearest) < Math.abs(best[0] - nearest) ? other : best);
      lines.push(`${one.name}: ${formatY(point[1])}`);
    }
    cursor.setAttribute("x1", this.toX(nearest));
    cursor.setAttribute("x2", this.toX(nearest));
    showTip(lines.join("\n"), event.clientX, event.clientY);
  }
}

function legend(series) {
  return h("div", { class: "bar small" }, series.map((one) => h("span", {},
    svg("svg", { width: 24, height: 10 }, svg("line", {
      x1: 1, x2: 21, y1: 6, y2: 6, stroke: one.colour, "stroke-width": 3,
      "stroke-dasharray": one.dashed ? "5 4" : null, opacity: one.faint ? 0.35 : 1,
    })), one.name)));
}

// Bars of a histogram: {count, nonfinite, low, high, mean, deviation, histogram}.
function histogram(title, stats, colour) {
  const width = 220;
  const height = 84;
  const base = height - 16;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img" });
  const most = Math.max(1, ...stats.histogram);
  const step = width / Math.max(1, stats.histogram.length);
  stats.histogram.forEach((count, i) => {
    // The square root lets thin tails be seen.
    const tall = Math.sqrt(count / most) * (base - 4);
    picture.append(svg("rect", {
      x: i * step, y: base - tall, width: step - 0.8, height: tall, fill: colour,
    }));
  });
  if (stats.low < 0 && stats.high > 0) {
    const zero = -stats.low / (stats.high - stats.low) * width;
    picture.append(svg("line", { x1: zero, x2: zero, y1: 0, y2: base, stroke: "var(--quiet)" }));
  }
  picture.append(
    svg("text", { x: 0, y: height - 3 }, formatNumber(stats.low)),
    svg("text", { x: width, y: height - 3, "text-anchor": "end" }, formatNumber(stats.high)));
  const figure = h("figure", { class: "histogram" },
    h("figcaption", { class: "small" }, title),
    picture,
    h("div", { class: "quiet small" },
      `mean ${formatNumber(stats.mean)}, std ${formatNumber(stats.deviation)}`,
      stats.nonfinite > 0 ? `, ${stats.nonfinite} not finite` : ""));
  return withTip(figure, () => `${title}\n${stats.count} values from ${formatNumber(stats.low)} to `
    + `${formatNumber(stats.high)}\nheights are square roots of counts`);
}
