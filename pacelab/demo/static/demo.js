// One demonstration: the network, its controls, the air in slow motion, and what it carries.
//
//   const element = document.createElement("pacelab-demo");
//   element.start(demo, run)      demo: catalog.py's document; run(config): the engine
//
// A change runs the air twice: some seconds of it for the goodput, and its first moments with every event told.

import { configure, describe, readRecords, watched } from "./air.js";
import { Scene } from "./scene.js";
import { Timeline } from "./timeline.js";

const PLAY_S = 15; // the window's slow motion lasts so long at speed 1
const LONGEST_LOG = 400;

export class PacelabDemo extends HTMLElement {
  start(demo, run) {
    Object.assign(this, { demo, run, at: 0, playing: !matchMedia("(prefers-reduced-motion: reduce)").matches, seed: demo.air.seed });
    this.values = Object.fromEntries(demo.controls.map((control) => [control.what, control.value]));
    this.places = demo.air.nodes.map((node) => node.position_m ?? [0, 0]);
    this.build();
    this.refresh();
    let before = performance.now();
    const frame = (now) => {
      if (!this.isConnected) return;
      if (this.playing) this.seek((this.at + ((now - before) / 1e3) * (this.spanNs / PLAY_S) * this.speed) % this.spanNs);
      before = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    new ResizeObserver(() => this.draw()).observe(this.timeline.canvas);
  }

  get spanNs() { return this.demo.watch_s * 1e9; }

  build() {
    const { demo } = this;
    this.innerHTML = `
      <header><h1></h1><p class="question"></p></header>
      <div class="stage">
        <div class="view"></div>
        <div class="side">
          <form class="controls" aria-label="Controls"></form>
          <div class="bars" role="img"></div>
          <p class="numbers" aria-live="polite"></p>
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
      <details class="log"><summary>What happened, as text</summary><pre tabindex="0" aria-label="Events by time"></pre></details>`;
    const put = (selector, text) => { this.querySelector(selector).textContent = text; };
    put("h1", demo.title);
    put(".question", demo.question);
    put(".answer", demo.answer);
    this.scene = new Scene(this.querySelector(".view"), {
      names: demo.labels,
      places: this.places,
      onMove: (node, place) => { this.places[node] = place; this.refreshSoon(); },
    });
    this.timeline = new Timeline(this.querySelector(".air"), { names: demo.labels, onSeek: (at) => { this.pause(); this.seek(at); } });
    const form = this.querySelector(".controls");
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const control of demo.controls) form.append(this.makeControl(control));
    this.querySelector(".play").addEventListener("click", () => this.toggle());
    this.querySelector(".again").addEventListener("click", () => { this.seed += 1; this.refresh(); });
    this.querySelector(".reset").addEventListener("click", () => this.reset());
    this.querySelector(".log").addEventListener("toggle", () => this.writeLog());
    this.addEventListener("keydown", (event) => this.key(event));
    this.labelPlay();
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
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "range", name: control.what });
    Object.assign(input, { min: control.low, max: control.high, step: control.step, value: control.value });
    const shown = document.createElement("output");
    const tell = () => { shown.textContent = `${input.value} ${control.unit}`; };
    tell();
    input.addEventListener("input", () => { tell(); this.set(control, Number(input.value)); });
    label.append(control.label, " ", shown, input);
    box.append(label);
    return box;
  }

  set(control, value) {
    if (control.what === "gap")
      for (const node of control.nodes) this.places[node] = [this.places[node][0] + value - this.values.gap, this.places[node][1]];
    this.values[control.what] = value;
    this.refreshSoon();
    if (control.what === "gap") this.fitSoon = true;
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

  toggle() { this.playing = !this.playing; this.labelPlay(); }
  pause() { this.playing = false; this.labelPlay(); }
  labelPlay() { this.querySelector(".play").textContent = this.playing ? "❚❚ Pause" : "▶ Play"; }
  get speed() { return 2 ** Number(this.querySelector(".speed").value); }

  /** Several changes within a frame of the screen are one. */
  refreshSoon() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.refresh(); });
  }

  refresh() {
    const begun = performance.now();
    const air = configure(this.demo, this.values, this.places, this.seed);
    this.config = air;
    this.result = this.run(air);
    this.log = readRecords(this.run(watched(air, this.demo.watch_s)).tap);
    if (this.fitSoon) { this.fitSoon = false; this.scene.places = this.places; this.scene.fit(); }
    this.draw();
    this.bars();
    this.writeLog();
    this.lastRefreshMs = performance.now() - begun;
    this.dispatchEvent(new CustomEvent("refreshed", { detail: { ms: this.lastRefreshMs } }));
  }

  draw() {
    if (!this.log) return;
    const { decode_m: decodeM, sense_m: senseM } = this.config.radio.propagation;
    this.scene.show({ places: this.places, flows: this.config.flows, decodeM, senseM });
    this.timeline.show(this.log, this.spanNs);
    this.seek(this.at);
  }

  seek(at) {
    this.at = at;
    this.scene.play(this.log, at);
    this.timeline.play(at);
    this.querySelector(".clock").textContent = `${(at / 1e6).toFixed(2)} ms`;
  }

  bars() {
    const { flows, nodes } = this.result;
    const rate = this.config.radio.data_rate_bps;
    const mbps = (bps) => (bps / 1e6).toFixed(2);
    const names = this.demo.labels;
    const label = (index) => `${names[this.config.flows[index].src]} → ${names[this.config.flows[index].dst]}`;
    const sum = flows.reduce((total, flow) => total + flow.goodput_bps, 0);
    const rows = flows.map((flow, index) => [label(index), flow.goodput_bps]);
    if (flows.length > 1) rows.push(["sum", sum]);
    const bars = this.querySelector(".bars");
    const full = rate * Math.max(1, flows.length > 1 ? 2 : 1);
    bars.replaceChildren(...rows.map(([name, bps], index) => {
      const row = document.createElement("div");
      row.className = name === "sum" ? "bar sum" : `bar flow${index % 4}`;
      row.innerHTML = "<span class=name></span><span class=track><span class=fill></span></span><span class=value></span>";
      row.querySelector(".name").textContent = name;
      row.querySelector(".fill").style.width = `${Math.min(100, (100 * bps) / full)}%`;
      row.querySelector(".value").textContent = `${mbps(bps)} Mbit/s`;
      return row;
    }));
    const frames = nodes.reduce((total, node) => total + (node.rts_sent ?? 0) + (node.data_sent ?? 0), 0);
    const failed = nodes.reduce((total, node) => total + (node.rts_failures ?? 0) + (node.data_failures ?? 0), 0);
    const dropped = nodes.reduce((total, node) => total + (node.drops_rts ?? 0) + (node.drops_data ?? 0), 0);
    const share = frames ? Math.round((100 * failed) / frames) : 0;
    const text = `${rows.map(([name, bps]) => `${name} ${mbps(bps)} Mbit/s`).join(", ")}`;
    bars.setAttribute("aria-label", `Goodput: ${text}`);
    this.querySelector(".numbers").textContent =
      `${share} % of RTS and data frames were in vain, ${dropped} packets given up (seed ${this.seed}, ` +
      `${this.config.duration_s - this.config.warmup_s} s of air).`;
  }

  writeLog() {
    const box = this.querySelector(".log");
    if (!box.open) return;
    const lines = describe(this.log, this.demo.labels);
    const more = lines.length > LONGEST_LOG ? `\n… and ${lines.length - LONGEST_LOG} more` : "";
    box.querySelector("pre").textContent = lines.slice(0, LONGEST_LOG).join("\n") + more;
  }
}

if (!customElements.get("pacelab-demo")) customElements.define("pacelab-demo", PacelabDemo);
