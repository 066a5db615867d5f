// The wired side of a network, as its controller reports it over REST: positions, flows with class, rate and MOS, and
// the scheme of each gateway. The page polls the state, so that a page that was in the background for long shows the
// current state.

const POLL_INTERVAL_MS = 1000;
const CURVE_POINTS = 60; // points of a curve
const MAX_CURVES = 4;
const MAX_ROWS = 50;
const MAX_NOTES = 200;
const MIN_FULL_BPS = 200e3;
const ACCEPTABLE_MOS = 3.6;
const STATION_DISTANCE_M = 110; // from a gateway to a walking station at this gateway, in the picture
const RING_RADIUS_M = 220;
const EVENT_KINDS = [
  "switch-up",
  "switch-down",
  "switch-refused",
  "link-up",
  "port-down",
  "station",
  "handover",
  "place-refused",
  "gateway",
  "policy",
  "class",
  "no-way",
  "rules-found",
  "refused",
];

/** Positions of all nodes that the controller knows: those of the `picture`, and other nodes of the topology. */
export function layOutNodes(picture, topology) {
  const nodes = (picture.nodes ?? []).map((node) => ({ ...node, place: [...(node.position_m ?? [0, 0])] }));
  const walking = new Set(picture.walking ?? []);
  const switchOf = new Map(nodes.flatMap((node, index) => (node.switch ? [[node.switch, index]] : [])));
  const nodeAt = new Map(nodes.map((node, index) => [node.address, index]));
  const unlistedSwitches = topology.switches.filter(({ id }) => !switchOf.has(id));
  const middle = nodes.length ? Math.max(...nodes.map(({ place }) => place[0])) + 2 * RING_RADIUS_M : 0;
  unlistedSwitches.forEach(({ id, name }, index) => {
    const angle = (2 * Math.PI * index) / unlistedSwitches.length - Math.PI / 2;
    switchOf.set(id, nodes.length);
    nodes.push({
      name,
      wireless: false,
      switch: id,
      place: [Math.round(middle + RING_RADIUS_M * Math.cos(angle)), Math.round(RING_RADIUS_M * Math.sin(angle))],
    });
  });
  const links = [];
  const beside = new Map();
  for (const { address, name, switch: id } of topology.stations) {
    const at = switchOf.get(id);
    if (at === undefined) continue;
    let index = nodeAt.get(address);
    if (index === undefined || walking.has(index)) {
      const count = beside.get(at) ?? 0;
      beside.set(at, count + 1);
      const [x, y] = nodes[at].place;
      // below a gateway, or outside of the ring
      const outward = nodes[at].position_m ? Math.PI / 2 : Math.atan2(y, x - middle);
      const angle = outward + 0.7 * (count % 2 ? -1 : 1) * Math.ceil(count / 2);
      const place = [
        Math.round(x + STATION_DISTANCE_M * Math.cos(angle)),
        Math.round(y + STATION_DISTANCE_M * Math.sin(angle)),
      ];
      if (index === undefined) {
        index = nodes.length;
        nodes.push({ name: name ?? address.split(".").at(-1), wireless: false, address, place });
        nodeAt.set(address, index);
      } else nodes[index].place = place;
    }
    if (index !== at) links.push({ ends: [at, index], look: nodes[index].wireless ? "radio" : "wire" });
  }
  const linked = new Set(topology.links.map(({ src, dst }) => `${switchOf.get(src)} ${switchOf.get(dst)}`));
  for (const [a, b] of picture.wires ?? []) {
    const known = nodes[a].switch && nodes[b].switch;
    if (known) links.push({ ends: [a, b], look: linked.has(`${a} ${b}`) || linked.has(`${b} ${a}`) ? "wire" : "down" });
  }
  for (const pair of linked) {
    const [a, b] = pair.split(" ").map(Number);
    if (!links.some(({ ends }) => ends.includes(a) && ends.includes(b))) links.push({ ends: [a, b], look: "wire" });
  }
  return { nodes, links, nodeAt, switchOf };
}

/** The ends of a flow, from a text such as "a:1 > b:2": names and ports. */
function readFlow(text, { nodes, nodeAt }) {
  const ends = text.split(" > ").map((end) => {
    const [address, port] = end.split(":");
    const node = nodeAt.get(address);
    return { node, port, name: node === undefined ? address : nodes[node].name };
  });
  return { src: ends[0], dst: ends[1] ?? ends[0] };
}

const formatRate = (bps) =>
  bps >= 1e6 ? `${(bps / 1e6).toFixed(2)} Mbit/s` : `${(bps / 1e3).toFixed(bps < 1e4 ? 1 : 0)} kbit/s`;
const plural = (count, what, ending = "s") => `${count} ${what}${count === 1 ? "" : ending}`;

function makeElement(kind, properties = {}, ...children) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
}

/**
 * Shows a controller's network in a component that has been started. `picture` is the argument of network_page
 * (network.py).
 */
export class NetworkPage {
  constructor(demo, picture) {
    Object.assign(this, { demo, picture, history: new Map(), gateways: new Map(), notes: [], full: MIN_FULL_BPS });
    this.token = new URLSearchParams(location.search).get("token") ?? "";
    demo.classList.toggle("schematic", !picture.nodes?.length); // Without positions, the picture has no scale.
    for (const part of demo.querySelectorAll(".bars, .controls")) part.remove();
    this.build();
    this.poll();
    this.listen();
  }

  build() {
    const key = makeElement("ul", { className: "looks" });
    for (const [look, text] of [
      ["tcp", "TCP"],
      ["voice", "voice"],
      ["other", "other"],
      ["radio", "radio link to the gateway"],
    ])
      key.append(makeElement("li", {}, makeElement("span", { className: `look ${look}` }), text));
    this.demo.querySelector(".view").append(key);
    this.panel = makeElement("section", { className: "gateways" });
    this.panel.setAttribute("aria-label", "Gateways");
    this.answer = makeElement("p", { className: "answered" });
    this.answer.setAttribute("role", "status");
    this.demo.querySelector(".side").prepend(makeElement("h2", { textContent: "Gateways" }), this.panel, this.answer);
    const heads = ["flow", "class", "rate", "round trip", "MOS", "path"].map((text) =>
      Object.assign(makeElement("th", { textContent: text }), { scope: "col" }),
    );
    this.rows = makeElement("tbody");
    this.caption = makeElement("caption");
    const table = makeElement(
      "table",
      { className: "flows" },
      this.caption,
      makeElement("thead", {}, makeElement("tr", {}, ...heads)),
      this.rows,
    );
    const tableBox = makeElement("div", { className: "table", tabIndex: 0 }, table);
    tableBox.setAttribute("role", "region");
    tableBox.setAttribute("aria-label", "Flows");
    this.log = makeElement("ol", { className: "notes", tabIndex: 0 });
    this.log.setAttribute("aria-label", "Events, newest first");
    this.demo
      .querySelector(".foot")
      .before(
        makeElement("h2", { textContent: "Flows" }),
        tableBox,
        makeElement("h2", { textContent: "Events" }),
        this.log,
      );
  }

  async ask(path, options = {}) {
    const headers = {
      Authorization: `Bearer ${this.token}`,
      ...(options.body ? { "Content-Type": "application/json" } : {}),
    };
    const response = await fetch(path, { ...options, headers });
    if (response.status === 401)
      throw new Error(
        "The token in this page's address does not belong to this controller. " +
          "Open the link that the controller printed.",
      );
    const found = await response.json();
    if (!response.ok) throw new Error(typeof found.detail === "string" ? found.detail : JSON.stringify(found.detail));
    return found;
  }

  async poll() {
    for (;;) {
      try {
        const [topology, flows, gateways] = await Promise.all(
          ["/v1/topology", `/v1/flows?limit=${MAX_ROWS}`, "/v1/gateways"].map((path) => this.ask(path)),
        );
        this.show(topology, flows, gateways);
      } catch (error) {
        const gone = error instanceof TypeError;
        this.demo.showAlert(
          gone
            ? "The controller does not answer. Flows that have rules continue. " +
                "This page continues when the controller answers again."
            : error.message,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
    }
  }

  show(topology, flows, gateways) {
    const { demo } = this;
    const found = layOutNodes(this.picture, topology);
    const names = found.nodes.map(({ name }) => name);
    const places = found.nodes.map(({ place }) => place);
    if (String(names) !== String(demo.demo.labels)) {
      demo.demo.labels = names;
      demo.demo.air.nodes = found.nodes.map(({ wireless }) => ({ wireless }));
      demo.places = places;
      demo.makeScene();
    } else demo.setPlaces(places);
    const flowRows = flows.flows.map((row) => ({ row, ...readFlow(row.flow, found) }));
    this.full = Math.max(this.full, ...flows.flows.map((row) => row.rate_bps));
    this.recordRates(flowRows);
    const counters = Object.entries(topology.counters).map(([what, count]) => `${what}: ${count}`);
    const links = topology.links.length / 2;
    demo.showView({
      flows: flowRows.flatMap((flow) => this.arrows(flow, found)),
      links: found.links,
      calls: [],
      ranges: { decode_m: 0, sense_m: 0 },
      curves: this.curves(flowRows),
      full_bps: this.full,
      numbers:
        `${plural(topology.switches.length, "switch", "es")}, ${plural(links, "link")}, ` +
        `${plural(topology.stations.length, "address", "es")}. ` +
        (counters.length ? `Refused or not forwarded: ${counters.join(", ")}.` : "Nothing was refused."),
    });
    this.showFlows(flowRows, flows.count, found);
    for (const gateway of gateways) this.showGateway(gateway);
    if (!gateways.length && !this.panel.children.length)
      this.panel.replaceChildren(
        makeElement("p", {
          className: "none",
          textContent: "No gateway agent is connected. Start one with: pacelab gateway --controller URL",
        }),
      );
  }

  arrows({ row, src, dst }, { switchOf }) {
    if (!row.rate_bps) return [];
    const way = [src.node, ...row.path.map((id) => switchOf.get(id)), dst.node].filter((node) => node !== undefined);
    const stops = way.filter((node, index) => node !== way[index - 1]);
    return stops
      .slice(1)
      .map((node, index) => ({ src: stops[index], dst: node, goodput_bps: row.rate_bps, look: row.class }));
  }

  recordRates(flowRows) {
    const now = new Map(flowRows.map(({ row }) => [row.flow, row.rate_bps / 1e3]));
    for (const flow of now.keys()) if (!this.history.has(flow)) this.history.set(flow, Array(CURVE_POINTS).fill(null));
    for (const [flow, values] of this.history) {
      values.push(now.get(flow) ?? null);
      values.shift();
      if (values.every((value) => value === null)) this.history.delete(flow);
    }
  }

  curves(flowRows) {
    const lines = flowRows
      .slice(0, MAX_CURVES)
      .map(({ row, src, dst }) => ({ label: `${src.name} → ${dst.name}`, values: [...this.history.get(row.flow)] }));
    return {
      what: "Rate",
      unit: "kbit/s",
      low: 0,
      t_s: Array.from({ length: CURVE_POINTS }, (_, at) => at + 1 - CURVE_POINTS),
      lines,
    };
  }

  showFlows(flowRows, count, { nodes, switchOf }) {
    this.caption.textContent =
      count > flowRows.length ? `The ${flowRows.length} fastest of ${plural(count, "flow")}` : plural(count, "flow");
    this.rows.replaceChildren(
      ...flowRows.map(({ row, src, dst }) => {
        const bar = makeElement("span", { className: `part ${row.class}` });
        bar.style.width = `${(100 * row.rate_bps) / this.full}%`;
        const ends = [src, dst].map(({ name, port }) =>
          port === undefined || port === "0" ? name : `${name}:${port}`,
        );
        const mos = row.mos === null ? "–" : `${row.mos.toFixed(2)} ${row.mos >= ACCEPTABLE_MOS ? "✔" : "✖"}`;
        const way = row.path.map((id) => nodes[switchOf.get(id)]?.name ?? id).join(" → ");
        const cell = (text) => makeElement("td", { textContent: text });
        const kind = cell(row.class === "tcp" ? "TCP" : row.class);
        kind.append(makeElement("small", { textContent: row.class === "tcp" ? "" : ` ${row.reason}` }));
        const carried = cell("");
        carried.className = "rate";
        carried.append(bar, makeElement("span", { textContent: formatRate(row.rate_bps) }));
        return makeElement(
          "tr",
          {},
          Object.assign(makeElement("th", { textContent: ends.join(" → ") }), { scope: "row" }),
          kind,
          carried,
          cell(row.rtt_s === null ? "–" : `${Math.round(1e3 * row.rtt_s)} ms`),
          cell(mos),
          cell(way),
        );
      }),
    );
  }

  showGateway(gateway) {
    if (!this.gateways.has(gateway.name)) {
      this.panel.querySelector(".none")?.remove();
      this.gateways.set(gateway.name, this.makeGateway(gateway.name));
    }
    const part = this.gateways.get(gateway.name);
    part.limits = gateway.limits;
    const wanted =
      gateway.wanted_scheme && gateway.wanted_scheme !== gateway.scheme
        ? `; ${gateway.wanted_scheme} was requested`
        : "";
    const refused = gateway.refused ? `; refused: ${gateway.refused}` : "";
    const silent = gateway.alive ? "" : "; its agent does not answer";
    part.state.textContent = `runs ${gateway.scheme}${wanted}${refused}${silent}`;
    if (String([...part.select.options].map(({ value }) => value)) !== String(gateway.schemes)) {
      part.select.replaceChildren(
        ...gateway.schemes.map((name) => makeElement("option", { value: name, textContent: name })),
      );
      part.select.value = gateway.wanted_scheme ?? gateway.scheme;
    }
  }

  makeGateway(name) {
    const select = makeElement("select");
    const button = makeElement("button", { type: "button", textContent: "Switch" });
    button.setAttribute("aria-label", `Switch ${name} to the chosen scheme`);
    const state = makeElement("span", { className: "state" });
    const part = { select, state, limits: {} };
    button.addEventListener("click", async () => {
      try {
        const body = JSON.stringify({ scheme: select.value, limits: part.limits });
        const found = await this.ask(`/v1/gateways/${encodeURIComponent(name)}/policy`, { method: "PUT", body });
        this.answer.textContent = `${name} was asked to run ${found.wanted_scheme}.`;
      } catch (error) {
        this.answer.textContent = error instanceof TypeError ? "The controller does not answer." : error.message;
      }
    });
    select.setAttribute("aria-label", `Scheme of ${name}`);
    this.panel.append(
      makeElement("div", { className: "gateway" }, makeElement("b", { textContent: name }), select, button, state),
    );
    return part;
  }

  listen() {
    const source = new EventSource(`/v1/events?since=1&token=${encodeURIComponent(this.token)}`);
    const names = () => new Map((this.picture.nodes ?? []).map(({ address, name }) => [address, name]));
    source.onopen = () => {
      this.notes = [];
      this.first = undefined;
    };
    for (const kind of EVENT_KINDS)
      source.addEventListener(kind, ({ data }) => {
        const { t_s: at, ...rest } = JSON.parse(data);
        this.first ??= at;
        const known = names();
        const details = Object.entries(rest)
          .filter(([, value]) => value !== null && String(value) !== "[object Object]")
          .map(([what, value]) => `${what} ${known.get(value) ?? value}`);
        this.notes.unshift(`${(at - this.first).toFixed(1)} s  ${kind}: ${details.join(", ")}`);
        this.notes.length = Math.min(this.notes.length, MAX_NOTES);
        this.scheduleLog();
      });
  }

  /** Writes the log once per frame of the screen, because the stream starts with all past events. */
  scheduleLog() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = undefined;
      this.log.replaceChildren(
        ...this.notes.map((text) =>
          makeElement("li", { textContent: text, className: / handover:/.test(text) ? "handover" : "" }),
        ),
      );
    });
  }
}
