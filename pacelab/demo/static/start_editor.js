// Starts the network editor in its page. The element "demo" holds the page's data as JSON.

import "./editor.js";
import { editorBackend } from "./editor_backend.js";

const page = JSON.parse(document.getElementById("demo").textContent);
const editor = document.createElement("pacelab-editor");
document.querySelector("main").replaceChildren(editor);
editor.start(page, editorBackend(page));
