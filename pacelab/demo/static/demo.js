// The component for one demonstration: the network, its controls, the air in slow motion, and the goodput.
//
//   const element = document.createElement("pacelab-demo");
//   element.start(demo, run)      demo: the document from model.py; run: a back end (view.js)
//
// If the engine is in the page, each change causes two runs: one of some seconds for the goodput, and a short one with
// a trace of every event for the slow motion. If Python runs the schemes, curves over time replace the slow motion.

import { logAsText, shapeOf } from "./air.js";
import { Curves, SweepCurve } from "./curves.js";
import { Scene } from "./scene.js";
import { makeLegend, Timeline } from "./timeline.js";
import { totalGoodput } from "./view.js";

const PLAY_S = 15; // duration of the slow motion at speed 1
const MAX_LOG_LINES = 400;
const SWEEP_PAUSE_MS = 20; // between two points of the curve, so that the page reacts to the user first

// Goodput and call quality as bars. Length, number and pattern of a bar show the same value.

const mbps = (bps) => (bps / 1e6).toFixed(2);
const kbps = (bps) => String(Math.round(bps / 1e3));
/** A slider's value as text: "1 segment", "3 segments". */
const withUnit = (value, unit) => `${value} ${Number(value) === 1 ? unit.replace(/s$/, "") : unit}`;
const WORST_MOS = 1;
const BEST_MOS = 4.5;

function makeBar(kind, name, part, text, mark) {
  const element = document.createElement("div");
  element.className = `bar ${kind}`;
  element.innerHTML =
    "<span class=name></span><span class=track><span class=fill></span></span><span class=value></span>";
  element.querySelector(".name").textContent = name;
  element.querySelector(".fill").style.width = `${Math.min(100, Math.max(0, 100 * part))}%`;
  element.querySelector(".value").textContent = text;
  if (mark !== undefined) {
    const line = Object.assign(document.createElement("span"), { className: "mark" });
    line.style.left = `${100 * mark}%`;
    element.querySelector(".track").append(line);
  }
  return element;
}

/** Fills `host` with the bars of a view. A full bar is `usualBps`, or the sum of the flows if the sum is larger. */
function showBars(host, { flows, calls, acceptable_mos: acceptable }, usualBps) {
  const small = usualBps < 1e6;
  const [show, unit] = small ? [kbps, "kbit/s"] : [mbps, "Mbit/s"];
  const sum = flows.reduce((total, flow) => total + flow.goodput_bps, 0);
  const full = Math.max(usualBps, sum);
  const spoken = [];
  const rows = [];
  const add = (kind, name, bps, alone) => {
    rows.push(
      makeBar(
        kind,
        name,
        bps / full,
        `${show(bps)} ${unit}`,
        alone === undefined ? undefined : Math.min(1, alone / full),
      ),
    );
    spoken.push(`${name} ${show(bps)} ${unit}${alone === undefined ? "" : ` (alone ${show(alone)})`}`);
  };
  if (calls.length) {
    const part = (mos) => (mos - WORST_MOS) / (BEST_MOS - WORST_MOS);
    for (const { label, mos } of calls) {
      const good = mos >= acceptable;
      rows.push(
        makeBar(
          good ? "call good" : "call bad",
          label,
          part(mos ?? WORST_MOS),
          mos === null ? "–" : `${mos.toFixed(2)} ${good ? "✔" : "✖"}`,
          part(acceptable),
        ),
      );
      spoken.push(`${label} MOS ${mos?.toFixed(2) ?? "unknown"}`);
    }
    add("sum", "TCP", sum);
  } else {
    for (const [index, flow] of flows.entries()) add(`flow${index % 4}`, flow.label, flow.goodput_bps, flow.alone_bps);
    if (flows.length > 1) add("sum", "sum", sum);
  }
  host.replaceChildren(...rows);
  host.setAttribute("aria-label", `${calls.length ? "Quality and goodput" : "Goodput"}: ${spoken.join(", ")}`);
}

export class PacelabDemo extends HTMLElement {
  start(demo, run) {
    Object.assign(this, {
      demo,
      run,
      at: 0,
      playing: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      seed: demo.air.seed,
    });
    this.values = Object.fromEntries(demo.controls.map((control) => [control.what, control.value]));
    this.places = demo.air.nodes.map((node) => node.position_m ?? [0, 0]);
    this.build();
    this.refresh();
    new ResizeObserver(() => this.draw()).observe((this.curves ?? this.timeline).canvas);
    this.animate();
  }

  /** A notebook removes cells from the page and inserts them again. */
  connectedCallback() {
    if (this.demo) this.animate();
  }

  animate() {
    if (this.curves || this.moving || !this.isConnected) return;
    this.moving = true;
    let before = performance.now();
    const frame = (now) => {
      this.moving = this.isConnected;
      if (!this.moving) return;
      if (this.playing && this.log)
        this.seek((this.at + ((now - before) / 1e3) * (this.spanNs / PLAY_S) * this.speed) % this.spanNs);
      before = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /** The nodes with their labels, the wires and the flows of the current settings. */
  get shape() {
    return shapeOf(this.demo, this.values);
  }

  get spanNs() {
    return this.demo.watch_s * 1e9;
  }

  /** The form has autocomplete="off". Else a browser that returns to the page restores the controls without a run. */
  build() {
    const { demo } = this;
    this.classList.toggle("seconds", demo.python);
    this.classList.toggle("live", Boolean(demo.live));
    this.innerHTML = `
      <header><h1></h1><p class="question"></p></header>
      <div class="stage">
        <div class="view"></div>
        <div class="side">
          <form class="controls" aria-label="Controls" autocomplete="off"></form>
          <p class="trouble" role="alert" hidden></p>
          <div class="bars" role="img"></div>
          <p class="numbers" aria-live="${demo.live ? "off" : "polite"}"></p>
          <details><summary>What to look for</summary><ul class="answer"></ul></details>
        </div>
      </div>
      <div class="transport">
        <button type="button" class="play"></button>
        <label>Speed <input type="range" class="speed" min="-2" max="3" step="0.25" value="0"></label>
        <span class="clock"></span>
        <button type="button" class="again">Another seed</button>
        <button type="button" class="reset">Reset</button>
      </div>
      <div class="air"></div>
      <div class="foot">
        <details class="log">
          <summary>Events as text</summary>
          <pre tabindex="0" aria-label="Events in order of time"></pre>
        </details>
      </div>`;
    const put = (selector, text) => {
      this.querySelector(selector).textContent = text;
    };
    put("h1", demo.title);
    put(".question", demo.question);
    const sentences = demo.answer.map((textContent) => Object.assign(document.createElement("li"), { textContent }));
    this.querySelector(".answer").append(...sentences);
    this.makeScene();
    if (demo.python) {
      this.querySelector(this.scene.flat ? ".view" : ".side").append(this.querySelector(".air"));
      this.curves = new Curves(this.querySelector(".air"));
      if (demo.live) this.querySelector(".transport").remove();
      for (const part of this.querySelectorAll(".play, .speed, .clock, .log")) (part.closest("label") ?? part).remove();
    } else {
      this.timeline = new Timeline(this.querySelector(".air"), {
        names: this.shape.labels,
        onSeek: (at) => {
          this.pause();
          this.seek(at);
        },
      });
      this.querySelector(".play").addEventListener("click", () => this.toggle());
      this.querySelector(".log").addEventListener("toggle", () => this.writeLog());
      this.querySelector(".log").before(makeLegend());
      if (demo.sweep) {
        this.classList.add("sweeps");
        this.sweep = new SweepCurve(this.querySelector(".view"));
      }
      this.labelPlay();
    }
    const form = this.querySelector(".controls");
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const control of demo.controls) form.append(this.makeControl(control));
    this.querySelector(".again")?.addEventListener("click", () => {
      this.seed += 1;
      this.refresh();
    });
    this.querySelector(".reset")?.addEventListener("click", () => this.reset());
    this.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** Draws the nodes of the demonstration again. */
  makeScene() {
    const { demo } = this;
    this.scene?.svg.remove();
    this.scene = new Scene(this.querySelector(".view"), {
      names: this.shape.labels,
      places: this.places,
      radios: this.shape.nodes.map((node) => node.wireless),
      gateway: demo.gateway,
      wired: demo.wired,
      low: Boolean(demo.sweep),
      onMove: this.run.fixed ? null : (node, place) => this.onNodeMoved(node, place),
    });
  }

  makeControl(control) {
    const box = document.createElement("fieldset");
    if (control.settings) {
      const legend = document.createElement("legend");
      legend.textContent = control.label;
      box.append(legend);
      for (const [shown, value] of control.settings) {
        const label = document.createElement("label");
        const input = Object.assign(document.createElement("input"), { type: "radio", name: control.what, value });
        input.checked = value === control.value;
        input.addEventListener("change", () => this.set(control, value));
        label.append(input, shown);
        box.append(label);
      }
      return box;
    }
    box.className = "slider";
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "range", name: control.what });
    Object.assign(input, { min: control.low, max: control.high, step: control.step, value: control.value });
    input.setAttribute("aria-label", control.label); // Else the label element names the output, its first descendant.
    const shown = document.createElement("output");
    shown.setAttribute("aria-live", "off"); // The slider announces its value itself.
    this.showValue(input, shown, withUnit(control.value, control.unit));
    input.addEventListener("input", () => {
      this.showValue(input, shown, withUnit(input.value, control.unit));
      this.set(control, Number(input.value));
    });
    label.append(control.label, " ", shown, input);
    box.append(label);
    return box;
  }

  showValue(input, shown, text) {
    shown.textContent = text;
    input.setAttribute("aria-valuetext", text);
  }

  set(control, value) {
    if (control.what === "gap") {
      const [x, y, apart] = this.pairDistance(control);
      const [dx, dy] = [x * (value - apart), y * (value - apart)];
      for (const node of control.nodes) this.places[node] = [this.places[node][0] + dx, this.places[node][1] + dy];
      this.fitPending = true;
    }
    this.values[control.what] = value;
    if (control.what === "hops") this.resetShape();
    this.scheduleRefresh();
  }

  /** Direction and distance from the last node that stays to the first node that the control moves. */
  pairDistance({ nodes: [first] }) {
    const [from, to] = [this.places[first - 1], this.places[first]];
    const [x, y] = [to[0] - from[0], to[1] - from[1]];
    const apart = Math.hypot(x, y);
    return apart ? [x / apart, y / apart, apart] : [1, 0, 0];
  }

  onNodeMoved(node, place) {
    this.places[node] = place;
    const control = this.demo.controls.find(({ what }) => what === "gap");
    if (control) this.showGap(Math.round(this.pairDistance(control)[2]));
    this.scheduleRefresh();
  }

  /** Shows a distance that the user has changed by dragging. */
  showGap(apart) {
    this.values.gap = apart;
    const input = this.querySelector("[name='gap']");
    input.value = apart;
    this.showValue(input, input.closest("label").querySelector("output"), `${apart} m`);
  }

  /** Puts the nodes of the current settings to their initial positions. */
  resetShape() {
    const { labels, nodes } = this.shape;
    const sameNodes = nodes.length === this.places.length;
    this.places.splice(0, this.places.length, ...nodes.map((node) => [...(node.position_m ?? [0, 0])]));
    if (sameNodes) return;
    clearTimeout(this.sweepTimer);
    Object.assign(this, { view: undefined, log: undefined }); // They belong to the nodes that have gone.
    this.makeScene();
    this.timeline.names = labels;
  }

  reset() {
    const { demo } = this;
    this.values = Object.fromEntries(demo.controls.map((control) => [control.what, control.value]));
    this.resetShape();
    this.seed = demo.air.seed;
    this.querySelector(".controls").replaceChildren(...demo.controls.map((control) => this.makeControl(control)));
    this.fitPending = true;
    this.refresh();
  }

  onKey(event) {
    if (!this.timeline) return;
    if (event.key === " " && !["BUTTON", "SUMMARY"].includes(event.target.tagName)) {
      event.preventDefault();
      this.toggle();
    } else if (event.target === this.timeline.canvas && ["ArrowLeft", "ArrowRight"].includes(event.key)) {
      event.preventDefault();
      this.pause();
      const step = (event.shiftKey ? 1e6 : 1e5) * (event.key === "ArrowLeft" ? -1 : 1);
      this.seek(Math.min(Math.max(this.at + step, 0), this.spanNs - 1));
    }
  }

  toggle() {
    this.playing = !this.playing;
    this.labelPlay();
    if (this.log) this.seek(this.at);
  }
  pause() {
    this.playing = false;
    this.labelPlay();
  }
  labelPlay() {
    this.querySelector(".play").textContent = this.playing ? "❚❚ Pause" : "▶ Play";
  }
  get speed() {
    return 2 ** Number(this.querySelector(".speed").value);
  }

  /** Runs once for all changes within one frame of the screen. */
  scheduleRefresh() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.refresh();
    });
  }

  /**
   * Runs the current settings, one run at a time. After a run, only the newest of the changes during the run is run.
   */
  refresh() {
    if (this.busy) {
      this.changed = true;
      return;
    }
    const startedMs = performance.now();
    const change = { values: { ...this.values }, places: this.places.map((place) => [...place]), seed: this.seed };
    const showResult = (view) => {
      this.showView(view);
      this.lastRefreshMs = performance.now() - startedMs;
    };
    try {
      const view = this.run(change);
      if (typeof view.then !== "function") return showResult(view);
      this.setBusy(true);
      view
        .then(showResult, (error) => this.showError(error))
        .finally(() => {
          this.setBusy(false);
          if (this.changed) {
            this.changed = false;
            this.refresh();
          }
        });
    } catch (error) {
      this.showError(error);
    }
  }

  setBusy(busy) {
    this.busy = busy;
    this.querySelector(".side").setAttribute("aria-busy", busy);
    if (busy) return;
    this.dispatchEvent(new CustomEvent("settled"));
  }

  showError(error) {
    this.showAlert(error.message);
    if (this.view) this.draw(); // A dragged node stays at its new position.
  }

  showAlert(text) {
    const line = this.querySelector(".trouble");
    line.textContent = text;
    line.hidden = !text;
    this.classList.toggle("stale", Boolean(text));
  }

  /** Shows a view (view.js). */
  showView(view) {
    this.showAlert("");
    Object.assign(this, { view, log: view.log, config: view.air, result: view.result });
    if (this.fitPending) {
      this.fitPending = false;
      this.scene.places = this.places;
      this.scene.fit();
    }
    this.draw();
    this.continueSweep();
    const fullBps = this.demo.full_bps ?? view.full_bps;
    if (!this.demo.wired && !this.sweep) showBars(this.querySelector(".bars"), view, fullBps);
    this.querySelector(".numbers").textContent = view.numbers;
    this.writeLog();
  }

  /** Computes the goodput at the other positions of the slider, one point at a time. */
  continueSweep() {
    if (!this.sweep) return;
    const { what, points } = this.demo.sweep;
    const change = { values: { ...this.values }, places: this.places.map((place) => [...place]), seed: this.seed };
    const sweepSettings = JSON.stringify([{ ...change.values, [what]: null }, change.places, change.seed]);
    if (sweepSettings !== this.sweepSettings) Object.assign(this, { sweepSettings, sweepPoints: new Map() });
    this.sweepPoints.set(change.values[what], totalGoodput(this.view.flows));
    this.drawSweep();
    clearTimeout(this.sweepTimer);
    const next = () => {
      const at = points.find((point) => !this.sweepPoints.has(point));
      if (at === undefined || !this.isConnected) return;
      this.sweepPoints.set(at, this.run.goodput({ ...change, values: { ...change.values, [what]: at } }));
      this.drawSweep();
      this.sweepTimer = setTimeout(next, SWEEP_PAUSE_MS);
    };
    this.sweepTimer = setTimeout(next, SWEEP_PAUSE_MS);
  }

  drawSweep() {
    if (!this.sweepPoints) return;
    const { what } = this.demo.sweep;
    const control = this.demo.controls.find((candidate) => candidate.what === what);
    this.sweep.show({ points: [...this.sweepPoints], control, now: this.values[what] });
    showBars(this.querySelector(".bars"), this.view, Math.max(...this.sweepPoints.values()));
  }

  /** Sets the positions of nodes that move by themselves. */
  setPlaces(places) {
    this.fitPending ||= String(places) !== String(this.places);
    this.places.splice(0, this.places.length, ...places);
  }

  draw() {
    if (!this.view || !this.isConnected) return;
    this.scene.show({
      places: this.places,
      flows: this.view.flows,
      links: this.view.links,
      ranges: this.view.ranges,
      full: this.demo.python ? (this.demo.full_bps ?? this.view.full_bps) : null,
    });
    if (this.curves) this.curves.show(this.view.curves);
    else {
      this.timeline.show(this.log, this.spanNs);
      this.seek(this.at);
      if (this.sweep) this.drawSweep();
    }
  }

  seek(at) {
    this.at = at;
    this.scene.play(this.log, at);
    this.timeline.play(at, !this.playing);
    const from = this.demo.watch_from_s ? `${this.demo.watch_from_s} s + ` : "";
    this.querySelector(".clock").textContent = `${from}${(at / 1e6).toFixed(2)} ms`;
  }

  writeLog() {
    const box = this.querySelector(".log");
    if (!box?.open || !this.log) return;
    const lines = logAsText(this.log, this.shape.labels);
    const more = lines.length > MAX_LOG_LINES ? `\n… and ${lines.length - MAX_LOG_LINES} more` : "";
    box.querySelector("pre").textContent = lines.slice(0, MAX_LOG_LINES).join("\n") + more;
  }
}

if (!customElements.get("pacelab-demo")) customElements.define("pacelab-demo", PacelabDemo);
