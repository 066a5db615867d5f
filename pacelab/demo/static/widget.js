// The component in a notebook. Schemes in Python run in the notebook's kernel; the engine runs in this module.

import "./demo.js";
import { startEngine } from "./engine.js";
import { engineBackend } from "./view.js";

const KERNEL_TIMEOUT_MS = 20e3;

export default {
  async render({ model, el }) {
    const demo = model.get("demo");
    const pending = new Map();
    model.on("msg:custom", ({ id, view, error }) => {
      const request = pending.get(id);
      if (!request) return;
      pending.delete(id);
      if (error) request.reject(new Error(error));
      else request.resolve(view);
    });
    const kernelBackend = (change) =>
      new Promise((resolve, reject) => {
        const id = crypto.randomUUID?.() ?? String(Math.random());
        pending.set(id, { resolve, reject });
        model.send({ id, change });
        const message =
          "The notebook's kernel does not answer. Wait until it is idle, or restart it and run this cell again.";
        setTimeout(() => {
          if (pending.delete(id)) reject(new Error(message));
        }, KERNEL_TIMEOUT_MS);
      });
    const engine = model.get("engine");
    const backend = demo.python
      ? kernelBackend
      : engineBackend(demo, await startEngine(new Uint8Array(engine.buffer, engine.byteOffset, engine.byteLength)));
    const element = document.createElement("pacelab-demo");
    el.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes the arrow keys
    el.append(element);
    element.start(demo, backend);
    return () => element.remove();
  },
};
