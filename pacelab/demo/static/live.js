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
