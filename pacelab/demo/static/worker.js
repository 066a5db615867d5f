// The editor's Web Worker. It runs the engine in a thread of its own, so that the page stays responsive during a run.
// The first message brings the engine's bytes; each later message is a request, which gets one answer with the same id.

import { startEngine } from "./engine.js";

let engine;

self.onmessage = async ({ data: { engine: bytes, id, air, until_s, onlyPlaces } }) => {
  if (bytes) {
    engine = startEngine(bytes);
    return;
  }
  try {
    const run = await engine;
    if (onlyPlaces) postMessage({ id, ...run.places(air) });
    else postMessage({ id, result: run(air), tap: run({ ...air, tap: true, duration_s: until_s, warmup_s: 0 }).tap });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
};
