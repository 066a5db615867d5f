// The network from above: nodes that the user can drag, their ranges, and the transmissions at the playhead.

const NS = "http://www.w3.org/2000/svg";
const MARGIN_M = 130;
const STEP_M = 10;
const COLLISION = "✖ collision";
const STATE_OFFSET = 4.9; // units from a node to its state text
const TEXT_HEIGHT = 0.05; // height of a line of text as a share of the scene's height
const DENSE_NODES = 7; // with more nodes, the state texts would cover neighbours
const MAX_TAB_STOPS = 15; // with more nodes, all nodes together are one stop of the Tab key
const MIN_FONT_PX = 16.01; // so that labels are readable from the back of a room
const MIN_ASPECT = 0.9; // width divided by height
const STARVED_SHARE = 0.04; // of a full arrow; a smaller arrow is drawn broken
const OFFSETS = { tcp: 1, voice: 2.6, other: 2.6 }; // by the flow's class, in units

function makeSvg(kind, attributes, parent) {
  const element = document.createElementNS(NS, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent?.append(element);
  return element;
}

export class Scene {
  /**
   * `onMove(node, [x, y])` is called when the user moves a node; if it is null, the nodes cannot be moved. With
   * `wired`, nodes without a radio are drawn too, as squares. A `low` scene leaves room for a curve below it. The
   * picture includes the positions in `room`, to which nodes will move.
   */
  constructor(host, { names, places, radios, gateway, onMove, wired = false, low = false, room = [] }) {
    this.minAspect = low ? 0.2 : 0.42; // height by width
    this.names = names;
    this.wired = wired;
    this.shown = names.map((_, node) => node).filter((node) => wired || radios[node]);
    this.radios = radios;
    this.gateway = gateway;
    this.places = places;
    this.room = room;
    this.onMove = onMove;
    this.selected = 0;
    this.svg = makeSvg("svg", {
      class: "scene",
      role: "group",
      "aria-label": onMove ? "The network. You can drag nodes, or move them with the arrow keys." : "The network",
    });
    host.prepend(this.svg);
    this.ranges = makeSvg("g", {}, this.svg);
    this.links = makeSvg("g", {}, this.svg);
    this.flows = makeSvg("g", {}, this.svg);
    this.transmissions = makeSvg("g", {}, this.svg);
    this.nodes = new Map(this.shown.map((node) => [node, this.makeNode(names[node], node)]));
    this.above = makeSvg("g", { class: "above" }, this.svg);
    this.scale = makeSvg("g", { class: "scale" }, this.svg);
    this.fit();
  }

  /** Shows the part of the plane with all nodes and some room to drag them. */
  fit() {
    if (!this.shown.length) return;
    const seen = [...this.shown.map((node) => this.places[node]), ...this.room];
    const [xs, ys] = [seen.map(([x]) => x), seen.map(([, y]) => y)];
    const width = Math.max(Math.max(...xs) - Math.min(...xs) + 2 * MARGIN_M, 700);
    const plainHeight = Math.max(width * this.minAspect, Math.max(...ys) - Math.min(...ys) + 2 * MARGIN_M);
    this.flat = plainHeight < 0.6 * width;
    this.unit = width / (this.flat ? 100 : 72); // A square scene gets half of the page's width.
    const middle = (Math.min(...ys) + Math.max(...ys)) / 2;
    const top = Math.min(
      middle - plainHeight / 2,
      Math.min(...ys) - STATE_OFFSET * this.unit - TEXT_HEIGHT * plainHeight,
    );
    const height = middle + plainHeight / 2 - top;
    // so that the scale and the ranges' legend fit side by side in a tall scene
    const totalWidth = Math.max(width, MIN_ASPECT * height);
    const left = (Math.min(...xs) + Math.max(...xs) - totalWidth) / 2;
    this.scale.replaceChildren();
    const legend = {
      left: left + Math.min(totalWidth - 40 * this.unit, totalWidth > width ? totalWidth / 2 : totalWidth),
      top: top + height - Math.max(15 * this.unit, height / 5),
    };
    const covered = this.shown.some((node) => this.places[node][0] > legend.left && this.places[node][1] > legend.top);
    const totalHeight = height + (covered ? Math.max(12 * this.unit, height / 7) : 0);
    this.svg.setAttribute("viewBox", `${left} ${top} ${totalWidth} ${totalHeight}`);
    const [x, y] = [left + 3 * this.unit, top + totalHeight - 2 * this.unit];
    makeSvg("path", { d: `M${x} ${y}h100`, "stroke-width": this.unit / 4 }, this.scale);
    const text = makeSvg("text", { x: x + 110, y: y + this.unit / 2, "font-size": 2.3 * this.unit }, this.scale);
    text.textContent = "100 m";
    const end = left + totalWidth - 2 * this.unit;
    this.legend = ["decode", "sense"].map((kind, row) => {
      const line = makeSvg("path", { class: kind, "stroke-width": this.unit / 4 }, this.scale);
      const text = makeSvg("text", { x: end, "text-anchor": "end" }, this.scale);
      return { line, text, end, low: y, up: 1 - row };
    });
  }

  makeNode(name, node) {
    const small = name ? "" : " relay";
    const group = makeSvg("g", { class: `node${small}`, tabindex: 0, role: "button", "data-node": node }, this.svg);
    makeSvg("circle", { class: "halo" }, group);
    makeSvg(this.radios[node] ? "circle" : "rect", { class: "body" }, group);
    makeSvg("text", { "text-anchor": "middle", "dominant-baseline": "central" }, group).textContent = name;
    makeSvg("text", { class: "state", "text-anchor": "middle" }, group);
    group.addEventListener("pointerdown", (event) => this.drag(event, node));
    group.addEventListener("focus", () => {
      this.selected = node;
      this.draw();
    });
    group.addEventListener("keydown", (event) => {
      const along = { PageUp: -1, PageDown: 1 }[event.key];
      if (along && this.crowded) {
        event.preventDefault();
        this.nodes.get(this.shown[this.shown.indexOf(node) + along])?.focus();
      }
      const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [
        0, 0,
      ];
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
   * Shows what is constant during a run: positions, the ranges of the selected node, flows, and `links` ([{ ends: [a,
   * b], look }]). If `full` is given, as a goodput in bit/s, the width of a flow's arrow shows the flow's share of
   * `full`, and the arrow is broken if the flow starves. A flow with a `look` is drawn in that style, beside the line
   * between its ends, so that both directions are visible.
   */
  show({ places, flows, ranges, full, links = [] }) {
    Object.assign(this, { places, flowList: flows, ranges_m: ranges, full, linkList: links });
    this.draw();
  }

  get crowded() {
    return this.shown.length > MAX_TAB_STOPS;
  }

  nameOf(node) {
    return this.names[node] || `relay ${node}`;
  }

  /** Whether a node is outside of the picture. */
  get hasHiddenNode() {
    const { x, y, width, height } = this.svg.viewBox.baseVal;
    return this.shown
      .map((node) => this.places[node])
      .some(([across, down]) => across < x || across > x + width || down < y || down > y + height);
  }

  draw() {
    if (!this.flowList) return;
    if (!this.dragged && this.hasHiddenNode) this.fit(); // The picture must not move during a drag.
    this.pxPerM = this.svg.getScreenCTM()?.a || Infinity; // Read once, because this call forces a layout of the page.
    const { unit } = this;
    const stop = this.nodes.has(this.selected) ? this.selected : this.shown[0];
    for (const [node, group] of this.nodes) {
      const [x, y] = this.places[node];
      const size = this.names[node] ? 1 : 0.55;
      group.classList.toggle("selected", node === this.selected);
      group.setAttribute("transform", `translate(${x} ${y})`);
      const keys =
        (this.onMove ? ". The arrow keys move it" : "") +
        (this.crowded ? ". Page Up and Page Down select another node" : "");
      group.setAttribute("tabindex", this.crowded && node !== stop ? -1 : 0);
      group.setAttribute("aria-label", `Node ${this.nameOf(node)} at ${Math.round(x)} m, ${Math.round(y)} m${keys}`);
      group.querySelector(".halo").setAttribute("r", (1.8 + 2.6 * size) * unit);
      const body = group.querySelector(".body");
      if (body.tagName === "rect")
        for (const [name, value] of [
          ["x", -2.6],
          ["y", -2.6],
          ["width", 5.2],
          ["height", 5.2],
        ])
          body.setAttribute(name, value * size * unit);
      else body.setAttribute("r", 2.6 * size * unit);
      group.querySelector(".state").setAttribute("font-size", this.fontSize(2.3));
      group.querySelector(".state").setAttribute("y", -STATE_OFFSET * unit);
    }
    this.placeNames();
    const [x, y] = this.places[this.selected] ?? [0, 0];
    this.ranges.replaceChildren();
    const { sense_m: sense, decode_m: decode } = this.ranges_m;
    for (const text of this.scale.querySelectorAll("text")) text.setAttribute("font-size", this.fontSize(2.3));
    for (const [row, words] of [`decoded within ${decode} m`, `sensed within ${sense} m`].entries()) {
      const { line, text, end, low, up } = this.legend?.[row] ?? {};
      if (!text) break;
      const height = low - up * Math.max(3.2 * unit, 1.15 * this.fontSize(2.3));
      text.textContent = words;
      text.setAttribute("y", height + unit / 2);
      line.setAttribute("d", `M${end - textWidth(words, "") * this.fontSize(2.3) - 6 * unit} ${height}h${5 * unit}`);
    }
    if (this.radios[this.selected]) {
      makeSvg("circle", { class: "sense", cx: x, cy: y, r: sense, "stroke-width": unit / 4 }, this.ranges);
      makeSvg("circle", { class: "decode", cx: x, cy: y, r: decode, "stroke-width": unit / 4 }, this.ranges);
    }
    this.links.replaceChildren();
    for (const {
      ends: [a, b],
      look,
    } of this.linkList) {
      const [x1, y1, x2, y2] = [...this.places[a], ...this.places[b]];
      makeSvg("path", { class: `cable ${look}`, d: `M${x1} ${y1}L${x2} ${y2}`, "stroke-width": unit / 3 }, this.links);
      if (look === "down")
        makeSvg(
          "text",
          {
            class: "cable",
            x: (x1 + x2) / 2,
            y: (y1 + y2) / 2,
            "font-size": this.fontSize(2.4),
            "text-anchor": "middle",
          },
          this.links,
        ).textContent = "✖ down";
    }
    this.flows.replaceChildren();
    const arrows = new Map(); // Flows between the same two radios share an arrow.
    for (const { src, dst, goodput_bps: bps, look } of this.flowList) {
      const ends = [this.drawnNode(src), this.drawnNode(dst)];
      const key = `${ends} ${look}`;
      arrows.set(key, { ends, look, bps: bps + (arrows.get(key)?.bps ?? 0) });
    }
    for (const [index, { ends, bps, look }] of [...arrows.values()].entries()) {
      const share = this.full ? Math.min(1, bps / this.full) : 0;
      const starved = share < STARVED_SHARE ? " starved" : "";
      if (!this.full) this.arrow(this.flows, ...ends, "flow");
      else if (look) {
        const offset = (OFFSETS[look] ?? 1) * unit;
        this.arrow(this.flows, ...ends, `flow carried ${look}`, unit * (0.3 + 1.5 * share), offset);
      } else this.arrow(this.flows, ...ends, `flow carried flow${index % 4}${starved}`, unit * (0.5 + 3 * share));
    }
  }

  /**
   * Places the names. A name that does not fit into its node is drawn below it, or only on selection if it would cover
   * others.
   */
  placeNames() {
    const { unit } = this;
    const [font, radius] = [this.fontSize(3), 2.6 * unit];
    const ends = this.flowList.flatMap(({ src, dst }) => [src, dst]);
    const order = new Set([this.selected, ...ends, ...this.shown].filter((node) => this.nodes.has(node)));
    const taken = this.shown.map((node) => rectangle(this.places[node], radius, radius));
    const free = (one, node) => taken.every((other, at) => this.shown[at] === node || !overlap(one, other));
    const room = textWidth(COLLISION) * this.fontSize(2.3);
    this.narrow = this.shown.some((node) =>
      this.shown.some((other) => {
        const [dx, dy] = [0, 1].map((axis) => Math.abs(this.places[node][axis] - this.places[other][axis]));
        // The state texts of these neighbours would overlap.
        return node !== other && dx < room && dy < this.fontSize(2.3);
      }),
    );
    for (const node of order) {
      const [x, y] = this.places[node];
      const [text, state] = this.nodes.get(node).querySelectorAll("text");
      const half = (textWidth(this.names[node]) * font) / 2;
      const within = half < 0.9 * radius;
      // with a space between two names
      const below = rectangle([x, y + radius + 0.7 * font], half + 0.15 * font, font / 2);
      const shown = within || node === this.selected || free(below, node);
      if (shown && !within) taken.push(below);
      text.setAttribute("font-size", font);
      text.setAttribute("y", within ? 0 : radius + 0.7 * font);
      text.classList.toggle("outside", !within);
      text.classList.toggle("covered", !shown);
      text.setAttribute("visibility", "visible");
      if (node === this.selected) this.nameAbove(text, !within);
      state.classList.toggle(
        "covered",
        !free(rectangle([x, y - STATE_OFFSET * unit - font / 2], font, font / 2), node),
      );
    }
  }

  /** Draws the name of the selected node above its neighbours, which may be drawn later than the node. */
  nameAbove(text, outside) {
    this.above.replaceChildren();
    if (!outside) return;
    const name = text.cloneNode(true);
    name.setAttribute("transform", text.parentNode.getAttribute("transform"));
    this.above.append(name);
    text.setAttribute("visibility", "hidden");
  }

  /** A font size in metres: this number of units, but at least 16 pixels of the page. */
  fontSize(units) {
    return Math.max(units * this.unit, MIN_FONT_PX / this.pxPerM);
  }

  /** The node that is drawn for a flow's end: the gateway stands for a wired node. */
  drawnNode(node) {
    return this.radios[node] || this.wired ? node : this.gateway;
  }

  /** Draws an arrow, `offset` metres to the right of the line between the two nodes. */
  arrow(parent, src, dst, kind, width = this.unit / 2.5, offset = 0) {
    const [x1, y1] = this.places[src];
    const [x2, y2] = this.places[dst];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const r = 3 * this.unit;
    const [ox, oy] = [-uy * offset, ux * offset];
    const [ax, ay, bx, by] = [x1 + ux * r + ox, y1 + uy * r + oy, x2 - ux * r + ox, y2 - uy * r + oy];
    const h = 1.6 * this.unit + width / 2;
    const w = 0.6 * h;
    const barb = (side) => `${bx - ux * h - side * uy * w} ${by - uy * h + side * ux * w}`;
    const head = `M${barb(1)}L${bx} ${by}L${barb(-1)}`;
    makeSvg("path", { class: kind, d: `M${ax} ${ay}L${bx} ${by}${head}`, "stroke-width": width }, parent);
  }

  /** Shows the air at the time `at`, in ns. */
  play(log, at) {
    this.transmissions.replaceChildren();
    const state = this.names.map(() => ["", ""]);
    for (const deferral of log.deferrals)
      if (deferral.start <= at && at < deferral.end) state[deferral.node] = ["hold", deferral.kind];
    for (const wait of log.backoffs)
      if (wait.start <= at && at < wait.end && !state[wait.node][0]) state[wait.node] = ["backoff", "backoff"];
    for (const frame of log.frames) {
      if (frame.start > at || at >= frame.end) continue;
      state[frame.node] = [`send ${frame.kind}`, frame.kind];
      if (frame.peer !== null) this.arrow(this.transmissions, frame.node, frame.peer, `beam ${frame.kind}`);
    }
    const dense = this.shown.length > DENSE_NODES;
    const collisionText = dense || this.narrow ? "✖" : COLLISION;
    for (const collided of log.collisions)
      if (collided.start <= at && at < collided.end) state[collided.node] = ["collision", collisionText];
    for (const [node, group] of this.nodes) {
      const [kind, text] = state[node];
      group.setAttribute(
        "class",
        `node ${kind}${this.names[node] ? "" : " relay"}${node === this.selected ? " selected" : ""}`,
      );
      group.querySelector(".state").textContent =
        (dense && kind === "hold") || ((dense || this.narrow) && kind === "backoff") ? "" : text;
    }
  }
}

const rectangle = ([x, y], across, down) => [x - across, y - down, x + across, y + down];
const overlap = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

const measureContext = document.createElement("canvas").getContext("2d");
const textWidths = new Map();
/**
 * The width of a text in font sizes. It is measured once on a canvas, because measuring in the page would force a
 * layout.
 */
function textWidth(words, weight = "bold") {
  const key = weight + words;
  if (!textWidths.has(key)) {
    measureContext.font = `${weight} 100px system-ui, sans-serif`;
    textWidths.set(key, measureContext.measureText(words).width / 100);
  }
  return textWidths.get(key);
}
