// The network from above: nodes that can be dragged, their ranges, who sends to whom at the playhead.

const NS = "http://www.w3.org/2000/svg";
const MARGIN_M = 130;
const STEP_M = 10;
const COLLISION = "✖ collision";
const STATE_UP = 4.9; // units from a node to what it does
const WORD = 0.05; // of a scene's height: a line of words, however small the scene is drawn
const DENSE = 7; // with more nodes, what each waits for would cover its neighbour
const MOST_STOPS = 15; // nodes that Tab goes through; more of them are one stop
const LEAST_PX = 16.01; // of a label: read from the back of a room
const LEAST_ASPECT = 0.9; // width by height
const STARVED = 0.04; // of a full arrow
const ASIDE = { tcp: 1, voice: 2.6, other: 2.6 }; // of a flow with a look, in units

function make(kind, attributes, parent) {
  const element = document.createElementNS(NS, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent?.append(element);
  return element;
}

export class Scene {
  /**
   * `onMove(node, [x, y])` is told of nodes that a person moves (null: they stay). Nodes without a radio are drawn, as
   * squares, where the demonstration is of the `wired` side. A `low` scene leaves room for a curve. `room`: further places
   * that are to be seen.
   */
  constructor(host, { names, places, radios, gateway, onMove, wired = false, low = false, room = [] }) {
    this.least = low ? 0.2 : 0.42; // height by width
    this.names = names;
    this.wired = wired;
    this.shown = names.map((_, node) => node).filter((node) => wired || radios[node]);
    this.radios = radios;
    this.gateway = gateway;
    this.places = places;
    this.room = room;
    this.onMove = onMove;
    this.selected = 0;
    this.svg = make("svg", { class: "scene", role: "group", "aria-label": onMove ? "The network; nodes can be dragged, or moved by the arrow keys" : "The network" });
    host.prepend(this.svg);
    this.ranges = make("g", {}, this.svg);
    this.cables = make("g", {}, this.svg);
    this.flows = make("g", {}, this.svg);
    this.beams = make("g", {}, this.svg);
    this.nodes = new Map(this.shown.map((node) => [node, this.makeNode(names[node], node)]));
    this.above = make("g", { class: "above" }, this.svg);
    this.scale = make("g", { class: "scale" }, this.svg);
    this.fit();
  }

  /** The part of the plane that is shown: all nodes and some room to drag them. */
  fit() {
    if (!this.shown.length) return;
    const seen = [...this.shown.map((node) => this.places[node]), ...this.room];
    const [xs, ys] = [seen.map(([x]) => x), seen.map(([, y]) => y)];
    const width = Math.max(Math.max(...xs) - Math.min(...xs) + 2 * MARGIN_M, 700);
    const spread = Math.max(width * this.least, Math.max(...ys) - Math.min(...ys) + 2 * MARGIN_M);
    this.flat = spread < 0.6 * width;
    this.unit = width / (this.flat ? 100 : 72); // a square scene is given half of the page's width
    const middle = (Math.min(...ys) + Math.max(...ys)) / 2;
    const top = Math.min(middle - spread / 2, Math.min(...ys) - STATE_UP * this.unit - WORD * spread);
    const height = middle + spread / 2 - top;
    const wide = Math.max(width, LEAST_ASPECT * height); // a tall scene has its scale and the ranges' legend side by side, too
    const left = (Math.min(...xs) + Math.max(...xs) - wide) / 2;
    this.scale.replaceChildren();
    const words = { left: left + Math.min(wide - 40 * this.unit, wide > width ? wide / 2 : wide), top: top + height - Math.max(15 * this.unit, height / 5) }; // the ranges' legend
    const below = this.shown.some((node) => this.places[node][0] > words.left && this.places[node][1] > words.top);
    const deep = height + (below ? Math.max(12 * this.unit, height / 7) : 0);
    this.svg.setAttribute("viewBox", `${left} ${top} ${wide} ${deep}`);
    const [x, y] = [left + 3 * this.unit, top + deep - 2 * this.unit];
    make("path", { d: `M${x} ${y}h100`, "stroke-width": this.unit / 4 }, this.scale);
    const text = make("text", { x: x + 110, y: y + this.unit / 2, "font-size": 2.3 * this.unit }, this.scale);
    text.textContent = "100 m";
    const end = left + wide - 2 * this.unit;
    this.legend = ["decode", "sense"].map((kind, row) => {
      const line = make("path", { class: kind, "stroke-width": this.unit / 4 }, this.scale);
      const text = make("text", { x: end, "text-anchor": "end" }, this.scale);
      return { line, text, end, low: y, up: 1 - row };
    });
  }

  makeNode(name, node) {
    const small = name ? "" : " relay";
    const group = make("g", { class: `node${small}`, tabindex: 0, role: "button", "data-node": node }, this.svg);
    make("circle", { class: "halo" }, group);
    make(this.radios[node] ? "circle" : "rect", { class: "body" }, group);
    make("text", { "text-anchor": "middle", "dominant-baseline": "central" }, group).textContent = name;
    make("text", { class: "state", "text-anchor": "middle" }, group);
    group.addEventListener("pointerdown", (event) => this.drag(event, node));
    group.addEventListener("focus", () => { this.selected = node; this.draw(); });
    group.addEventListener("keydown", (event) => {
      const along = { PageUp: -1, PageDown: 1 }[event.key];
      if (along && this.crowded) {
        event.preventDefault();
        this.nodes.get(this.shown[this.shown.indexOf(node) + along])?.focus();
      }
      const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
      if (!dx && !dy) return;
      event.preventDefault();
      event.stopPropagation();
      this.place(node, [this.places[node][0] + dx * STEP_M, this.places[node][1] + dy * STEP_M]);
    });
    return group;
  }

  drag(event, node) {
    event.preventDefault();
    const group = this.nodes.get(node);
    group.focus();
    if (!this.onMove) return;
    group.setPointerCapture(event.pointerId);
    this.dragged = true;
    const move = (at) => {
      const point = new DOMPoint(at.clientX, at.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
      this.place(node, [Math.round(point.x / STEP_M) * STEP_M, Math.round(point.y / STEP_M) * STEP_M]);
    };
    const end = () => {
      this.dragged = false;
      this.draw();
      group.removeEventListener("pointermove", move);
      group.removeEventListener("pointerup", end);
      group.removeEventListener("pointercancel", end);
    };
    group.addEventListener("pointermove", move);
    group.addEventListener("pointerup", end);
    group.addEventListener("pointercancel", end);
  }

  place(node, place) {
    if (!this.onMove || (place[0] === this.places[node][0] && place[1] === this.places[node][1])) return;
    this.onMove(node, place);
  }

  /**
   * What stays between two runs: places, ranges of the selected node, flows. With `full`, a goodput in bit/s, the arrow
   * of a flow is as wide as its share of it, and broken where it starves. A flow with a `look` is drawn in it, beside the
   * line between its ends, so that both directions show. `cables`: [{ ends: [a, b], look }].
   */
  show({ places, flows, ranges, full, cables = [] }) {
    Object.assign(this, { places, flowList: flows, ranges_m: ranges, full, cableList: cables });
    this.draw();
  }

  get crowded() { return this.shown.length > MOST_STOPS; }

  nameOf(node) { return this.names[node] || `relay ${node}`; }

  /** Whether a node has been moved out of the picture. */
  get lost() {
    const { x, y, width, height } = this.svg.viewBox.baseVal;
    return this.shown.map((node) => this.places[node]).some(([at, deep]) => at < x || at > x + width || deep < y || deep > y + height);
  }

  draw() {
    if (!this.flowList) return;
    if (!this.dragged && this.lost) this.fit(); // under the pointer the picture stands still
    this.pxPerM = this.svg.getScreenCTM()?.a || Infinity; // asked once: it lays the page out
    const { unit } = this;
    const stop = this.nodes.has(this.selected) ? this.selected : this.shown[0];
    for (const [node, group] of this.nodes) {
      const [x, y] = this.places[node];
      const size = this.names[node] ? 1 : 0.55;
      group.classList.toggle("selected", node === this.selected);
      group.setAttribute("transform", `translate(${x} ${y})`);
      const how = (this.onMove ? "; arrow keys move it" : "") + (this.crowded ? "; Page Up and Page Down go to another" : "");
      group.setAttribute("tabindex", this.crowded && node !== stop ? -1 : 0);
      group.setAttribute("aria-label", `Node ${this.nameOf(node)} at ${Math.round(x)} m, ${Math.round(y)} m${how}`);
      group.querySelector(".halo").setAttribute("r", (1.8 + 2.6 * size) * unit);
      const body = group.querySelector(".body");
      if (body.tagName === "rect") for (const [name, value] of [["x", -2.6], ["y", -2.6], ["width", 5.2], ["height", 5.2]]) body.setAttribute(name, value * size * unit);
      else body.setAttribute("r", 2.6 * size * unit);
      group.querySelector(".state").setAttribute("font-size", this.letters(2.3));
      group.querySelector(".state").setAttribute("y", -STATE_UP * unit);
    }
    this.placeNames();
    const [x, y] = this.places[this.selected] ?? [0, 0];
    this.ranges.replaceChildren();
    const { sense_m: sense, decode_m: decode } = this.ranges_m;
    for (const text of this.scale.querySelectorAll("text")) text.setAttribute("font-size", this.letters(2.3));
    for (const [row, words] of [`decoded within ${decode} m`, `sensed within ${sense} m`].entries()) {
      const { line, text, end, low, up } = this.legend?.[row] ?? {};
      if (!text) break;
      const height = low - up * Math.max(3.2 * unit, 1.15 * this.letters(2.3));
      text.textContent = words;
      text.setAttribute("y", height + unit / 2);
      line.setAttribute("d", `M${end - widthOf(words, "") * this.letters(2.3) - 6 * unit} ${height}h${5 * unit}`);
    }
    make("circle", { class: "sense", cx: x, cy: y, r: sense, "stroke-width": unit / 4 }, this.ranges);
    make("circle", { class: "decode", cx: x, cy: y, r: decode, "stroke-width": unit / 4 }, this.ranges);
    this.cables.replaceChildren();
    for (const { ends: [a, b], look } of this.cableList) {
      const [x1, y1, x2, y2] = [...this.places[a], ...this.places[b]];
      make("path", { class: `cable ${look}`, d: `M${x1} ${y1}L${x2} ${y2}`, "stroke-width": unit / 3 }, this.cables);
      if (look === "down") make("text", { class: "cable", x: (x1 + x2) / 2, y: (y1 + y2) / 2, "font-size": this.letters(2.4), "text-anchor": "middle" }, this.cables).textContent = "✖ down";
    }
    this.flows.replaceChildren();
    const arrows = new Map(); // flows between the same radios are one
    for (const { src, dst, goodput_bps: bps, look } of this.flowList) {
      const ends = [this.end(src), this.end(dst)];
      const which = `${ends} ${look}`;
      arrows.set(which, { ends, look, bps: bps + (arrows.get(which)?.bps ?? 0) });
    }
    [...arrows.values()].forEach(({ ends, bps, look }, index) => {
      if (!this.full) return this.arrow(this.flows, ...ends, "flow");
      const share = Math.min(1, bps / this.full);
      if (look) return this.arrow(this.flows, ...ends, `flow carried ${look}`, unit * (0.3 + 1.5 * share), (ASIDE[look] ?? 1) * unit);
      this.arrow(this.flows, ...ends, `flow carried flow${index % 4}${share < STARVED ? " starved" : ""}`, unit * (0.5 + 3 * share));
    });
  }

  /** A name that has no room within its node stands below; one that would cover others is left to who selects its node. */
  placeNames() {
    const { unit } = this;
    const [font, radius] = [this.letters(3), 2.6 * unit];
    const ends = this.flowList.flatMap(({ src, dst }) => [src, dst]);
    const order = new Set([this.selected, ...ends, ...this.shown].filter((node) => this.nodes.has(node)));
    const taken = this.shown.map((node) => box(this.places[node], radius, radius));
    const free = (one, node) => taken.every((other, at) => this.shown[at] === node || !meet(one, other));
    const room = widthOf(COLLISION) * this.letters(2.3);
    this.narrow = this.shown.some((node) => this.shown.some((other) => {
      const [dx, dy] = [0, 1].map((axis) => Math.abs(this.places[node][axis] - this.places[other][axis]));
      return node !== other && dx < room && dy < this.letters(2.3); // side by side: the words would cover the neighbour's
    }));
    for (const node of order) {
      const [x, y] = this.places[node];
      const [text, state] = this.nodes.get(node).querySelectorAll("text");
      const half = (widthOf(this.names[node]) * font) / 2;
      const within = half < 0.9 * radius;
      const below = box([x, y + radius + 0.7 * font], half + 0.15 * font, font / 2); // a space between two names
      const shown = within || node === this.selected || free(below, node);
      if (shown && !within) taken.push(below);
      text.setAttribute("font-size", font);
      text.setAttribute("y", within ? 0 : radius + 0.7 * font);
      text.classList.toggle("outside", !within);
      text.classList.toggle("covered", !shown);
      text.setAttribute("visibility", "visible");
      if (node === this.selected) this.nameAbove(text, !within);
      state.classList.toggle("covered", !free(box([x, y - STATE_UP * unit - font / 2], font, font / 2), node));
    }
  }

  /** A selected node's neighbours may be drawn after it: a name that is outside of it is drawn above them. */
  nameAbove(text, outside) {
    this.above.replaceChildren();
    if (!outside) return;
    const name = text.cloneNode(true);
    name.setAttribute("transform", text.parentNode.getAttribute("transform"));
    this.above.append(name);
    text.setAttribute("visibility", "hidden");
  }

  /** A font's size in metres: so many units, and never under 16 pixels of the page. */
  letters(units) { return Math.max(units * this.unit, LEAST_PX / this.pxPerM); }

  /** A wired end is drawn at the gateway. */
  end(node) { return this.radios[node] || this.wired ? node : this.gateway; }

  /** `aside`: metres to the right of the line between the two. */
  arrow(parent, src, dst, kind, width = this.unit / 2.5, aside = 0) {
    const [x1, y1] = this.places[src];
    const [x2, y2] = this.places[dst];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const r = 3 * this.unit;
    const [ox, oy] = [-uy * aside, ux * aside];
    const [ax, ay, bx, by] = [x1 + ux * r + ox, y1 + uy * r + oy, x2 - ux * r + ox, y2 - uy * r + oy];
    const h = 1.6 * this.unit + width / 2;
    const head = `M${bx - ux * h - uy * h * 0.6} ${by - uy * h + ux * h * 0.6}L${bx} ${by}L${bx - ux * h + uy * h * 0.6} ${by - uy * h - ux * h * 0.6}`;
    make("path", { class: kind, d: `M${ax} ${ay}L${bx} ${by}${head}`, "stroke-width": width }, parent);
  }

  /** What is on the air at `at`, ns. */
  play(log, at) {
    this.beams.replaceChildren();
    const state = this.names.map(() => ["", ""]);
    for (const hold of log.holds) if (hold.start <= at && at < hold.end) state[hold.node] = ["hold", hold.kind];
    for (const back of log.backoffs) if (back.start <= at && at < back.end && !state[back.node][0]) state[back.node] = ["backoff", "backoff"];
    for (const frame of log.frames) {
      if (frame.start > at || at >= frame.end) continue;
      state[frame.node] = [`send ${frame.kind}`, frame.kind];
      if (frame.peer !== null) this.arrow(this.beams, frame.node, frame.peer, `beam ${frame.kind}`);
    }
    const brief = this.shown.length > DENSE;
    const mishap = brief || this.narrow ? "✖" : COLLISION;
    for (const hit of log.collisions) if (hit.start <= at && at < hit.end) state[hit.node] = ["collision", mishap];
    for (const [node, group] of this.nodes) {
      const [kind, text] = state[node];
      group.setAttribute("class", `node ${kind}${this.names[node] ? "" : " relay"}${node === this.selected ? " selected" : ""}`);
      group.querySelector(".state").textContent = (brief && kind === "hold") || ((brief || this.narrow) && kind === "backoff") ? "" : text;
    }
  }
}

const box = ([x, y], across, down) => [x - across, y - down, x + across, y + down];
const meet = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

const ink = document.createElement("canvas").getContext("2d");
const widths = new Map();
/** Of words, in sizes of their font. Measured once: to ask the page would lay it out. */
function widthOf(words, weight = "bold") {
  const which = weight + words;
  if (!widths.has(which)) {
    ink.font = `${weight} 100px system-ui, sans-serif`;
    widths.set(which, ink.measureText(words).width / 100);
  }
  return widths.get(which);
}
