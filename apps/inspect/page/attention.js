"use strict";
// Attention probabilities: a square for each head, and the text with the weights of one token.

class AttentionView {
  constructor(maps, tokens) {
    this.maps = maps.map((map) => ({ ...map, values: decodeBytes(map.probabilities) }));
    this.tokens = tokens;
    this.head = 0;
    this.query = null;
    byId("attention").hidden = this.maps.length === 0;
    if (this.maps.length === 0) return;
    const select = byId("attention-layer");
    select.replaceChildren(...this.maps.map((map, i) => h("option", { value: i }, map.layer || "attention")));
    select.onchange = () => this.show(Number(select.value));
    onThemeChange.push(() => this.show(this.shown));
    this.show(0);
  }

  show(index) {
    this.shown = index;
    this.map = this.maps[index];
    this.query = this.query ?? this.map.tokens - 1;
    const words = [];
    for (let t = 0; t < this.map.tokens; ++t) {
      const word = this.word(t);
      words.push(h("button", {
        type: "button", "data-token": t, onclick: () => this.setQuery(t),
      }, word));
    }
    byId("tokens").replaceChildren(...words);
    const heads = [];
    for (let head = 0; head < this.map.heads; ++head) heads.push(this.headFigure(head));
    byId("heads").replaceChildren(...heads);
    this.setQuery(this.query);
  }

  word(t) {
    const text = this.tokens[t];
    return text === undefined ? String(t) : text.replace(/\n/g, "⏎").replace(/\t/g, "⇥") || "·";
  }

  // How much head `head` attends from token t to token s, from 0 to 1.
  probability(head, t, s) {
    const triangle = this.map.tokens * (this.map.tokens + 1) / 2;
    return this.map.values[head * triangle + t * (t + 1) / 2 + s] / 255;
  }

  headFigure(head) {
    const size = this.map.tokens;
    const canvas = h("canvas", { width: size, height: size });
    const context = canvas.getContext("2d");
    const image = context.createImageData(size, size);
    const [red, green, blue] = isDark() ? [92, 184, 240] : [0, 104, 168];
    for (let t = 0; t < size; ++t) {
      for (let s = 0; s <= t; ++s) {
        const place = 4 * (t * size + s);
        image.data[place] = red;
        image.data[place + 1] = green;
        image.data[place + 2] = blue;
        image.data[place + 3] = 12 + 243 * Math.sqrt(this.probability(head, t, s));
      }
    }
    context.putImageData(image, 0, 0);
    const button = h("button", { type: "button", "data-head": head, "aria-label": `Head ${head}`,
      onclick: () => this.setHead(head) }, canvas);
    canvas.addEventListener("mousemove", (event) => {
      const box = canvas.getBoundingClientRect();
      const t = Math.min(size - 1, Math.floor((event.clientY - box.top) / box.height * size));
      const s = Math.min(size - 1, Math.floor((event.clientX - box.left) / box.width * size));
      const what = s > t ? "later tokens are masked"
        : `“${this.word(t)}” (${t}) looks at “${this.word(s)}” (${s}): ${(100 * this.probability(head, t, s)).toFixed(0)} %`;
      showTip(`head ${head}\n${what}`, event.clientX, event.clientY);
    });
    canvas.addEventListener("mouseleave", hideTip);
    return h("figure", {}, h("figcaption", { class: "small quiet" }, `head ${head}`), button);
  }

  setHead(head) {
    this.head = head;
    this.setQuery(this.query);
  }

  setQuery(t) {
    this.query = Math.min(t, this.map.tokens - 1);
    for (const button of byId("heads").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", Number(button.dataset.head) === this.head);
    }
    for (const button of byId("tokens").querySelectorAll("button")) {
      const s = Number(button.dataset.token);
      const weight = s <= this.query ? this.probability(this.head, this.query, s) : 0;
      button.setAttribute("aria-pressed", s === this.query);
      const share = Math.round(85 * Math.sqrt(weight));
      button.style.background = `color-mix(in srgb, var(--blue) ${share}%, var(--panel))`;
      button.style.opacity = s <= this.query ? 1 : 0.4;
      button.title = s <= this.query ? `${(100 * weight).toFixed(0)} %` : "masked";
    }
  }
}

function decodeBytes(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
