// What the component shows of a run, whichever back end ran it:
//
//   { flows: [{ label, src, dst, goodput_bps, alone_bps? }], calls: [{ label, mos }], ranges: { decode_m, sense_m },
//     numbers: "one line", log?: what happened on the air, curves?: { what, unit, t_s, lines: [{ label, values }] } }
//
// A back end is a function from a change, { values, places, seed }, to that, or to a promise of it.

import { configure, cut, near, readRecords, watched } from "./air.js";

/** The engine in this page: at once, and with the first moments' every event. */
export function engineRuns(demo, engine) {
  const carry = (air) => {
    try {
      return engine(air);
    } catch (error) {
      throw new Error(inWords(error.message, demo, air));
    }
  };
  const run = ({ values, places, seed }) => {
    const air = configure(demo, values, places, seed);
    const result = carry(air);
    const fromNs = demo.watch_from_s * 1e9;
    const untilS = demo.watch_from_s + demo.watch_s;
    const log = cut(readRecords(near(engine(watched(air, untilS)).tap, fromNs), untilS * 1e9), fromNs);
    const alone = air.flows.length > 1 ? air.flows.map((flow) => engine({ ...air, flows: [flow] }).flows[0].goodput_bps) : [];
    return { ...engineView(demo, air, result, alone), log, air, result };
  };
  /** Goodput of all flows, and nothing else. */
  run.carried = ({ values, places, seed }) => sumOf(carry(configure(demo, values, places, seed)).flows);
  run.memoryBytes = engine.memoryBytes;
  return run;
}

/** What the engine refuses, by the names that the picture has. */
function inWords(said, demo, air) {
  const flow = air.flows[/^flow (\d+): no path/.exec(said)?.[1]];
  if (!flow) return said;
  const [from, to] = [demo.labels[flow.src], demo.labels[flow.dst]];
  return `No way from ${from} to ${to}: radios decode frames from up to ${air.radio.propagation.decode_m} m. Reset puts the nodes back.`;
}

export const sumOf = (flows) => flows.reduce((total, flow) => total + flow.goodput_bps, 0);

function engineView(demo, air, result, alone) {
  const names = demo.labels;
  const flows = result.flows.map(({ goodput_bps }, index) => {
    const { src, dst } = air.flows[index];
    return { label: `${names[src]} → ${names[dst]}`, src, dst, goodput_bps, alone_bps: alone[index] };
  });
  const sum = (...keys) => result.nodes.reduce((total, node) => total + keys.reduce((part, key) => part + (node[key] ?? 0), 0), 0);
  const frames = sum("rts_sent", "data_sent");
  const share = frames ? Math.round((100 * sum("rts_failures", "data_failures")) / frames) : 0;
  const lost = sum("drops_rts", "drops_data");
  const numbers = `${share} % of RTS and data frames in vain, ${lost} packet${lost === 1 ? "" : "s"} given up ` +
    `(seed ${air.seed}, ${air.duration_s - air.warmup_s}\u00a0s of air after ${air.warmup_s}\u00a0s${alone.length ? "; mark: alone" : ""}).`;
  return { flows, calls: [], ranges: air.radio.propagation, numbers, full_bps: air.radio.data_rate_bps * (flows.length > 1 ? 2 : 1) };
}

/** The Python schemes behind the local server. */
export function serverRuns(demo) {
  return async (change) => {
    const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(change) };
    const response = await fetch(`/${demo.name}/run${location.search}`, request).catch(() => null);
    if (!response) throw new Error("The local server does not answer. Start pacelab demo again and open the link that it prints.");
    if (!response.ok) throw new Error((await response.text()).trim());
    return response.json();
  };
}

/** Runs kept in the file: every setting with a few seeds; places stay. */
export function recordedRuns(demo, rows) {
  const seeds = [...new Set(rows.map(([key]) => key.at(-1)))];
  const kept = new Map(rows.map(([key, view]) => [JSON.stringify(key), view]));
  const run = ({ values, seed }) => {
    const chosen = demo.controls.map((control) => values[control.what]);
    return kept.get(JSON.stringify([...chosen, seeds[(seed - seeds[0]) % seeds.length]]));
  };
  run.fixed = true;
  return run;
}

// A running network: the local server tells of its frames and flows by server-sent events.

const NOTHING = { what: "Goodput", unit: "kbit/s", low: 0, t_s: [], lines: [] };

/** A back end that has run nothing; nodes stay where the network has them. */
export function nothingYet() {
  const ranges = { decode_m: 0, sense_m: 0 };
  const run = () => ({ flows: [], calls: [], ranges, curves: NOTHING, full_bps: 1e6, numbers: "Waiting for the network …" });
  run.fixed = true;
  return run;
}

/** Shows in the component what the server tells. */
export function follow(element) {
  const source = new EventSource(`/live/events${location.search}`);
  source.addEventListener("view", ({ data }) => {
    const view = JSON.parse(data);
    if (view.places) element.move(view.places);
    element.take(view);
  });
  source.addEventListener("beams", ({ data }) => {
    const frames = JSON.parse(data).map(([node, peer]) => ({ node, peer, kind: "DATA", start: 0, end: 1 }));
    element.scene.play({ frames, holds: [], backoffs: [], collisions: [] }, 0);
  });
  source.addEventListener("end", ({ data }) => {
    source.close();
    element.trouble(`${JSON.parse(data)}. Start the network and this page again.`);
  });
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) return;
    element.trouble("The local server does not answer. Start pacelab demo --live again and open the link that it prints.");
  };
  return source;
}
