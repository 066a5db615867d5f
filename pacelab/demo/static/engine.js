// The simulator in the page: an air configuration in, a result out (medium/README.md; medium/wasm says how).

/** Starts the engine from the bytes of its WebAssembly module. */
export async function startEngine(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, take, run, places, give_back: giveBack } = instance.exports;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  const ask = (door, config) => {
    const text = encoder.encode(JSON.stringify(config));
    const at = take(text.length);
    new Uint8Array(memory.buffer, at, text.length).set(text);
    const out = door(at, text.length);
    const length = new DataView(memory.buffer).getUint32(out, true);
    const answer = JSON.parse(decoder.decode(new Uint8Array(memory.buffer, out + 4, length)));
    giveBack(out, 4 + length);
    if (answer.error) throw new Error(answer.error);
    return answer.result;
  };

  /** Runs `config`; throws an Error with the engine's one line when it is refused. */
  const start = (config) => ask(run, config);
  /** Where its nodes that move are: `{ step_s, places: { node: [[x, y], ...] } }`. */
  start.places = (config) => ask(places, config);
  start.memoryBytes = () => memory.buffer.byteLength;
  return start;
}
