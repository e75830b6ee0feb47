"use strict";
// What the page knows of the pass: the nodes, which of them hold what at each step, the layers.

// `pass` is an inspection as the program wrote it.
class Pass {
  constructor(pass) {
    Object.assign(this, pass);
    this.forwardSteps = this.memory.filter((point) => !point.backward).length;
    this.steps = this.memory.length;
    this.mostSaved = Math.max(1, ...this.nodes.map((node) => node.savedBytes));
    this.root = layerTree(this.nodes);
    this.heldBytes = this.heldAfterEachStep();
  }

  // The node that step `step` (from 1) runs, forward or backward.
  at(step) {
    return step === 0 ? null : this.memory[step - 1];
  }

  // "future", "done", "holding" or "released". Walking backwards passes over nodes without a
  // gradient too, and takes them off the tape.
  stateOf(index, step) {
    if (step <= this.forwardSteps) {
      if (index >= step) return "future";
    } else if (index >= this.memory[step - 1].node) {
      return this.nodes[index].savedBytes > 0 ? "released" : "done";
    }
    return this.nodes[index].savedBytes > 0 ? "holding" : "done";
  }

  // The storages that some node holds after a step: a map to their bytes.
  heldStorages(step) {
    const held = new Map();
    this.nodes.forEach((node, index) => {
      if (this.stateOf(index, step) !== "holding") return;
      for (const tensor of node.saved) {
        if (!tensor.lasting) held.set(tensor.storage, tensor.bytes);
      }
    });
    return held;
  }

  // Their bytes after every step, from the first node that needs each storage to the last that
  // lets go of it, which is the one recorded first.
  heldAfterEachStep() {
    const first = new Map();
    this.nodes.forEach((node, index) => {
      for (const tensor of node.saved) {
        if (!tensor.lasting && !first.has(tensor.storage)) {
          first.set(tensor.storage, { index, bytes: tensor.bytes });
        }
      }
    });
    const change = new Array(this.steps + 2).fill(0);
    const backwardStep = new Array(this.nodes.length + 1).fill(this.steps + 1);
    this.memory.forEach((point, i) => {
      if (point.backward) backwardStep[point.node] = i + 1;
    });
    for (let i = this.nodes.length - 1; i >= 0; --i) {
      // A node without a gradient goes with the next one before it that has one.
      if (backwardStep[i] > this.steps) {
        let earlier = i - 1;
        while (earlier >= 0 && backwardStep[earlier] > this.steps) --earlier;
        if (earlier >= 0) backwardStep[i] = backwardStep[earlier];
      }
    }
    for (const { index, bytes } of first.values()) {
      change[index + 1] += bytes;
      change[Math.min(backwardStep[index], this.steps + 1)] -= bytes;
    }
    let held = 0;
    return change.slice(0, this.steps + 1).map((bytes) => held += bytes);
  }

  // What a step frees: the saved tensors that nobody holds any more after it.
  freedBy(step) {
    const node = this.nodes[this.at(step).node];
    const still = this.heldStorages(step);
    return node.saved.filter((tensor) => !tensor.lasting && !still.has(tensor.storage));
  }
}

// "layers.0.attn.q_proj" as ["layers.0", "attn", "q_proj"]: numbers belong to their list.
function pathParts(path) {
  const parts = [];
  for (const part of path === "" ? [] : path.split(".")) {
    if (/^\d+$/.test(part) && parts.length > 0) parts[parts.length - 1] += `.${part}`;
    else parts.push(part);
  }
  return parts;
}

// The nodes in tape order, in groups by layer: {label, path, items: [index or group], first, last}.
function layerTree(nodes) {
  const root = { label: "", path: "", depth: 0, items: [], first: 0, last: nodes.length - 1 };
  const open = [root];
  nodes.forEach((node, index) => {
    const parts = pathParts(node.layer);
    let depth = 0;
    while (depth < parts.length && open[depth + 1] && open[depth + 1].label === parts[depth]) ++depth;
    open.length = depth + 1;
    for (; depth < parts.length; ++depth) {
      const parent = open[depth];
      const group = {
        label: parts[depth], parent, items: [], first: index, depth: depth + 1,
        path: parent.path === "" ? parts[depth] : `${parent.path}.${parts[depth]}`,
      };
      parent.items.push(group);
      open.push(group);
    }
    open[depth].items.push(index);
    for (const group of open) group.last = index;
  });
  return root;
}

function describeSaved(tensor) {
  const name = tensor.lasting ? `${tensor.what} (there in any case)` : tensor.what;
  return `${name} ${formatShape(tensor.shape)}, ${formatBytes(tensor.bytes)}: ${tensor.why}`;
}
