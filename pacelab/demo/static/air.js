// Translates controls into an air configuration, and the engine's records into a log that the pictures can draw.

const NEVER = 4294967295;

const APPLY_CONTROL = {
  rate: (air, value) => {
    air.radio.data_rate_bps = value * 1e6;
  },
  rts: (air, value) => {
    air.radio.rts_threshold_bytes = value ? 0 : NEVER;
  },
  window: (air, value) => {
    for (const flow of air.flows) if (flow.kind === "tcp") flow.window_pkts = value;
  },
  sense: (air, value) => {
    const range = air.radio.propagation;
    range.sense_m = value;
    range.decode_m = Math.min(range.decode_m, value);
  },
  routing: (air, value) => {
    air.routing = value;
  },
  hops: () => {}, // `shapeOf` has the nodes and flows for the number of hops.
  gap: () => {}, // The component moves the nodes itself.
};

/** The nodes with their labels, the wires and the flows for these control values. */
export const shapeOf = (demo, values) => demo.shapes?.[values.hops] ?? { ...demo.air, labels: demo.labels };

/** The configuration for these control values and positions ([[x, y], ...] in m). */
export function configure(demo, values, places, seed) {
  const { nodes, wired, flows } = shapeOf(demo, values);
  const air = structuredClone({ ...demo.air, nodes, wired, flows });
  for (const control of demo.controls) APPLY_CONTROL[control.what](air, values[control.what]);
  air.nodes.forEach((node, index) => {
    if (node.wireless) node.position_m = places[index];
  });
  air.seed = seed;
  return air;
}

/** The configuration of the first `seconds`, with a trace of every event. */
export const withTrace = (air, seconds) => ({ ...air, tap: true, duration_s: seconds, warmup_s: 0 });

// A frame, a deferral or a backoff that reaches into a window starts at most this long before the window.
const LOOKBACK_NS = 50e6;

/** The records that a log from `fromNs` on depends on. */
export const recordsFrom = (records, fromNs) => records.filter(([at]) => at >= fromNs - LOOKBACK_NS);

/** The part of a log between two times. The first time becomes time 0. */
export function clipLog(log, fromNs, toNs = log.endNs) {
  const clipped = (spans) =>
    spans
      .filter((span) => span.end > fromNs && span.start < toNs)
      .map((span) => ({ ...span, start: Math.max(span.start - fromNs, 0), end: span.end - fromNs }));
  const { frames, receptions, collisions, deferrals, backoffs } = log;
  return {
    ...Object.fromEntries(
      Object.entries({ frames, receptions, collisions, deferrals, backoffs }).map(([name, spans]) => [
        name,
        clipped(spans),
      ]),
    ),
    marks: log.marks.filter(({ at }) => at >= fromNs && at <= toNs).map((mark) => ({ ...mark, at: mark.at - fromNs })),
    endNs: toNs - fromNs,
  };
}

const FRAMES = {
  "send-rts": "RTS",
  "send-cts": "CTS",
  "send-data": "DATA",
  "send-ack": "ACK",
  "send-aggregate": "A-MPDU",
  "send-block-ack-request": "BAR",
  "send-block-ack": "BA",
};
/** Frames that a node sends when its backoff is over. */
const STARTING = new Set(["send-rts", "send-data", "send-aggregate", "send-block-ack-request"]);
const DEFERRALS = { nav: "NAV", eifs: "EIFS" };
const MARKED_EVENTS = {
  retry: "retry",
  "drop-rts": "given up",
  "drop-data": "given up",
  "drop-queue": "queue full",
  "refuse-cts": "refuses CTS",
  "hold-data": "holds data back",
  capture: "survives by capture",
  "lost-mpdus": "loses frames of an aggregate",
};

// These are the values of 802.11b, the longest of all PHYs. With them, no countdown ends later than computed.
const SLOT_NS = 20e3;
const DIFS_NS = 50e3;

/**
 * Reads frames, collisions, deferrals and other events from the engine's records. The records end at `endNs`. Times are
 * in ns.
 */
export function readRecords(records, endNs) {
  const log = { frames: [], receptions: [], collisions: [], deferrals: [], backoffs: [], marks: [], endNs };
  const locks = new Map();
  const backoffDraws = new Map();
  const endBackoff = (node, at) => {
    const backoffDraw = backoffDraws.get(node);
    if (backoffDraw && at > backoffDraw.start) log.backoffs.push({ ...backoffDraw, node, end: at });
    backoffDraws.delete(node);
  };
  const endLock = (node, end, decoded) => {
    const lock = locks.get(node);
    if (!lock) return;
    locks.delete(node);
    log.receptions.push({ node, start: lock.start, end });
    if (lock.collided !== null && !decoded) log.collisions.push({ node, peers: lock.peers, start: lock.collided, end });
  };
  for (const [at, node, what, peer, value] of records) {
    if (what in FRAMES) {
      if (STARTING.has(what)) endBackoff(node, at);
      log.frames.push({ node, peer, kind: FRAMES[what], start: at, end: at + value });
    } else if (what === "lock") {
      endLock(node, Math.min(locks.get(node)?.end, at), false); // The node was sending when the earlier frame ended.
      locks.set(node, { peers: [peer], start: at, end: value, collided: null });
    } else if (what === "collide") {
      const lock = locks.get(node);
      if (lock) {
        lock.collided ??= at;
        lock.peers.push(peer);
      }
    } else if (what === "garbled" || what === "decode") {
      endLock(node, at, what === "decode");
    } else if (what === "backoff") {
      endBackoff(node, at);
      if (value > 0) backoffDraws.set(node, { start: at, slots: value });
    } else if (what in DEFERRALS) {
      if (value > at) log.deferrals.push({ node, kind: DEFERRALS[what], start: at, end: value });
    }
    if (what in MARKED_EVENTS) log.marks.push({ node, at, what, text: MARKED_EVENTS[what], peer, count: value });
  }
  for (const node of [...locks.keys()]) endLock(node, endNs, locks.get(node).collided === null);
  for (const node of [...backoffDraws.keys()]) endBackoff(node, endNs);
  const busy = new Map();
  for (const span of [...log.frames, ...log.receptions, ...log.deferrals].sort((a, b) => a.start - b.start)) {
    if (!busy.has(span.node)) busy.set(span.node, []);
    busy.get(span.node).push(span);
  }
  for (const backoff of log.backoffs)
    backoff.end = Math.min(backoff.end, countdownEnd(backoff, busy.get(backoff.node) ?? []));
  return log;
}

/**
 * The end of a backoff. The records do not contain it if the node has nothing to send, so it is computed from the
 * slots.
 */
function countdownEnd({ start, slots }, busy) {
  let [idleFrom, left] = [start, slots * SLOT_NS];
  for (const span of busy) {
    if (span.end <= idleFrom) continue;
    const idle = span.start - idleFrom - DIFS_NS;
    if (idle >= left) break;
    left -= Math.floor(Math.max(0, idle) / SLOT_NS) * SLOT_NS;
    idleFrom = span.end;
  }
  return idleFrom + DIFS_NS + left;
}

/** The log as lines of text, in order of time. */
export function logAsText(log, names) {
  const ms = (ns) => (ns / 1e6).toFixed(3).padStart(7);
  const to = (peer) => (peer === null ? "all" : names[peer]);
  const lines = [
    ...log.frames.map((f) => [f.start, `${ms(f.start)} ms  ${names[f.node]} sends ${f.kind} to ${to(f.peer)}`]),
    ...log.collisions.map((c) => [
      c.start,
      `${ms(c.start)} ms  collision at ${names[c.node]}: ${[...new Set(c.peers)].map((p) => names[p]).join(" and ")}`,
    ]),
    ...log.marks.map((m) => [
      m.at,
      `${ms(m.at)} ms  ${names[m.node]}: ${m.text}${m.what === "retry" ? ` ${m.count}` : ""}`,
    ]),
  ];
  return lines.sort((a, b) => a[0] - b[0]).map((line) => line[1]);
}
