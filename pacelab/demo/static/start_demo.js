// Starts the component in the page of one demonstration. The element "demo" holds the demonstration as JSON.

import "./demo.js";
import { startEngine } from "./engine.js";
import { engineBackend, followNetwork, idleBackend, recordedBackend, serverBackend } from "./view.js";

const page = JSON.parse(document.getElementById("demo").textContent);

async function makeBackend() {
  if (page.demo.live) return idleBackend();
  if (page.recorded) return recordedBackend(page.demo, page.recorded);
  if (page.demo.python) return serverBackend(page.demo);
  const bytes = Uint8Array.from(atob(page.engine), (letter) => letter.charCodeAt(0));
  return engineBackend(page.demo, await startEngine(bytes));
}

makeBackend()
  .then((backend) => {
    const element = document.createElement("pacelab-demo");
    document.querySelector("main").replaceChildren(element);
    element.start(page.demo, backend);
    if (page.demo.live) followNetwork(element);
  })
  .catch((error) => {
    const line = Object.assign(document.createElement("p"), { className: "pacelab-error", textContent: error });
    document.querySelector("main").replaceChildren(line);
  });
