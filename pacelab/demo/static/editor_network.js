// The network that the editor changes, as a plain object: from an air configuration and back, as a topology file, and what
// can be done with it.

const NEVER_RTS = 4294967295;

/** The network of an air configuration, with the parts that the editor does not draw. */
export function fromAir(air, file) {
  return {
    ...file,
    nodes: air.nodes.map(({ name, wireless, position_m }) => ({ name, wireless, at: [...position_m] })),
    wires: air.wired.map((wire) => ({ ...wire })),
    flows: air.flows.map(({ src, dst, start_s, stop_s }, like) => ({ src, dst, start_s, stop_s, like })),
    moves: (air.moves ?? []).map((row) => [...row]),
    rates: [...(air.link_rates_bps ?? []).map((row) => [0, ...row]), ...(air.rate_changes ?? [])].map((row) => [
      ...row,
    ]),
    rts: air.radio.rts_threshold_bytes === 0,
    routing: air.routing,
  };
}

/** An air configuration of this network, with the other settings of `air`. */
export function toAir(network, air, seed) {
  const { nodes, wires, flows, moves, rates, rts, routing } = network;
  const made = { ...air, seed, routing, radio: { ...air.radio, rts_threshold_bytes: rts ? 0 : NEVER_RTS } };
  made.nodes = nodes.map(({ name, wireless, at }) => ({ name, wireless, position_m: at }));
  made.wired = wires;
  made.flows = flows.map(({ src, dst, start_s, stop_s, like }, id) => {
    const flow = { ...air.flows[like], id, src, dst, start_s };
    delete flow.stop_s;
    return stop_s === undefined ? flow : { ...flow, stop_s };
  });
  const first = rates.filter(([at]) => at === 0).map(([, ...row]) => row);
  const later = rates.filter(([at]) => at > 0);
  for (const [name, rows] of [
    ["moves", moves],
    ["link_rates_bps", first],
    ["rate_changes", later],
  ]) {
    if (rows.length) made[name] = rows;
    else delete made[name];
  }
  return made;
}

const number = (value) => String(Number(value.toFixed(6)));

/** The network as a topology file (docs/own-code.md). */
export function toYaml(network) {
  const { name, description, ranges, area_m, nodes, wires, flows, moves, rates, defaults, rts, routing } = network;
  const text = JSON.stringify; // JSON strings are valid YAML
  const place = ([x, y]) => `[${number(x)} m, ${number(y)} m]`;
  const named = (node) => text(nodes[node].name);
  const part = (title, rows) => (rows.length ? `\n${title}:\n${rows.map((row) => `  - {${row}}\n`).join("")}` : "");
  const loss = ranges.exponent ? `, exponent: ${ranges.exponent}, shadowing: ${number(ranges.shadowing_db)} dB` : "";
  const options = { ...defaults, rts: rts ? "on" : "off", routing };
  return (
    `version: 1\nname: ${text(name)}\ndescription: ${text(description)}\n` +
    `ranges: {decode: ${number(ranges.decode_m)} m, sense: ${number(ranges.sense_m)} m${loss}}\n` +
    part(
      "nodes",
      nodes.map((node) => `name: ${text(node.name)}, at: ${place(node.at)}${node.wireless ? "" : ", wired: true"}`),
    ) +
    part(
      "wires",
      wires.map(
        (wire) =>
          `between: [${named(wire.a)}, ${named(wire.b)}], rate: ${wire.rate_bps} bit/s, ` +
          `delay: ${number(wire.delay_s * 1e6)} us, queue: ${wire.queue_pkts}`,
      ),
    ) +
    part(
      "flows",
      flows.map(
        (flow) =>
          `from: ${named(flow.src)}, to: ${named(flow.dst)}` +
          (flow.start_s ? `, start: ${number(flow.start_s)} s` : "") +
          (flow.stop_s === undefined ? "" : `, stop: ${number(flow.stop_s)} s`),
      ),
    ) +
    (area_m && moves.length ? `\nmobility:\n  area: ${place(area_m)}` : "") +
    part(
      area_m ? "  waypoints" : "moves",
      moves.map(([node, at, x, y]) => `node: ${named(node)}, at: ${number(at)} s, to: ${place([x, y])}`),
    ) +
    part(
      "rates",
      rates.map(([at, a, b, bps]) => `from: ${named(a)}, to: ${named(b)}, rate: ${bps} bit/s, at: ${number(at)} s`),
    ) +
    `\ndefaults:\n${Object.entries(options)
      .map(([option, value]) => `  ${option}: ${text(value)}\n`)
      .join("")}`
  );
}

/**
 * The network with a description that is still true: once changed, it is not the built-in network that it started as.
 */
export function withDescription(network, page) {
  const shape = ({ nodes, wires, flows }) => JSON.stringify([nodes, wires, flows]);
  const builtIn = [fromAir(page.schemes[0].air, page.file), ...Object.values(page.chains ?? {}).map(ofChain(page))];
  const same = builtIn.find((candidate) => shape(candidate) === shape(network));
  return { ...network, description: (same ?? { description: page.file.drawn }).description ?? network.description };
}

/** A function from the chain of a number of hops to its network. */
export const ofChain = (page) => (chain) =>
  fromAir({ ...page.schemes[0].air, ...chain }, { ...page.file, description: chain.description });

/** The number of hops of the chain that this network is, or undefined. */
export function hopsOf(network, page) {
  const description = withDescription(network, page).description;
  return Object.keys(page.chains ?? {}).find((hops) => page.chains[hops].description === description);
}

/** The network without a node, and without the wires, flows, moves and rates of this node. */
export function withoutNode(network, removed) {
  const kept = (node) => node !== removed;
  const next = (node) => (node > removed ? node - 1 : node);
  return {
    ...network,
    nodes: network.nodes.filter((_, node) => kept(node)),
    wires: network.wires
      .filter(({ a, b }) => kept(a) && kept(b))
      .map((wire) => ({ ...wire, a: next(wire.a), b: next(wire.b) })),
    flows: network.flows
      .filter(({ src, dst }) => kept(src) && kept(dst))
      .map((flow) => ({ ...flow, src: next(flow.src), dst: next(flow.dst) })),
    moves: network.moves.filter(([node]) => kept(node)).map(([node, ...rest]) => [next(node), ...rest]),
    rates: network.rates.filter(([, a, b]) => kept(a) && kept(b)).map(([at, a, b, bps]) => [at, next(a), next(b), bps]),
  };
}

/** What a network lacks for a run, as a message. The empty string if it can run. */
export function missingParts({ nodes, flows }) {
  if (!nodes.some(({ wireless }) => wireless)) return "There is no radio: add one.";
  if (!flows.length) return "There is no flow: add one.";
  const alone = flows.findIndex(({ src, dst }) => src === dst);
  return alone < 0 ? "" : `Flow ${alone} goes from ${nodes[flows[alone].src].name} to itself: choose another end.`;
}
