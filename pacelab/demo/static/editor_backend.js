// Where the editor's networks run: in a worker of the page, in Pyodide, at the local server, or as recorded runs.

import { clipLog, readRecords, recordsFrom } from "./air.js";
import { fromAir, toAir, toYaml } from "./editor_network.js";

/**
 * Runs the schemes: in a worker of this page, at the local server, or from the runs recorded in the file. A page with the
 * address of Pyodide runs Python schemes itself, unless it was opened as a file: then a browser starts no Pyodide.
 */
export function editorBackend(page) {
  const initialFile = toYaml(fromAir(page.schemes[0].air, page.file));
  const [from, to] = page.watch_s.map((s) => s * 1e9);
  const firstSeed = page.schemes[0].air.seed;
  const recordedCount = Object.values(page.recorded ?? {})[0]?.length ?? Infinity;
  const worker = new WorkerLink(page.worker, {
    engine: Uint8Array.from(atob(page.engine), (letter) => letter.charCodeAt(0)),
  });
  const python = page.pyodide && location.protocol !== "file:" ? pythonLink(page) : null;
  const isRecorded = (network, seed) =>
    page.recorded && seed - firstSeed < recordedCount && toYaml(network) === initialFile;
  const serverRun = async (scheme, network, seed) => {
    const body = JSON.stringify({ scheme: scheme.name, file: toYaml(network), seed });
    const request = { method: "POST", headers: { "Content-Type": "application/json" }, body };
    const response = await fetch(`/editor/run${location.search}`, request).catch(() => null);
    if (!response)
      throw new Error("The local server does not answer. Start pacelab demo again and open the link that it prints.");
    if (!response.ok) throw new Error((await response.text()).trim());
    return response.json();
  };
  const recordedRun = async (scheme, network, seed) => {
    if (!isRecorded(network, seed)) {
      throw new Error(
        `${scheme.name} is a Python scheme: this file has its results for the initial network only (click Reset to see ` +
          `them). To run it on this network, save the network, then: pacelab demo FILE.yaml --scheme ${scheme.name}`,
      );
    }
    return page.recorded[scheme.name][seed - firstSeed];
  };
  const pythonRun = (scheme, network, seed) => {
    if (python && !isRecorded(network, seed))
      return python.request({ change: { scheme: scheme.name, file: toYaml(network), seed } });
    return (page.recorded ? recordedRun : serverRun)(scheme, network, seed);
  };
  const run = async (scheme, network, seed) => {
    const { result, tap } = await (scheme.python
      ? pythonRun(scheme, network, seed)
      : worker.request({ air: toAir(network, scheme.air, seed), until_s: page.watch_s[1] }));
    return { result, log: clipLog(readRecords(recordsFrom(tap, from), to), from, to) };
  };
  const nextSeed = (seed) => firstSeed + ((seed - firstSeed + 1) % (python ? Infinity : recordedCount));
  const places = (network) => worker.request({ air: toAir(network, page.schemes[0].air, 0), onlyPlaces: true });
  const notice = (network, seed) =>
    python && !python.answered && !isRecorded(network, seed)
      ? "Python starts in this page. The first time, it downloads 12 MB."
      : "";
  return { run, nextSeed, places, notice };
}

/** Python in a Web Worker (python_worker.js), with the same network and schemes as this page. */
const pythonLink = ({ pyodide: { address, opened, worker } }) =>
  new WorkerLink(worker, { start: { address: new URL(address, location.href).href, opened } }, "module");

/**
 * A Web Worker that starts with the first request and answers each request. `first` is its first message. A browser starts
 * no worker of the type "module" in a page that was opened as a file. Pyodide starts in no other type.
 */
class WorkerLink {
  constructor(source, first, type = "classic") {
    Object.assign(this, { source, first, type });
    this.pending = new Map();
    this.lastId = 0;
    this.answered = false;
  }

  request(message) {
    this.worker ??= this.start();
    this.lastId += 1;
    return new Promise((resolve, reject) => {
      this.pending.set(this.lastId, { resolve, reject });
      this.worker.postMessage({ id: this.lastId, ...message });
    });
  }

  start() {
    const worker = new Worker(URL.createObjectURL(new Blob([this.source], { type: "text/javascript" })), {
      type: this.type,
    });
    worker.onmessage = ({ data: { id, error, ...answer } }) => {
      this.answered = true;
      const { resolve, reject } = this.pending.get(id);
      this.pending.delete(id);
      if (error) reject(new Error(error));
      else resolve(answer);
    };
    worker.postMessage(this.first);
    return worker;
  }
}
