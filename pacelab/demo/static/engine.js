// The simulator in the page: an air configuration in, a result out (medium/README.md; medium/wasm says how).

/** Starts the engine from the bytes of its WebAssembly module. */
export async function startEngine(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, take, run, give_back: giveBack } = instance.exports;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  /** Runs `config`; throws an Error with the engine's one line when it is refused. */
  const start = (config) => {
    const text = encoder.encode(JSON.stringify(config));
    const at = take(text.length);
    new Uint8Array(memory.buffer, at, text.length).set(text);
    const out = run(at, text.length);
    const length = new DataView(memory.buffer).getUint32(out, true);
    const answer = JSON.parse(decoder.decode(new Uint8Array(memory.buffer, out + 4, length)));
    giveBack(out, 4 + length);
    if (answer.error) throw new Error(answer.error);
    return answer.result;
  };
  start.memoryBytes = () => memory.buffer.byteLength;
  return start;
}
