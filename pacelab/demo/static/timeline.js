// The use of the air over time: one lane per node, one block per frame. Colour, hatching and a letter identify the kind
// of a block.

const BLOCK_STYLES = {
  RTS: { face: "#f6e58d", text: "#000", hatch: "/" },
  CTS: { face: "#a8d8f0", text: "#000", hatch: "\\" },
  DATA: { face: "#1f5f99", text: "#fff", hatch: "" },
  ACK: { face: "#9fd8b4", text: "#000", hatch: "." },
  "A-MPDU": { face: "#12395c", text: "#fff", hatch: "" },
  BAR: { face: "#f3c1d6", text: "#000", hatch: "/" },
  BA: { face: "#6fbf8f", text: "#000", hatch: "." },
  collision: { face: "#f4b7a3", text: "#7a1f00", hatch: "x" },
  NAV: { face: "#d9d2e9", text: "#4b3b78", hatch: "" },
  EIFS: { face: "#ffe0b8", text: "#8a5200", hatch: "" },
};
const LABEL_PX = 46;
const AXIS_PX = 26;
const TICK_LABEL_SPACE = 1.6; // distance of two ticks in label widths: the last label is drawn left of its tick

const FONT_PX = 18;

/** A canvas's size in units that grow with the page's font size, so that the text stays readable on a wide screen. */
export function canvasSize(canvas) {
  const scale = parseFloat(getComputedStyle(canvas).fontSize) / FONT_PX;
  const ratio = (window.devicePixelRatio || 1) * scale;
  return { width: canvas.clientWidth / scale, height: canvas.clientHeight / scale, ratio, scale };
}

/** A font size in these units: `wanted`, but at least 16 pixels of the page. */
export const legibleSize = (scale, wanted) => Math.max(wanted, 16 / scale);

/** A tile that shows the colour and hatching of a kind of block. */
function hatchTile(kind) {
  const { face, text, hatch } = BLOCK_STYLES[kind];
  const made = document.createElement("canvas");
  made.width = made.height = 8;
  const context = made.getContext("2d");
  context.fillStyle = face;
  context.fillRect(0, 0, 8, 8);
  context.strokeStyle = context.fillStyle = text;
  context.globalAlpha = 0.3;
  context.beginPath();
  if ("/x".includes(hatch) && hatch) {
    context.moveTo(0, 8);
    context.lineTo(8, 0);
  }
  if ("\\x".includes(hatch) && hatch) {
    context.moveTo(0, 0);
    context.lineTo(8, 8);
  }
  context.stroke();
  if (hatch === ".") context.fillRect(3, 3, 2, 2);
  return made;
}

/** The legend: a list of the kinds of block. */
export function makeLegend() {
  const list = document.createElement("ul");
  list.className = "key";
  const put = (mark, text) => {
    const item = document.createElement("li");
    item.append(mark, text);
    list.append(item);
  };
  const emptyTile = (kind) => Object.assign(document.createElement("canvas"), { width: 1, height: 1, className: kind });
  for (const kind of ["RTS", "CTS", "DATA", "ACK", "collision", "NAV", "EIFS"]) put(hatchTile(kind), kind);
  put(emptyTile("backoff"), "backoff");
  put(emptyTile("hearing"), "hears");
  return list;
}

export class Timeline {
  constructor(host, { names, onSeek }) {
    this.names = names;
    this.canvas = document.createElement("canvas");
    this.canvas.className = "timeline";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "slider");
    this.canvas.setAttribute("aria-label", "Time on the air. The arrow keys step, and the space bar plays and pauses.");
    this.silence = Object.assign(document.createElement("p"), { className: "silence", hidden: true });
    host.append(this.canvas, this.silence);
    this.patterns = new Map();
    const seek = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const { width, scale } = canvasSize(this.canvas);
      const part = ((event.clientX - box.left) / scale - LABEL_PX) / (width - LABEL_PX - 8);
      onSeek(Math.min(Math.max(part, 0), 1) * this.spanNs);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      seek(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) seek(event);
    });
    this.picture = document.createElement("canvas");
    this.spanNs = 1;
  }

  pattern(context, kind) {
    if (!this.patterns.has(kind)) this.patterns.set(kind, context.createPattern(hatchTile(kind), "repeat"));
    return this.patterns.get(kind);
  }

  /** Draws the whole window once. `play` only adds the playhead. */
  show(log, spanNs) {
    this.log = log;
    this.spanNs = spanNs;
    const { width, height, ratio, scale } = canvasSize(this.canvas);
    const fontPx = legibleSize(scale, 13);
    const fits = (room) => room >= 0.72 * fontPx; // the height of capitals and digits
    this.canvas.width = this.picture.width = Math.max(width * ratio, 1);
    this.canvas.height = this.picture.height = Math.max(height * ratio, 1);
    this.size = { width, height, ratio };
    const context = this.picture.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.patterns.clear();
    this.silence.hidden = log.frames.some(({ start }) => start < spanNs);
    this.silence.textContent = `No node sends in these ${Math.round(spanNs / 1e6)} ms.`;
    const lane = (height - AXIS_PX) / this.names.length;
    const x = (ns) => LABEL_PX + (ns / spanNs) * (width - LABEL_PX - 8);
    context.fillStyle = "#fff";
    context.fillRect(0, 0, width, height);
    const block = (kind, { node, start, end }, top, part, label) => {
      if (start >= spanNs) return;
      const [left, right] = [x(start), x(Math.min(end, spanNs))];
      const [y, h] = [node * lane + lane * top, lane * part];
      context.fillStyle = this.pattern(context, kind);
      context.fillRect(left, y, Math.max(right - left, 1), h);
      context.strokeStyle = BLOCK_STYLES[kind].text === "#fff" ? "#000" : BLOCK_STYLES[kind].text;
      context.lineWidth = 0.6;
      context.strokeRect(left, y, Math.max(right - left, 1), h);
      context.font = `${Math.min(Math.max(h * 0.6, fontPx), Math.max(fontPx, 16))}px sans-serif`;
      for (const text of fits(h) ? label : []) {
        if (context.measureText(text).width + 3 > right - left) continue;
        context.fillStyle = BLOCK_STYLES[kind].text;
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(text, (left + right) / 2, y + h / 2);
        break;
      }
    };
    context.fillStyle = "#c9c9c9";
    for (const { node, start, end } of log.receptions) {
      if (start < spanNs)
        context.fillRect(x(start), node * lane + lane * 0.9, x(Math.min(end, spanNs)) - x(start), lane * 0.07);
    }
    for (const deferral of log.deferrals) block(deferral.kind, deferral, 0.66, 0.22, [deferral.kind]);
    context.setLineDash([2, 2]);
    context.strokeStyle = "#555";
    for (const { node, start, end, slots } of log.backoffs) {
      if (start >= spanNs) continue;
      const [left, right] = [x(start), x(Math.min(end, spanNs))];
      context.strokeRect(left, node * lane + lane * 0.42, right - left, lane * 0.2);
      context.font = `${fontPx}px sans-serif`;
      context.fillStyle = "#333";
      context.textAlign = "center";
      context.textBaseline = "middle";
      if (fits(lane * 0.3) && context.measureText(slots).width + 3 < right - left)
        context.fillText(slots, (left + right) / 2, node * lane + lane * 0.52);
    }
    context.setLineDash([]);
    for (const collision of log.collisions) block("collision", collision, 0.1, 0.52, ["✖ collision", "✖"]);
    for (const frame of log.frames) {
      const to = frame.peer === null ? "all" : this.names[frame.peer];
      block(frame.kind, frame, 0.1, 0.52, [`${frame.kind} → ${to}`, frame.kind, frame.kind[0]]);
    }
    context.textBaseline = "middle";
    this.names.forEach((name, node) => {
      context.fillStyle = "#000";
      context.font = "bold 18px sans-serif";
      context.textAlign = "center";
      context.fillText(name, LABEL_PX / 2, (node + 0.5) * lane);
      context.fillStyle = "#bbb";
      context.fillRect(0, (node + 1) * lane, width, 1);
    });
    context.fillStyle = "#333";
    context.font = `${fontPx}px sans-serif`;
    const spanMs = Math.round(spanNs / 1e6);
    const step = tickStep(
      spanMs,
      (width - LABEL_PX - 8) / (TICK_LABEL_SPACE * context.measureText(`${spanMs} ms`).width),
    );
    for (let ms = 0; ms <= spanNs / 1e6; ms += step) {
      context.textAlign = ms * 1e6 >= spanNs ? "right" : "center";
      context.fillText(`${ms} ms`, x(ms * 1e6), height - AXIS_PX / 2);
    }
    this.canvas.setAttribute("aria-valuemin", 0);
    this.canvas.setAttribute("aria-valuemax", Math.round(spanNs / 1e3));
  }

  /** `announce`: whether a screen reader announces the change. It would speak without end while time passes. */
  play(at, announce) {
    if (!this.size) return;
    const { width, height, ratio } = this.size;
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.picture, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = LABEL_PX + (at / this.spanNs) * (width - LABEL_PX - 8);
    context.fillStyle = "#b00000";
    context.fillRect(x - 1, 0, 2, height - AXIS_PX);
    if (!announce && this.canvas.hasAttribute("aria-valuenow")) return;
    this.canvas.setAttribute("aria-valuenow", Math.round(at / 1e3));
    this.canvas.setAttribute("aria-valuetext", `${(at / 1e6).toFixed(2)} milliseconds`);
  }
}

const tickStep = (ms, maxTicks) => [1, 2, 5, 10, 20, 50].find((step) => ms / step <= Math.min(maxTicks, 12)) ?? 100;
