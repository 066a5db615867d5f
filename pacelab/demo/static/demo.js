// One demonstration: the network, its controls, the air in slow motion, and what it carries.
//
//   const element = document.createElement("pacelab-demo");
//   element.start(demo, run)      demo: catalog.py's document; run: a back end (view.js)
//
// Where the engine is in the page, a change runs the air twice: some seconds of it for the goodput, and its first moments
// with every event told. Where Python runs it, curves over those seconds take the place of the slow motion.

import { describe } from "./air.js";
import { Curves, Sweep } from "./curves.js";
import { Scene } from "./scene.js";
import { key, Timeline } from "./timeline.js";
import { sumOf } from "./view.js";

const PLAY_S = 15; // the window's slow motion lasts so long at speed 1
const LONGEST_LOG = 400;
const BREATH_MS = 20; // between two points of the curve: what a person does comes first

// Goodput and the calls' quality as bars: length, number and pattern say the same.

const mbps = (bps) => (bps / 1e6).toFixed(2);
const kbps = (bps) => String(Math.round(bps / 1e3));
const WORST_MOS = 1;
const BEST_MOS = 4.5;

function row(kind, name, part, text, mark) {
  const element = document.createElement("div");
  element.className = `bar ${kind}`;
  element.innerHTML = "<span class=name></span><span class=track><span class=fill></span></span><span class=value></span>";
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

/** Fills `host` with the bars of a view; `usual` is the goodput of a full bar, bit/s, unless all together carry more. */
function showBars(host, { flows, calls, acceptable_mos: acceptable }, usual) {
  const small = usual < 1e6;
  const [show, unit] = small ? [kbps, "kbit/s"] : [mbps, "Mbit/s"];
  const sum = flows.reduce((total, flow) => total + flow.goodput_bps, 0);
  const full = Math.max(usual, sum);
  const said = [];
  const rows = [];
  const add = (kind, name, bps, alone) => {
    rows.push(row(kind, name, bps / full, `${show(bps)} ${unit}`, alone === undefined ? undefined : Math.min(1, alone / full)));
    said.push(`${name} ${show(bps)} ${unit}${alone === undefined ? "" : ` (alone ${show(alone)})`}`);
  };
  if (calls.length) {
    const part = (mos) => (mos - WORST_MOS) / (BEST_MOS - WORST_MOS);
    for (const { label, mos } of calls) {
      const good = mos >= acceptable;
      rows.push(row(good ? "call good" : "call bad", label, part(mos ?? WORST_MOS), mos === null ? "–" : `${mos.toFixed(2)} ${good ? "✔" : "✖"}`, part(acceptable)));
      said.push(`${label} MOS ${mos?.toFixed(2) ?? "unknown"}`);
    }
    add("sum", "TCP", sum);
  } else {
    flows.forEach((flow, index) => add(`flow${index % 4}`, flow.label, flow.goodput_bps, flow.alone_bps));
    if (flows.length > 1) add("sum", "sum", sum);
  }
  host.replaceChildren(...rows);
  host.setAttribute("aria-label", `${calls.length ? "Quality and goodput" : "Goodput"}: ${said.join(", ")}`);
}

export class PacelabDemo extends HTMLElement {
  start(demo, run) {
    Object.assign(this, { demo, run, at: 0, playing: !matchMedia("(prefers-reduced-motion: reduce)").matches, seed: demo.air.seed });
    this.values = Object.fromEntries(demo.controls.map((control) => [control.what, control.value]));
    this.places = demo.air.nodes.map((node) => node.position_m ?? [0, 0]);
    this.build();
    this.refresh();
    new ResizeObserver(() => this.draw()).observe((this.curves ?? this.timeline).canvas);
    this.animate();
  }

  /** A notebook takes cells out of the page and puts them back. */
  connectedCallback() { if (this.demo) this.animate(); }

  animate() {
    if (this.curves || this.moving || !this.isConnected) return;
    this.moving = true;
    let before = performance.now();
    const frame = (now) => {
      this.moving = this.isConnected;
      if (!this.moving) return;
      if (this.playing && this.log) this.seek((this.at + ((now - before) / 1e3) * (this.spanNs / PLAY_S) * this.speed) % this.spanNs);
      before = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  get spanNs() { return this.demo.watch_s * 1e9; }

  /** autocomplete="off": a browser that goes back to the page would set controls as they were, and run nothing. */
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
          <details><summary>What to look for</summary><p class="answer"></p></details>
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
      <div class="foot"><details class="log"><summary>What happened, as text</summary><pre tabindex="0" aria-label="Events by time"></pre></details></div>`;
    const put = (selector, text) => { this.querySelector(selector).textContent = text; };
    put("h1", demo.title);
    put(".question", demo.question);
    put(".answer", demo.answer);
    this.makeScene();
    if (demo.python) {
      this.querySelector(this.scene.flat ? ".view" : ".side").append(this.querySelector(".air"));
      this.curves = new Curves(this.querySelector(".air"));
      if (demo.live) this.querySelector(".transport").remove();
      for (const part of this.querySelectorAll(".play, .speed, .clock, .log")) (part.closest("label") ?? part).remove();
    } else {
      this.timeline = new Timeline(this.querySelector(".air"), { names: demo.labels, onSeek: (at) => { this.pause(); this.seek(at); } });
      this.querySelector(".play").addEventListener("click", () => this.toggle());
      this.querySelector(".log").addEventListener("toggle", () => this.writeLog());
      this.querySelector(".log").before(key());
      if (demo.sweep) {
        this.classList.add("sweeps");
        this.sweep = new Sweep(this.querySelector(".view"));
      }
      this.labelPlay();
    }
    const form = this.querySelector(".controls");
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const control of demo.controls) form.append(this.makeControl(control));
    this.querySelector(".again")?.addEventListener("click", () => { this.seed += 1; this.refresh(); });
    this.querySelector(".reset")?.addEventListener("click", () => this.reset());
    this.addEventListener("keydown", (event) => this.key(event));
  }

  /** Draws the demonstration's nodes anew. */
  makeScene() {
    const { demo } = this;
    this.scene?.svg.remove();
    this.scene = new Scene(this.querySelector(".view"), {
      names: demo.labels,
      places: this.places,
      radios: demo.air.nodes.map((node) => node.wireless),
      gateway: demo.gateway,
      wired: demo.wired,
      low: Boolean(demo.sweep),
      onMove: this.run.fixed ? null : (node, place) => this.moved(node, place),
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
    input.setAttribute("aria-label", control.label); // of what is in it a label names the first, the output
    const shown = document.createElement("output");
    shown.setAttribute("aria-live", "off"); // the slider itself says it
    this.tellValue(input, shown, `${control.value} ${control.unit}`);
    input.addEventListener("input", () => {
      this.tellValue(input, shown, `${input.value} ${control.unit}`);
      this.set(control, Number(input.value));
    });
    label.append(control.label, " ", shown, input);
    box.append(label);
    return box;
  }

  tellValue(input, shown, text) {
    shown.textContent = text;
    input.setAttribute("aria-valuetext", text);
  }

  set(control, value) {
    if (control.what === "gap") {
      const [x, y, apart] = this.across(control);
      const [dx, dy] = [x * (value - apart), y * (value - apart)];
      for (const node of control.nodes) this.places[node] = [this.places[node][0] + dx, this.places[node][1] + dy];
      this.fitSoon = true;
    }
    this.values[control.what] = value;
    this.refreshSoon();
  }

  /** From the node before those that a control moves to the first of them: the direction, and how far. */
  across({ nodes: [first] }) {
    const [from, to] = [this.places[first - 1], this.places[first]];
    const [x, y] = [to[0] - from[0], to[1] - from[1]];
    const apart = Math.hypot(x, y);
    return apart ? [x / apart, y / apart, apart] : [1, 0, 0];
  }

  moved(node, place) {
    this.places[node] = place;
    const control = this.demo.controls.find(({ what }) => what === "gap");
    if (control) this.tellGap(Math.round(this.across(control)[2]));
    this.refreshSoon();
  }

  /** A distance that a drag has changed. */
  tellGap(apart) {
    this.values.gap = apart;
    const input = this.querySelector("[name='gap']");
    input.value = apart;
    this.tellValue(input, input.closest("label").querySelector("output"), `${apart} m`);
  }

  reset() {
    const { demo } = this;
    this.values = Object.fromEntries(demo.controls.map((control) => [control.what, control.value]));
    this.places.splice(0, this.places.length, ...demo.air.nodes.map((node) => [...(node.position_m ?? [0, 0])]));
    this.seed = demo.air.seed;
    this.querySelector(".controls").replaceChildren(...demo.controls.map((control) => this.makeControl(control)));
    this.fitSoon = true;
    this.refresh();
  }

  key(event) {
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
  pause() { this.playing = false; this.labelPlay(); }
  labelPlay() { this.querySelector(".play").textContent = this.playing ? "❚❚ Pause" : "▶ Play"; }
  get speed() { return 2 ** Number(this.querySelector(".speed").value); }

  /** Several changes within a frame of the screen are one. */
  refreshSoon() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.refresh(); });
  }

  /** One run at a time: what changes meanwhile is one change, the newest. */
  refresh() {
    if (this.busy) { this.changed = true; return; }
    const begun = performance.now();
    const change = { values: { ...this.values }, places: this.places.map((place) => [...place]), seed: this.seed };
    const tell = (view) => { this.take(view); this.lastRefreshMs = performance.now() - begun; };
    try {
      const view = this.run(change);
      if (typeof view.then !== "function") return tell(view);
      this.setBusy(true);
      view.then(tell, (error) => this.complain(error)).finally(() => {
        this.setBusy(false);
        if (this.changed) { this.changed = false; this.refresh(); }
      });
    } catch (error) {
      this.complain(error);
    }
  }

  setBusy(busy) {
    this.busy = busy;
    this.querySelector(".side").setAttribute("aria-busy", busy);
    if (busy) return;
    this.dispatchEvent(new CustomEvent("settled"));
  }

  complain(error) {
    this.trouble(error.message);
    if (this.view) this.draw(); // a dragged node stays where it was dragged
  }

  trouble(text) {
    const line = this.querySelector(".trouble");
    line.textContent = text;
    line.hidden = !text;
    this.classList.toggle("stale", Boolean(text));
  }

  /** Shows a view (view.js). */
  take(view) {
    this.trouble("");
    Object.assign(this, { view, log: view.log, config: view.air, result: view.result });
    if (this.fitSoon) { this.fitSoon = false; this.scene.places = this.places; this.scene.fit(); }
    this.draw();
    this.goOn();
    if (!this.demo.wired) showBars(this.querySelector(".bars"), view, this.demo.full_bps ?? view.full_bps);
    this.querySelector(".numbers").textContent = view.numbers;
    this.writeLog();
  }

  /** Goodput at the other settings of the slider, a point at a time. */
  goOn() {
    if (!this.sweep) return;
    const { what, points } = this.demo.sweep;
    const set = { values: { ...this.values }, places: this.places.map((place) => [...place]), seed: this.seed };
    const of = JSON.stringify([{ ...set.values, [what]: null }, set.places, set.seed]);
    if (of !== this.sweptOf) Object.assign(this, { sweptOf: of, swept: new Map() });
    this.swept.set(set.values[what], sumOf(this.view.flows));
    this.drawSweep();
    clearTimeout(this.sweeping);
    const next = () => {
      const at = points.find((point) => !this.swept.has(point));
      if (at === undefined || !this.isConnected) return;
      this.swept.set(at, this.run.carried({ ...set, values: { ...set.values, [what]: at } }));
      this.drawSweep();
      this.sweeping = setTimeout(next, BREATH_MS);
    };
    this.sweeping = setTimeout(next, BREATH_MS);
  }

  drawSweep() {
    if (!this.swept) return;
    const { what } = this.demo.sweep;
    const control = this.demo.controls.find((candidate) => candidate.what === what);
    this.sweep.show({ points: [...this.swept], control, now: this.values[what] });
  }

  /** Nodes that moved by themselves. */
  move(places) {
    this.fitSoon ||= String(places) !== String(this.places);
    this.places.splice(0, this.places.length, ...places);
  }

  draw() {
    if (!this.view || !this.isConnected) return;
    this.scene.show({ places: this.places, flows: this.view.flows, cables: this.view.cables, ranges: this.view.ranges, full: this.demo.python ? this.demo.full_bps ?? this.view.full_bps : null });
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
    const lines = describe(this.log, this.demo.labels);
    const more = lines.length > LONGEST_LOG ? `\n… and ${lines.length - LONGEST_LOG} more` : "";
    box.querySelector("pre").textContent = lines.slice(0, LONGEST_LOG).join("\n") + more;
  }
}

if (!customElements.get("pacelab-demo")) customElements.define("pacelab-demo", PacelabDemo);
