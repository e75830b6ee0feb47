"use strict";
// Helpers of every page. Text always enters the page as text, never as HTML.

const pageErrors = [];
window.addEventListener("error", (event) => pageErrors.push(event.message));

const data = JSON.parse(document.getElementById("data").textContent);

function byId(id) {
  return document.getElementById(id);
}

function append(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// An HTML element, and one of SVG.
function h(tag, attributes, ...children) {
  return append(document.createElement(tag), attributes, children);
}
function svg(tag, attributes, ...children) {
  return append(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// Numbers as people write them.
function formatBytes(bytes) {
  if (Math.abs(bytes) < 1024) return `${Math.round(bytes)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let unit = -1;
  do {
    bytes /= 1024;
    ++unit;
  } while (Math.abs(bytes) >= 1024 && unit + 1 < units.length);
  return `${bytes.toPrecision(3)} ${units[unit]}`;
}
function formatSeconds(seconds) {
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toPrecision(3)} ms`;
  if (seconds < 120) return `${seconds.toPrecision(3)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
function formatCount(count) {
  if (Math.abs(count) < 1000) return String(Math.round(count));
  const units = ["k", "M", "G", "T"];
  let unit = -1;
  do {
    count /= 1000;
    ++unit;
  } while (Math.abs(count) >= 1000 && unit + 1 < units.length);
  return `${count.toPrecision(3)} ${units[unit]}`;
}
function formatNumber(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}
function formatShape(shape) {
  return `[${shape.join(", ")}]`;
}

// A list of names with values.
function chips(pairs) {
  return h("dl", { class: "chips" },
    pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

// One tooltip for the page.
const tip = h("div", { id: "tip", role: "tooltip", hidden: true });
document.body.append(tip);

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - box.width - 8);
  const below = y + 18 + box.height < window.innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below ? y + 18 : Math.max(8, y - box.height - 10)}px`;
}
function hideTip() {
  tip.hidden = true;
}
// `text` is a function, called when the pointer or the focus comes.
function withTip(element, text) {
  element.addEventListener("mousemove", (event) => showTip(text(), event.clientX, event.clientY));
  element.addEventListener("mouseleave", hideTip);
  return element;
}

// Light or dark: as the system says until the button is pressed.
const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");
const onThemeChange = [];
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  for (const redraw of onThemeChange) redraw();
}
function isDark() {
  return document.documentElement.dataset.theme === "dark";
}
setTheme(systemIsDark.matches ? "dark" : "light");
systemIsDark.addEventListener("change", () => setTheme(systemIsDark.matches ? "dark" : "light"));
byId("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));

function typing(event) {
  const tag = event.target.tagName;
  return tag === "SELECT" || tag === "TEXTAREA" || (tag === "INPUT" && event.target.type !== "range");
}

// With #selftest in the address a page drives itself and leaves the outcome in its document.
async function selfTest(checks) {
  if (window.location.hash !== "#selftest") return;
  const failures = [];
  for (const [name, check] of Object.entries(checks)) {
    try {
      if (await check() !== true) failures.push(name);
    } catch (error) {
      failures.push(`${name}: ${error.message}`);
    }
  }
  failures.push(...pageErrors);
  const outcome = failures.length === 0 ? `passed ${Object.keys(checks).length} checks`
    : `failed: ${failures.join("; ")}`;
  document.body.append(h("output", { id: "selftest", class: "quiet small" }, outcome));
}
