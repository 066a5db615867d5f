// Starts the page that a controller serves. The element "demo" holds the page's data as JSON.

import "./demo.js";
import { NetworkPage } from "./network.js";
import { idleBackend } from "./view.js";

const page = JSON.parse(document.getElementById("demo").textContent);
const element = document.createElement("pacelab-demo");
document.querySelector("main").replaceChildren(element);
element.start(page.demo, idleBackend());
window.network = new NetworkPage(element, page.picture);
