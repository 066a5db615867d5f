// The bar below the notebooks of `make lite`: whether Python is starting, where the work is stored, downloads, and what is
// wrong with this browser.
// The script is also the worker with which it finds out whether the browser allows workers.

const LEAST_ROOM = 2e6; // bytes
const BAR_PX = 40;
const STORED = "Your work is stored in this browser, on this computer.";
const STARTING =
  "Python is starting. This takes 10 to 20 seconds, and longer if the browser has to download Python first.";
const REFUSED =
  "This browser may delete your work at any time, for example when you close a private window. Download your notebook before you close this page.";
const FULL =
  "Download everything and then clear the data of other sites, because the storage of this browser is full and saves nothing more.";
const OLD =
  "Use a current Firefox, Chrome, Edge or Safari, because this browser has no WebAssembly exceptions and cannot run Python.";
const BLOCKED =
  "Allow the scripts of this site or use another browser, because this browser blocks the web workers in which Python runs.";

// A module whose only function is try ... catch_all.
const EXCEPTIONS = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 8, 1, 6, 0, 6, 64, 25, 11, 11];

function workersAreAllowed() {
  return new Promise((resolve) => {
    try {
      const worker = new Worker(import.meta.url, { type: "module" });
      const answer = (allowed) => {
        worker.terminate();
        resolve(allowed);
      };
      worker.onmessage = () => answer(true);
      worker.onerror = () => answer(false);
    } catch {
      resolve(false);
    }
  });
}

// Why Python cannot run, or an empty text.
async function pythonProblem() {
  if (!WebAssembly.validate(new Uint8Array(EXCEPTIONS))) return OLD;
  return (await workersAreAllowed()) ? "" : BLOCKED;
}

// Whether the browser stores some more bytes. Browsers no longer say how much room there is, so this tries.
function hasRoom() {
  const name = "pacelab-room";
  return new Promise((resolve) => {
    const answer = (room) => {
      indexedDB.deleteDatabase(name);
      resolve(room);
    };
    const asked = indexedDB.open(name);
    asked.onupgradeneeded = () => asked.result.createObjectStore(name);
    asked.onerror = () => answer(asked.error.name !== "QuotaExceededError");
    asked.onsuccess = () => {
      const database = asked.result;
      const transaction = database.transaction(name, "readwrite");
      const end = (room) => {
        database.close();
        answer(room);
      };
      transaction.oncomplete = () => end(true);
      transaction.onabort = () => end(transaction.error?.name !== "QuotaExceededError");
      transaction.objectStore(name).put(new Uint8Array(LEAST_ROOM), 0);
    };
  });
}

// Calls `told` with whether there was no room, after each file that JupyterLite stores.
function watchSaves(contents, told) {
  const save = contents.save.bind(contents);
  contents.save = async (...given) => {
    try {
      const saved = await save(...given);
      told(false);
      return saved;
    } catch (error) {
      if (error.name === "QuotaExceededError") told(true);
      throw error;
    }
  };
}

// A kernel is "unknown" until Python has started.
const NOT_YET = ["initializing", "connecting", "starting", "restarting", "unknown"];

// Calls `told` with whether the Python of the open notebook is starting, now and after each change.
function watchStart(shell, told) {
  const look = () => told(NOT_YET.includes(shell.currentWidget?.sessionContext?.kernelDisplayStatus));
  const follow = () => {
    const session = shell.currentWidget?.sessionContext;
    // A second connection of the same function does nothing.
    for (const signal of ["statusChanged", "connectionStatusChanged", "kernelChanged"]) session?.[signal].connect(look);
    look();
  };
  shell.currentChanged.connect(follow);
  follow();
}

// Whether the browser promises to keep the work.
async function isKept() {
  return (await navigator.storage?.persisted?.()) || (await navigator.storage?.persist?.());
}

// A zip archive of stored files: name -> bytes.

const CRCS = Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

function crc(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = CRCS[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

function record(...fields) {
  const bytes = new Uint8Array(fields.reduce((sum, [size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [size, value] of fields) {
    size === 4 ? view.setUint32(at, value, true) : view.setUint16(at, value, true);
    at += size;
  }
  return bytes;
}

const UTF8_NAMES = 0x0800;
const FIRST_OF_1980 = 0x21;

export function zip(files) {
  const parts = [];
  const central = [];
  let offset = 0;
  for (const [name, bytes] of files) {
    const letters = new TextEncoder().encode(name);
    const shared = [
      [2, 20],
      [2, UTF8_NAMES],
      [2, 0],
      [2, 0],
      [2, FIRST_OF_1980],
      [4, crc(bytes)],
      [4, bytes.length],
    ];
    const sizes = [...shared, [4, bytes.length], [2, letters.length], [2, 0]];
    const local = record([4, 0x04034b50], ...sizes);
    parts.push(local, letters, bytes);
    central.push(record([4, 0x02014b50], [2, 20], ...sizes, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]), letters);
    offset += local.length + letters.length + bytes.length;
  }
  const size = central.reduce((sum, part) => sum + part.length, 0);
  const count = [2, files.length];
  const end = record([4, 0x06054b50], [2, 0], [2, 0], count, count, [4, size], [4, offset], [2, 0]);
  return new Blob([...parts, ...central, end], { type: "application/zip" });
}

// Files as JupyterLite keeps them.

const KERNEL = { display_name: "Python 3", language: "python", name: "python3" };

// A notebook names the kernel that other computers have.
function bytesOf({ content, format, type }) {
  if (type === "notebook") {
    const metadata = { ...content.metadata, kernelspec: KERNEL };
    return new TextEncoder().encode(JSON.stringify({ ...content, metadata }, null, 1));
  }
  if (format === "base64") return Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  return new TextEncoder().encode(typeof content === "string" ? content : JSON.stringify(content, null, 1));
}

// The path and bytes of the open file as the page shows it, also if it could not be stored.
function openFile(app) {
  const { path, model } = app.shell.currentWidget?.context ?? {};
  if (!path) return null;
  if (path.endsWith(".ipynb")) return [path, bytesOf({ content: model.toJSON(), type: "notebook" })];
  return [path, new TextEncoder().encode(model.toString())];
}

async function everything(contents, folder = "") {
  const { content } = await contents.get(folder, { content: true });
  const found = [];
  for (const item of content) {
    if (item.type === "directory") found.push(...(await everything(contents, item.path)));
    else found.push([item.path, bytesOf(await contents.get(item.path, { content: true }))]);
  }
  return found;
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function downloadNotebook(app, told) {
  const [path, bytes] = openFile(app) ?? [];
  if (path) download(new Blob([bytes]), path.split("/").at(-1));
  else told.textContent = "Open a notebook first.";
}

async function downloadEverything(app) {
  const stored = new Map(await everything(app.serviceManager.contents));
  const open = openFile(app);
  if (open) stored.set(...open);
  download(zip([...stored]), "pacelab.zip");
}

// The bar.

const STYLE = `
#pacelab-keep { position: fixed; inset: auto 0 0 0; min-height: ${BAR_PX}px; z-index: 100; display: flex; flex-wrap: wrap;
  gap: 4px 12px; align-items: center; padding: 2px 12px; box-sizing: border-box; font: 13px/1.3 system-ui, sans-serif;
  background: #f2f4f7; color: #1a1a1a; border-top: 1px solid #767b85; }
#pacelab-keep p { margin: 0; flex: 1 1 20em; }
#pacelab-keep[data-warn] { background: #fff3cd; }
#pacelab-keep button { font: inherit; min-height: 26px; padding: 2px 10px; border: 1px solid #767b85; border-radius: 3px;
  background: #ffffff; color: #1a1a1a; cursor: pointer; }
#pacelab-keep button:focus-visible { outline: 2px solid #0072b2; outline-offset: 1px; }
#main { bottom: ${BAR_PX}px !important; height: auto !important; }
`;

function addBar() {
  const style = document.createElement("style");
  style.textContent = STYLE;
  document.head.append(style);
  const bar = document.createElement("section");
  bar.id = "pacelab-keep";
  bar.setAttribute("aria-label", "Your work");
  const told = document.createElement("p");
  told.setAttribute("role", "status");
  told.textContent = STORED;
  bar.append(told);
  document.body.append(bar);
  return [bar, told];
}

function addButton(bar, text, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", action);
  bar.append(button);
}

async function application() {
  while (!globalThis.jupyterapp) await new Promise((resolve) => setTimeout(resolve, 100));
  await globalThis.jupyterapp.started;
  return globalThis.jupyterapp;
}

async function main() {
  const [bar, told] = addBar();
  const unable = await pythonProblem();
  const refused = (await isKept()) ? "" : REFUSED;
  const state = { full: !(await hasRoom()), starting: false };
  const change = (news) => {
    Object.assign(state, news);
    const urgent = unable || (state.full ? FULL : "");
    const warning = urgent || (state.starting ? "" : refused);
    bar.toggleAttribute("data-warn", Boolean(warning));
    told.textContent = warning || (state.starting ? STARTING : STORED);
  };
  change({});
  const app = await application();
  watchSaves(app.serviceManager.contents, (full) => change({ full }));
  watchStart(app.shell, (starting) => change({ starting }));
  addButton(bar, "Download my notebook", () => downloadNotebook(app, told));
  addButton(bar, "Download everything", () => downloadEverything(app));
  dispatchEvent(new Event("resize"));
}

if (typeof document === "undefined") globalThis.postMessage?.("here");
else main();
