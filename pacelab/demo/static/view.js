// The back ends. A back end is a function from a change, { values, places, seed }, to a view or to a promise of a view.
// A view is what the component shows of a run:
//
//   { flows: [{ label, src, dst, goodput_bps, alone_bps? }], calls: [{ label, mos }], ranges: { decode_m, sense_m },
//     numbers: "one line", log?: the events on the air, curves?: { what, unit, t_s, lines: [{ label, values }] } }

import { clipLog, configure, readRecords, recordsFrom, shapeOf, withTrace } from "./air.js";

/** Runs the engine in this page. It answers at once, and its views have a log of the interval shown in slow motion. */
export function engineBackend(demo, engine) {
  const simulate = (air, labels) => {
    try {
      return engine(air);
    } catch (error) {
      throw new Error(explainError(error.message, labels, air));
    }
  };
  const run = ({ values, places, seed }) => {
    const air = configure(demo, values, places, seed);
    const { labels } = shapeOf(demo, values);
    const result = simulate(air, labels);
    const fromNs = demo.watch_from_s * 1e9;
    const untilS = demo.watch_from_s + demo.watch_s;
    const log = clipLog(readRecords(recordsFrom(engine(withTrace(air, untilS)).tap, fromNs), untilS * 1e9), fromNs);
    const alone =
      air.flows.length > 1 ? air.flows.map((flow) => engine({ ...air, flows: [flow] }).flows[0].goodput_bps) : [];
    return { ...engineView(labels, air, result, alone), log, air, result };
  };
  /** Only the goodput of all flows together, which needs no trace. */
  run.goodput = ({ values, places, seed }) =>
    totalGoodput(simulate(configure(demo, values, places, seed), shapeOf(demo, values).labels).flows);
  run.memoryBytes = engine.memoryBytes;
  return run;
}

/** An error message of the engine, with the names that the picture uses. */
function explainError(message, labels, air) {
  const flow = air.flows[/^flow (\d+): no path/.exec(message)?.[1]];
  if (!flow) return message;
  const [from, to] = [labels[flow.src], labels[flow.dst]];
  const { decode_m: range } = air.radio.propagation;
  return (
    `There is no path from ${from} to ${to}: a radio decodes frames from at most ${range} m. ` +
    "Reset puts the nodes back."
  );
}

export const totalGoodput = (flows) => flows.reduce((total, flow) => total + flow.goodput_bps, 0);

function engineView(names, air, result, alone) {
  const flows = result.flows.map(({ goodput_bps }, index) => {
    const { src, dst } = air.flows[index];
    return { label: `${names[src]} → ${names[dst]}`, src, dst, goodput_bps, alone_bps: alone[index] };
  });
  const sum = (...keys) =>
    result.nodes.reduce((total, node) => total + keys.reduce((part, key) => part + (node[key] ?? 0), 0), 0);
  const frames = sum("rts_sent", "data_sent");
  const share = frames ? Math.round((100 * sum("rts_failures", "data_failures")) / frames) : 0;
  const lost = sum("drops_rts", "drops_data");
  const numbers =
    `${share} % of RTS and data frames failed, and ${lost} packet${lost === 1 ? " was" : "s were"} given up ` +
    `(seed ${air.seed}, ${air.duration_s - air.warmup_s}\u00a0s after a warm-up of ${air.warmup_s}\u00a0s).` +
    (alone.length ? " Black mark: the flow alone." : "");
  return {
    flows,
    calls: [],
    ranges: air.radio.propagation,
    numbers,
    full_bps: air.radio.data_rate_bps * (flows.length > 1 ? 2 : 1),
  };
}

/** Runs Python schemes through the local server. */
export function serverBackend(demo) {
  return async (change) => {
    const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(change) };
    const response = await fetch(`/${demo.name}/run${location.search}`, request).catch(() => null);
    if (!response)
      throw new Error("The local server does not answer. Start pacelab demo again and open the link that it prints.");
    if (!response.ok) throw new Error((await response.text()).trim());
    return response.json();
  };
}

/** Shows the runs recorded in the file: every setting with a few seeds. The nodes cannot be moved. */
export function recordedBackend(demo, rows) {
  const seeds = [...new Set(rows.map(([key]) => key.at(-1)))];
  const recorded = new Map(rows.map(([key, view]) => [JSON.stringify(key), view]));
  const run = ({ values, seed }) => {
    const chosen = demo.controls.map((control) => values[control.what]);
    return recorded.get(JSON.stringify([...chosen, seeds[(seed - seeds[0]) % seeds.length]]));
  };
  run.fixed = true;
  return run;
}

// A running network: the local server sends its frames and flows as server-sent events.

const EMPTY_CURVES = { what: "Goodput", unit: "kbit/s", low: 0, t_s: [], lines: [] };

/** A back end without runs, for a page that gets its views in another way. The nodes cannot be moved. */
export function idleBackend() {
  const ranges = { decode_m: 0, sense_m: 0 };
  const run = () => ({
    flows: [],
    calls: [],
    ranges,
    curves: EMPTY_CURVES,
    full_bps: 1e6,
    numbers: "Waiting for the network …",
  });
  run.fixed = true;
  return run;
}

/** Shows the server's events in the component. */
export function followNetwork(element) {
  const source = new EventSource(`/live/events${location.search}`);
  source.addEventListener("view", ({ data }) => {
    const view = JSON.parse(data);
    if (view.places) element.setPlaces(view.places);
    element.showView(view);
  });
  source.addEventListener("frames", ({ data }) => {
    const frames = JSON.parse(data).map(([node, peer]) => ({ node, peer, kind: "DATA", start: 0, end: 1 }));
    element.scene.play({ frames, deferrals: [], backoffs: [], collisions: [] }, 0);
  });
  source.addEventListener("end", ({ data }) => {
    source.close();
    element.showAlert(`${JSON.parse(data)}. Start the network and this page again.`);
  });
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) return;
    element.showAlert(
      "The local server does not answer. Start pacelab demo --live again and open the link that it prints.",
    );
  };
  return source;
}
