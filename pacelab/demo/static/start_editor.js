// Starts the network editor in its page. The element "demo" holds the page's data as JSON.

import "./editor.js";
import { editorBackend } from "./editor_backend.js";

const page = JSON.parse(document.getElementById("demo").textContent);
if (page.recorded) page.recorded = await unpack(page.recorded);
const editor = document.createElement("pacelab-editor");
document.querySelector("main").replaceChildren(editor);
editor.start(page, editorBackend(page));

/** The data whose JSON was compressed and written as text. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}
