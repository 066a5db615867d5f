// The network editor: one picture per scheme, all with the same nodes, flows and seed.
//
//   const element = document.createElement("pacelab-editor");
//   element.start(page, backend)
//
// `page` is the data of editor.py. `backend` (editor_backend.js) has four functions: run(scheme, network, seed) promises
// { result, log }, places(network) promises the positions of nodes that move (engine.js), nextSeed(seed) is the seed that
// all schemes have next, and notice(network, seed) is what a user should know before a run, or "".

import { Curves } from "./curves.js";
import { fromAir, hopsOf, missingParts, ofChain, toYaml, withDescription, withoutNode } from "./editor_network.js";
import { Scene } from "./scene.js";
import { makeLegend } from "./timeline.js";

const PLAY_S = 15;
const NEW_NODE_DISTANCE_M = 150; // from the selected node to an added node
const NEW_WIRE = { rate_bps: 10e6, delay_s: 0.01, queue_pkts: 50 };
const MAX_LINES = 4;
const NO_ACTIVITY = { frames: [], collisions: [], deferrals: [], backoffs: [] };

const kbps = (bps) => `${Math.round(bps / 1e3)}`;
const ms = (s) => (s === null || s === undefined ? "–" : `${Math.round(s * 1e3)}`);

/** The round-trip times of a flow's series. null before the first sample (0 s), and after the flow's last segment. */
function roundTrips({ rtt_s, goodput_bps }) {
  const last = goodput_bps.findLastIndex((bps) => bps > 0);
  return rtt_s.map((value, at) => (at > last ? null : value || null));
}

/** The highest goodput of a flow in a result: over the whole run, and in one interval of the series. */
function peakGoodput({ flows, series }) {
  const intervals = series.flows.flatMap(({ goodput_bps }) => goodput_bps);
  return {
    run: Math.max(...flows.map(({ goodput_bps }) => goodput_bps), 0),
    interval: intervals.reduce((a, b) => Math.max(a, b), 0),
  };
}

/** Whether a network meets one goal (problems.py), and what was measured. `flow` is the flow's result, if it exists. */
export function judgeGoal({ text, within_m, least_kbps, most_kbps }, flow, { nodes }) {
  if (within_m !== undefined) {
    const distances = nodes.flatMap(({ at: [x, y] }) => nodes.map(({ at: [u, v] }) => Math.hypot(x - u, y - v)));
    const size = Math.max(...distances);
    return { text, met: size <= within_m, measured: `${Math.round(size)} m` };
  }
  if (!flow) return { text, met: false, measured: "no such flow" };
  const carried = flow.goodput_bps / 1e3;
  const met = carried >= (least_kbps ?? 0) && carried <= (most_kbps ?? Infinity);
  return { text, met, measured: `${Math.round(carried)} kbit/s` };
}

function makeElement(kind, properties = {}, ...children) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
}

export class PacelabEditor extends HTMLElement {
  start(page, backend) {
    Object.assign(this, {
      page,
      backend,
      seed: page.schemes[0].air.seed,
      at: 0,
      selected: 0,
      views: [],
      playing: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    });
    this.network = fromAir(page.schemes[0].air, page.file);
    this.saved = this.file;
    addEventListener("beforeunload", (event) => {
      if (this.isConnected && this.file !== this.saved) event.preventDefault();
    });
    this.walk = null; // the positions of moving nodes over time, from the engine
    this.mode = this.network.moves.length ? "walk" : "air";
    this.build();
    this.draw();
    this.refresh();
    let before = performance.now();
    const frame = (now) => {
      if (!this.isConnected) return;
      if (this.playing)
        this.seek(
          (this.at +
            ((now - before) / 1e3) * (this.spanNs / PLAY_S) * 2 ** Number(this.querySelector(".speed").value)) %
            this.spanNs,
        );
      before = now;
      this.frames = (this.frames ?? 0) + 1;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /**
   * Whether the page shows the whole run in fast motion, so that moving nodes move. Else it shows the air in slow
   * motion.
   */
  get walking() {
    return this.mode === "walk" && this.network.moves.length > 0;
  }

  get seconds() {
    return this.page.schemes[0].air.duration_s;
  }

  get spanNs() {
    return (this.walking ? this.seconds : this.page.watch_s[1] - this.page.watch_s[0]) * 1e9;
  }

  /** The network as a topology file. */
  get file() {
    return toYaml(withDescription(this.network, this.page));
  }

  /** The time in the run that the page shows. */
  get nowS() {
    return (this.walking ? 0 : this.page.watch_s[0]) + this.at / 1e9;
  }

  build() {
    const { page } = this;
    this.innerHTML = `<style>${page.style}</style>
      <header><h1></h1><p class="question"></p><ul class="goals" aria-label="Goals" aria-live="polite" hidden></ul></header>
      <div class="stage">
        <div><div class="views"></div>
          <div class="transport">
            <button type="button" class="play"></button>
            <label class="motion">Show
              <select class="showing" autocomplete="off">
                <option value="walk">the moving nodes</option>
                <option value="air">the air in slow motion</option>
              </select>
            </label>
            <label class="motion">Time <input type="range" class="time" min="0" step="any"></label>
            <label>Speed <input type="range" class="speed" min="-2" max="3" step="0.25" value="0"></label>
            <span class="clock"></span>
            <button type="button" class="again">Another seed</button>
            <button type="button" class="reset">Reset</button>
          </div></div>
        <div class="side">
          <p class="trouble" role="alert" hidden></p>
          <form class="edit" aria-label="The network" autocomplete="off">
            <label>Network <input name="network"></label>
            <label>Selected node <input name="name"></label>
            <div>
              <button type="button" class="radio">Add radio</button>
              <button type="button" class="host">Add wired host</button>
              <button type="button" class="remove">Remove</button>
            </div>
            <ul class="ends" aria-label="Flows"></ul>
            <div><button type="button" class="flow">Add flow</button></div>
            <label><input type="checkbox" name="rts"> RTS/CTS</label>
            <label>Routes
              <select name="routing"><option value="static">static</option><option value="aodv">AODV</option></select>
            </label>
            <label class="hops" hidden>Hops <output></output>
              <input type="range" name="hops" aria-label="Hops" step="1">
            </label>
            <div><button type="button" class="save">Save as YAML</button></div>
          </form>
        </div>
      </div>
      <p class="numbers" aria-live="polite"></p>
      <div class="table" tabindex="0" role="region" aria-label="Flows' goodput and round trip">
        <table><thead></thead><tbody></tbody></table>
      </div>
      <div class="plots"><div class="goodput"></div><div class="trip"></div></div>
      <details class="file">
        <summary>Topology file</summary>
        <textarea readonly aria-label="The network as a topology file"></textarea>
      </details>`;
    this.querySelector(".question").textContent = page.question;
    for (const scheme of page.schemes) {
      const box = makeElement(
        "section",
        { className: "view" },
        makeElement("h2", { textContent: scheme.name, title: scheme.summary }),
      );
      this.querySelector(".views").append(box);
      this.views.push({ scheme, box });
    }
    this.legend = makeLegend();
    this.querySelector(".transport").after(this.legend);
    this.goodput = new Curves(this.querySelector(".goodput"));
    this.trip = new Curves(this.querySelector(".trip"));
    const on = (selector, event, act) => this.querySelector(selector).addEventListener(event, act);
    on("form", "submit", (event) => event.preventDefault());
    on(".play", "click", () => this.toggle());
    this.addEventListener("keydown", (event) => this.onKey(event));
    on(".showing", "change", (event) => this.setMode(event.target.value, 0));
    on(".time", "input", (event) => {
      this.playing = false;
      this.labelPlay();
      this.seek(Number(event.target.value) * 1e9);
    });
    on(".again", "click", () => {
      this.seed = this.backend.nextSeed(this.seed);
      this.refresh();
    });
    on(".reset", "click", () => {
      this.seed = page.schemes[0].air.seed;
      this.change(fromAir(page.schemes[0].air, page.file));
    });
    on(".radio", "click", () => this.add(true));
    on(".host", "click", () => this.add(false));
    on(".remove", "click", () => this.change(withoutNode(this.network, this.selected)));
    on(".flow", "click", () => this.addFlow());
    on(".save", "click", () => this.save());
    on("[name='network']", "change", (event) =>
      this.change({ ...this.network, name: event.target.value || "network" }),
    );
    on("[name='name']", "change", (event) => this.rename(event.target.value.trim()));
    on("[name='rts']", "change", (event) => this.change({ ...this.network, rts: event.target.checked }));
    on("[name='routing']", "change", (event) => this.change({ ...this.network, routing: event.target.value }));
    on("[name='hops']", "input", (event) => this.setHops(event.target.value));
    on(".views", "focusin", (event) => this.select(Number(event.target.closest("[data-node]")?.dataset.node)));
    new ResizeObserver(() => {
      for (const { scene } of this.views) scene?.draw();
      this.plot();
    }).observe(this.goodput.canvas);
    this.labelPlay();
  }

  toggle() {
    this.playing = !this.playing;
    this.labelPlay();
  }

  /** The space bar plays and pauses, unless it has a meaning in the element with the focus. */
  onKey(event) {
    if (event.key !== " " || event.target.closest("button, summary, select, textarea, input:not([type='range'])"))
      return;
    event.preventDefault();
    this.toggle();
  }

  labelPlay() {
    this.querySelector(".play").textContent = this.playing ? "❚❚ Pause" : "▶ Play";
  }

  select(node) {
    if (Number.isNaN(node) || !this.network.nodes[node]) return;
    this.selected = node;
    this.querySelector("[name='name']").value = this.network.nodes[node].name;
    for (const { scene } of this.views) {
      scene.selected = node;
      scene.draw();
    }
  }

  /** Shows the moving nodes or the air, from the time `at`. */
  setMode(mode, at) {
    this.mode = mode;
    this.shownStep = null;
    this.seek(at);
    this.plot();
  }

  /** Replaces the network, draws it and runs it. */
  change(network) {
    this.network = network;
    this.walk = null;
    this.at %= this.spanNs;
    this.selected = Math.min(this.selected, network.nodes.length - 1);
    for (const view of this.views) Object.assign(view, { view: null, log: null, peakGoodput: null });
    this.draw();
    this.refresh();
  }

  /** Replaces the nodes, wires and flows by those of a chain with this number of hops. */
  setHops(hops) {
    const { name, rts, routing } = this.network;
    this.change({ ...ofChain(this.page)(this.page.chains[hops]), name, rts, routing });
  }

  /** Shows the slider of hops, as long as the network is a chain. */
  showHops() {
    const hops = hopsOf(this.network, this.page);
    this.querySelector(".hops").hidden = hops === undefined;
    if (hops === undefined) return;
    const known = Object.keys(this.page.chains).map(Number);
    const slider = this.querySelector("[name='hops']");
    Object.assign(slider, { min: Math.min(...known), max: Math.max(...known), value: hops });
    this.querySelector(".hops output").textContent = hops;
  }

  freeName(stem) {
    const taken = new Set(this.network.nodes.map(({ name }) => name));
    for (let count = this.network.nodes.length; ; count += 1)
      if (!taken.has(`${stem}${count}`)) return `${stem}${count}`;
  }

  add(wireless) {
    const { network, selected } = this;
    const [x, y] = network.nodes[selected]?.at ?? [0, 0];
    const taken = (at) =>
      network.nodes.some((node) => Math.hypot(node.at[0] - at[0], node.at[1] - at[1]) < NEW_NODE_DISTANCE_M / 2);
    const at = [x + NEW_NODE_DISTANCE_M, y];
    while (taken(at)) at[1] += NEW_NODE_DISTANCE_M;
    const node = network.nodes.length;
    const nodes = [...network.nodes, { name: this.freeName(wireless ? "n" : "host"), wireless, at }];
    const wires =
      wireless || !network.nodes[selected] ? network.wires : [...network.wires, { a: selected, b: node, ...NEW_WIRE }];
    this.selected = node;
    this.change({ ...network, nodes, wires });
  }

  addFlow() {
    const { network, selected } = this;
    const dst = network.nodes.findIndex((_, node) => node !== selected);
    if (dst >= 0) this.change({ ...network, flows: [...network.flows, { src: selected, dst, start_s: 0, like: 0 }] });
  }

  rename(name) {
    const taken = this.network.nodes.some((node, number) => node.name === name && number !== this.selected);
    if (!name || taken) {
      this.select(this.selected);
      return this.showAlert(taken ? `There is already a node called ${name}.` : "A node must have a name.");
    }
    this.change({
      ...this.network,
      nodes: this.network.nodes.map((node, number) => (number === this.selected ? { ...node, name } : node)),
    });
  }

  save() {
    this.saved = this.file;
    const file = new Blob([this.file], { type: "application/yaml" });
    const name = this.network.name.replace(/[^\p{L}\p{N}_]+/gu, "-").replace(/^-|-$/g, "") || "network";
    const link = makeElement("a", { href: URL.createObjectURL(file), download: `${name}.yaml` });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  draw() {
    const { network } = this;
    this.querySelector("h1").textContent = this.page.title ?? network.name;
    this.querySelector("[name='network']").value = network.name;
    this.querySelector("[name='rts']").checked = network.rts;
    this.querySelector("[name='routing']").value = network.routing;
    this.showHops();
    this.querySelector("textarea").value = this.file;
    this.places = network.nodes.map(({ at }) => at);
    for (const part of this.querySelectorAll(".motion")) part.hidden = !network.moves.length;
    for (const view of this.views) {
      view.scene?.svg.remove();
      view.scene = new Scene(view.box, {
        names: network.nodes.map(({ name }) => name),
        places: this.places,
        radios: network.nodes.map(({ wireless }) => wireless),
        gateway: null,
        wired: true,
        room: network.moves.map(([, , x, y]) => [x, y]),
        onMove: (node, place) => this.move(node, place),
      });
      view.box.prepend(view.box.querySelector("h2"));
      view.scene.svg.setAttribute(
        "aria-label",
        `The network under ${view.scheme.name}; nodes can be dragged, or moved by the arrow keys`,
      );
      this.show(view);
    }
    this.select(this.selected);
    this.listFlows();
  }

  /** Moves a node. A node that moves by itself can be moved at its start only, so the page first goes to that time. */
  move(node, place) {
    const walks = this.network.moves.filter(([mover]) => mover === node);
    if (walks.length && (this.nowS > 0 || this.playing)) {
      this.playing = false;
      this.labelPlay();
      this.querySelector(".showing").value = "walk";
      this.setMode("walk", 0);
      return;
    }
    if (this.network.nodes.some(({ at }, other) => other !== node && at[0] === place[0] && at[1] === place[1])) return;
    for (const first of walks) if (first[1] === 0) [first[2], first[3]] = place;
    this.network.nodes[node].at = place;
    this.places[node] = place;
    this.querySelector("textarea").value = this.file;
    for (const view of this.views) this.show(view);
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.refresh();
    });
  }

  /** Lists the flows. The focus stays on the same control. */
  listFlows() {
    const { network } = this;
    const ends = this.querySelector(".ends");
    const focused = ends.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    const choose = (index, end) => {
      const select = makeElement("select");
      select.setAttribute("aria-label", `Flow ${index}: ${end === "src" ? "from" : "to"}`);
      for (const [node, { name }] of network.nodes.entries()) {
        const selected = network.flows[index][end] === node;
        select.append(makeElement("option", { value: node, textContent: name, selected }));
      }
      select.addEventListener("change", () =>
        this.change({
          ...network,
          flows: network.flows.map((flow, number) =>
            number === index ? { ...flow, [end]: Number(select.value) } : flow,
          ),
        }),
      );
      return select;
    };
    ends.replaceChildren(
      ...network.flows.map((_, index) => {
        const removed = makeElement("button", { type: "button", textContent: "✖" });
        removed.setAttribute("aria-label", `Remove flow ${index}`);
        removed.addEventListener("click", () =>
          this.change({ ...network, flows: network.flows.filter((_flow, number) => number !== index) }),
        );
        return makeElement("li", {}, choose(index, "src"), " → ", choose(index, "dst"), " ", removed);
      }),
    );
    if (!focused) return;
    const again = [...ends.querySelectorAll("[aria-label]")].find(
      (part) => part.getAttribute("aria-label") === focused,
    );
    (again ?? ends.querySelector("li:last-child button") ?? this.querySelector("button.flow")).focus();
  }

  show({ scene, view }) {
    const { nodes, wires, flows, ranges } = this.network;
    const links = wires.map(({ a, b }) => ({ ends: [a, b], look: "wire" }));
    const apart = (a, b) => Math.hypot(this.places[a][0] - this.places[b][0], this.places[a][1] - this.places[b][1]);
    const radios = [...nodes.keys()].filter((node) => nodes[node].wireless);
    for (const a of radios)
      for (const b of radios) if (a < b && apart(a, b) <= ranges.decode_m) links.push({ ends: [a, b], look: "radio" });
    const full = Math.max(
      ...this.views.map(({ peakGoodput }) => peakGoodput?.[this.walking ? "interval" : "run"] ?? 0),
      1,
    );
    scene.show({
      places: this.places,
      links,
      ranges,
      full,
      flows: flows.map(({ src, dst }, index) => ({ src, dst, goodput_bps: this.goodputOf(view, index) })),
    });
  }

  /** The goodput of a flow: of the whole run, or of the current interval if the page shows the moving nodes. */
  goodputOf(view, flow) {
    const at = this.walking && view ? view.series.t_s.findIndex((end) => this.nowS < end) : -1;
    return (at < 0 ? view?.flows[flow]?.goodput_bps : view.series.flows[flow]?.goodput_bps[at]) ?? 0;
  }

  /** Puts the moving nodes at their positions, and draws the network again after each of their steps. */
  placeMovingNodes() {
    if (!this.walk) return;
    const step = Math.floor(this.nowS / this.walk.step_s + 1e-6);
    if (step === this.shownStep) return;
    this.shownStep = step;
    for (const [node, track] of Object.entries(this.walk.places))
      this.places[node] = track[Math.min(step, track.length - 1)];
    for (const view of this.views) this.show(view);
    const second = Math.floor(this.nowS);
    if (this.walking && second !== this.shownSecond) this.plot();
    this.shownSecond = second;
  }

  /** Runs one change at a time. After a run, only the newest of the changes during the run is run and shown. */
  async refresh() {
    if (this.busy) {
      this.changed = true;
      return;
    }
    this.busy = true;
    this.setAttribute("aria-busy", "true");
    const [startedMs, network, seed] = [performance.now(), structuredClone(this.network), this.seed];
    const messages = [];
    const missing = missingParts(network);
    const notice = this.backend.notice?.(network, seed);
    if (notice) this.showAlert(notice);
    // the run reports the error
    const pendingWalk = network.moves.length ? this.backend.places(network).catch(() => null) : null;
    await Promise.all(
      this.views.map(async (part) => {
        try {
          if (missing) throw new Error(missing);
          const { result, log } = await this.backend.run(part.scheme, network, seed);
          Object.assign(part, { log, view: result, peakGoodput: peakGoodput(result), failed: "" });
        } catch (error) {
          Object.assign(part, { log: null, view: null, peakGoodput: null, failed: error.message });
          if (!messages.includes(error.message)) messages.push(error.message);
        }
      }),
    );
    const goals = missing ? [] : await this.judge(network, seed);
    const walk = await pendingWalk;
    this.busy = false;
    if (this.changed) {
      this.changed = false;
      return this.refresh();
    }
    this.setAttribute("aria-busy", "false");
    this.lastRefreshMs = performance.now() - startedMs;
    this.showAlert(messages.join(" "));
    this.showGoals(goals);
    this.walk = walk;
    this.shownStep = null;
    for (const view of this.views) this.show(view);
    this.querySelector(".plots").hidden = !this.views.some(({ view }) => view);
    this.showTable(seed);
    this.plot();
    this.seek(this.at);
    this.dispatchEvent(new CustomEvent("settled"));
  }

  /** The goals of a design problem, from a run without and a run with RTS/CTS: [{ text, met, measured }]. */
  async judge(network, seed) {
    const { goals = [], schemes } = this.page;
    if (!goals.length) return [];
    const run = (rts) => this.backend.run(schemes[0], { ...network, rts }, seed).then(({ result }) => result.flows);
    const [off, on] = await Promise.all([run(false), run(true)]).catch(() => [[], []]);
    return goals.map((goal) => judgeGoal(goal, (goal.rts ? on : off)[goal.flow], network));
  }

  showGoals(goals) {
    const list = this.querySelector(".goals");
    list.hidden = !goals.length;
    list.replaceChildren(
      ...goals.map(({ text, met, measured }) =>
        makeElement("li", { className: met ? "met" : "", textContent: `${met ? "✓" : "✗"} ${text}: ${measured}` }),
      ),
    );
    if (goals.length && goals.every(({ met }) => met)) {
      list.append(makeElement("li", { className: "met", textContent: "✓ All goals are met." }));
    }
  }

  showAlert(text) {
    const line = this.querySelector(".trouble");
    line.textContent = text;
    line.hidden = !text;
  }

  showTable(seed) {
    const { nodes, flows } = this.network;
    const head = (text) => Object.assign(makeElement("th", { textContent: text }), { scope: "col" });
    const heads = this.views.flatMap(({ scheme }) => [head(`${scheme.name}, kbit/s`), head("round trip, ms")]);
    this.querySelector("thead").replaceChildren(makeElement("tr", {}, head("flow"), ...heads));
    this.querySelector("tbody").replaceChildren(
      ...flows.map(({ src, dst }, index) => {
        const name = Object.assign(makeElement("th", { textContent: `${nodes[src].name} → ${nodes[dst].name}` }), {
          scope: "row",
        });
        const cells = this.views.flatMap(({ view }) => {
          const flow = view?.flows[index];
          return [flow ? kbps(flow.goodput_bps) : "–", ms(flow?.rtt_mean_s)].map((text) =>
            makeElement("td", { textContent: text }),
          );
        });
        return makeElement("tr", {}, name, ...cells);
      }),
    );
    const inAll = flows.length > 1 ? " in all" : "";
    const sums = this.views
      .filter(({ view }) => view)
      .map(({ scheme, view }) => {
        const sum = view.flows.reduce((total, flow) => total + flow.goodput_bps, 0);
        return `${scheme.name} ${kbps(sum)} kbit/s${inAll}`;
      });
    this.querySelector(".numbers").textContent = !sums.length
      ? ""
      : `${sums.join(", ")} (seed ${seed}, ${this.page.schemes[0].air.duration_s} s simulated).`;
  }

  plot() {
    const shown = this.views.filter(({ view }) => view);
    if (!shown.length) return;
    const { nodes, flows } = this.network;
    const mean = (values) => {
      const known = values.filter((value) => value !== null);
      return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
    };
    const known = (what, flow) => (what === "rtt_s" ? roundTrips(flow) : flow[what]);
    const over = (view, what, join) => {
      const all = view.series.flows.map((flow) => known(what, flow));
      return view.series.t_s.map((_, at) => join(all.map((values) => values[at])));
    };
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    const single = shown.length === 1;
    const lines = (what, join, scale) =>
      (single
        ? shown[0].view.series.flows.slice(0, MAX_LINES).map((flow, index) => ({
            label: `${nodes[flows[index].src].name} → ${nodes[flows[index].dst].name}`,
            values: known(what, flow),
          }))
        : shown.map(({ scheme, view }) => ({ label: scheme.name, values: over(view, what, join) }))
      ).map(({ label, values }) => ({
        label,
        values: values.map((value) => (value === null ? null : Math.round(value * scale * 10) / 10)),
      }));
    const { t_s } = shown[0].view.series;
    const now = this.walking ? this.nowS : undefined;
    const which = flows.length > MAX_LINES ? ` of the first ${MAX_LINES} flows` : "";
    this.goodput.show({
      what: single ? `Goodput${which}` : "Goodput of all flows",
      unit: "kbit/s",
      t_s,
      lines: lines("goodput_bps", sum, 1e-3),
      now,
    });
    const trips = lines("rtt_s", mean, 1e3);
    const any = trips.some(({ values }) => values.some((value) => value !== null));
    this.trip.canvas.hidden = !any;
    if (any)
      this.trip.show({
        what: single ? `Round trip${which}` : "Round trip, mean of the flows",
        unit: "ms",
        t_s,
        lines: trips,
        now,
      });
  }

  seek(at) {
    this.at = at;
    this.placeMovingNodes();
    this.legend.hidden = this.walking;
    for (const { scene, log } of this.views) if (log) scene.play(this.walking ? NO_ACTIVITY : log, at);
    const time = this.querySelector(".time");
    [time.disabled, time.max, time.value] = [!this.walking, this.seconds, this.nowS];
    this.querySelector(".clock").textContent = this.walking
      ? `${this.nowS.toFixed(1)} s`
      : `${(this.nowS * 1e3).toFixed(2)} ms`;
  }
}

if (!customElements.get("pacelab-editor")) customElements.define("pacelab-editor", PacelabEditor);
