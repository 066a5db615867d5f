// The engine in the page. It takes an air configuration and returns a result (medium/README.md; interface:
// medium/wasm).

const GZIP = 0x1f; // the first byte

/** Starts the engine from the bytes of its WebAssembly module, which may be compressed. */
export async function startEngine(bytes) {
  const module = bytes[0] === GZIP ? await unzip(bytes) : bytes;
  const { instance } = await WebAssembly.instantiate(module, {});
  const { memory, take, run, places, give_back: giveBack } = instance.exports;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  const call = (entryPoint, config) => {
    const text = encoder.encode(JSON.stringify(config));
    const at = take(text.length);
    new Uint8Array(memory.buffer, at, text.length).set(text);
    const out = entryPoint(at, text.length);
    const length = new DataView(memory.buffer).getUint32(out, true);
    const answer = JSON.parse(decoder.decode(new Uint8Array(memory.buffer, out + 4, length)));
    giveBack(out, 4 + length);
    if (answer.error) throw new Error(answer.error);
    return answer.result;
  };

  /** Runs `config`. Throws an Error with the engine's message if the engine refuses the configuration. */
  const start = (config) => call(run, config);
  /** The positions of nodes that move: `{ step_s, places: { node: [[x, y], ...] } }`. */
  start.places = (config) => call(places, config);
  start.memoryBytes = () => memory.buffer.byteLength;
  return start;
}

function unzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
