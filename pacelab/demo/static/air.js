// From controls to an air configuration, and from the engine's records to what a picture needs.

const NEVER = 4294967295;

const APPLY = {
  rate: (air, value) => { air.radio.data_rate_bps = value * 1e6; },
  rts: (air, value) => { air.radio.rts_threshold_bytes = value ? 0 : NEVER; },
  window: (air, value) => { for (const flow of air.flows) if (flow.kind === "tcp") flow.window_pkts = value; },
  sense: (air, value) => {
    const range = air.radio.propagation;
    range.sense_m = value;
    range.decode_m = Math.min(range.decode_m, value);
  },
  gap: () => {}, // moves nodes: the component has their places
};

/** The configuration for these control values and places ([[x, y], ...] in m). */
export function configure(demo, values, places, seed) {
  const air = structuredClone(demo.air);
  for (const control of demo.controls) APPLY[control.what](air, values[control.what]);
  air.nodes.forEach((node, index) => { if (node.wireless) node.position_m = places[index]; });
  air.seed = seed;
  return air;
}

/** The first `seconds` of it, with every event told. */
export const watched = (air, seconds) => ({ ...air, tap: true, duration_s: seconds, warmup_s: 0 });

// What reaches into a window began no longer before it: a frame, a wait, a backoff's draw.
const BEFORE_NS = 50e6;

/** Records that a log from `fromNs` on is read from. */
export const near = (records, fromNs) => records.filter(([at]) => at >= fromNs - BEFORE_NS);

/** Of a log what falls between two times, the first of which becomes its time 0. */
export function cut(log, fromNs, toNs = log.endNs) {
  const moved = (spans) => spans.filter((span) => span.end > fromNs && span.start < toNs)
    .map((span) => ({ ...span, start: Math.max(span.start - fromNs, 0), end: span.end - fromNs }));
  const { frames, hearings, collisions, holds, backoffs } = log;
  return {
    ...Object.fromEntries(Object.entries({ frames, hearings, collisions, holds, backoffs }).map(([name, spans]) => [name, moved(spans)])),
    marks: log.marks.filter(({ at }) => at >= fromNs && at <= toNs).map((mark) => ({ ...mark, at: mark.at - fromNs })),
    endNs: toNs - fromNs,
  };
}

const FRAMES = { "send-rts": "RTS", "send-cts": "CTS", "send-data": "DATA", "send-ack": "ACK" };
const HOLDS = { nav: "NAV", eifs: "EIFS" };
const MISHAPS = {
  retry: "retry", "drop-rts": "given up", "drop-data": "given up", "drop-queue": "queue full",
  "refuse-cts": "refuses CTS", "hold-data": "holds data back", capture: "survives by capture",
};

// 802.11b's, the longest of all: a countdown ends no later than they say.
const SLOT_NS = 20e3;
const DIFS_NS = 50e3;

/** Frames, collisions, waits and mishaps of the engine's records, which end at `endNs`; times in ns. */
export function readRecords(records, endNs) {
  const log = { frames: [], hearings: [], collisions: [], holds: [], backoffs: [], marks: [], endNs };
  const locks = new Map();
  const draws = new Map();
  const endDraw = (node, at) => {
    const draw = draws.get(node);
    if (draw && at > draw.start) log.backoffs.push({ ...draw, node, end: at });
    draws.delete(node);
  };
  const endLock = (node, end, decoded) => {
    const lock = locks.get(node);
    if (!lock) return;
    locks.delete(node);
    log.hearings.push({ node, start: lock.start, end });
    if (lock.collided !== null && !decoded)
      log.collisions.push({ node, peers: lock.peers, start: lock.collided, end });
  };
  for (const [at, node, what, peer, value] of records) {
    if (what in FRAMES) {
      if (what === "send-rts" || what === "send-data") endDraw(node, at);
      log.frames.push({ node, peer, kind: FRAMES[what], start: at, end: at + value });
    } else if (what === "lock") {
      endLock(node, Math.min(locks.get(node)?.end, at), false); // it was sending when that one ended
      locks.set(node, { peers: [peer], start: at, end: value, collided: null });
    } else if (what === "collide") {
      const lock = locks.get(node);
      if (lock) { lock.collided ??= at; lock.peers.push(peer); }
    } else if (what === "garbled" || what === "decode") {
      endLock(node, at, what === "decode");
    } else if (what === "backoff") {
      endDraw(node, at);
      if (value > 0) draws.set(node, { start: at, slots: value });
    } else if (what in HOLDS) {
      if (value > at) log.holds.push({ node, kind: HOLDS[what], start: at, end: value });
    }
    if (what in MISHAPS) log.marks.push({ node, at, what, text: MISHAPS[what], peer, count: value });
  }
  for (const node of [...locks.keys()]) endLock(node, endNs, locks.get(node).collided === null);
  for (const node of [...draws.keys()]) endDraw(node, endNs);
  const busy = new Map();
  for (const span of [...log.frames, ...log.hearings, ...log.holds].sort((a, b) => a.start - b.start)) {
    if (!busy.has(span.node)) busy.set(span.node, []);
    busy.get(span.node).push(span);
  }
  for (const backoff of log.backoffs)
    backoff.end = Math.min(backoff.end, countedDown(backoff, busy.get(backoff.node) ?? []));
  return log;
}

/** When the slots of a backoff have passed: a node with nothing to send goes on without one. */
function countedDown({ start, slots }, busy) {
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

/** The log as lines of text, by time. */
export function describe(log, names) {
  const ms = (ns) => (ns / 1e6).toFixed(3).padStart(7);
  const to = (peer) => (peer === null ? "all" : names[peer]);
  const lines = [
    ...log.frames.map((f) => [f.start, `${ms(f.start)} ms  ${names[f.node]} sends ${f.kind} to ${to(f.peer)}`]),
    ...log.collisions.map((c) => [c.start,
      `${ms(c.start)} ms  collision at ${names[c.node]}: ${[...new Set(c.peers)].map((p) => names[p]).join(" and ")}`]),
    ...log.marks.map((m) => [m.at, `${ms(m.at)} ms  ${names[m.node]}: ${m.text}${m.what === "retry" ? ` ${m.count}` : ""}`]),
  ];
  return lines.sort((a, b) => a[0] - b[0]).map((line) => line[1]);
}
