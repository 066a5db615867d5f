// Goodput or quality over time, a line per flow or call: colour, dashes and a letter at its end say which.

import { legible, sizeOf } from "./timeline.js";

const LINES = [["#1f5f99", []], ["#b85c00", [10, 4]], ["#1d7044", [3, 3]], ["#6a3d9a", [12, 3, 3, 3]]];
const EDGE_PX = { left: 52, top: 36, bottom: 32 };
const TICKS_PX = 12; // of its numbers' middle, from below
const RIGHT_PX = 24; // of a curve without labels at its end
const WIDEST = 0.4; // of the curves' width: a longer label is cut
const SAME_PX = 17;
const APART_PX = 8; // between two words in a row

export class Curves {
  constructor(host) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "curves";
    this.canvas.setAttribute("role", "img");
    host.append(this.canvas);
  }

  /** `now`: a time with a line across. */
  show({ what, unit, t_s: times, lines, low = 0, high, mark, mark_label: markLabel, now }) {
    const { width, height, ratio, scale } = sizeOf(this.canvas);
    const letters = legible(scale, 15);
    Object.assign(this.canvas, { width: Math.max(width * ratio, 1), height: Math.max(height * ratio, 1) });
    const ink = this.canvas.getContext("2d");
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    const known = lines.flatMap((line) => line.values).filter((value) => value !== null);
    const top = high ?? nice(Math.max(...known, 1));
    const [from, to] = [Math.min(...times, 0), Math.max(...times, 1)];
    ink.font = `bold ${letters}px sans-serif`;
    const labels = lines.map(({ label }) => shortened(ink, label, WIDEST * width));
    const right = Math.max(RIGHT_PX, ...labels.map((label) => ink.measureText(label).width + 14));
    const x = (t) => EDGE_PX.left + ((t - from) / (to - from)) * (width - EDGE_PX.left - right);
    const y = (value) => height - EDGE_PX.bottom - ((value - low) / (top - low)) * (height - EDGE_PX.bottom - EDGE_PX.top);
    Object.assign(ink, { fillStyle: "#222", font: `${letters}px sans-serif`, textAlign: "left", textBaseline: "middle" });
    const head = `${what} (${unit})`;
    ink.fillText(head, 4, EDGE_PX.top / 2);
    ink.textAlign = "right";
    for (const value of steps(low, top)) {
      ink.fillStyle = "#ddd";
      ink.fillRect(EDGE_PX.left, y(value), width - EDGE_PX.left - right, 1);
      ink.fillStyle = "#222";
      ink.fillText(value, EDGE_PX.left - 6, y(value));
    }
    ink.textAlign = "center";
    const most = (width - EDGE_PX.left - right) / (ink.measureText(`${Math.round(to)} s`).width + APART_PX);
    for (const value of steps(from, to, most)) ink.fillText(`${value} s`, x(value), height - TICKS_PX);
    if (mark !== undefined) {
      ink.setLineDash([2, 4]);
      ink.strokeStyle = "#7a1f00";
      ink.strokeRect(EDGE_PX.left, y(mark), width - EDGE_PX.left - right, 0);
      ink.fillStyle = "#7a1f00";
      ink.textAlign = "right";
      ink.fillText(beside(ink, head, width - 10, [`${mark}: ${markLabel}`, `${mark}`]), width - 6, EDGE_PX.top / 2);
    }
    if (now !== undefined) {
      ink.fillStyle = "#7a1f00";
      ink.fillRect(x(now), EDGE_PX.top, 1, height - EDGE_PX.bottom - EDGE_PX.top);
    }
    const ends = lines.flatMap(({ values }, index) => {
      const [color, dash] = LINES[index % LINES.length];
      Object.assign(ink, { strokeStyle: color, lineWidth: 3 });
      ink.setLineDash(dash);
      ink.beginPath();
      let pen = false;
      values.forEach((value, at) => {
        if (value === null) { pen = false; return; }
        ink[pen ? "lineTo" : "moveTo"](x(times[at]), y(Math.min(value, top)));
        pen = true;
      });
      ink.stroke();
      const last = values.findLast((value) => value !== null);
      return last === undefined ? [] : [{ label: labels[index], color, at: y(Math.min(last, top)) }]; // no line, no name at its end
    });
    ink.setLineDash([]);
    Object.assign(ink, { textAlign: "left", font: `bold ${letters}px sans-serif`, lineWidth: 1 });
    for (const { label, color, at } of apart(ends, height - EDGE_PX.bottom)) {
      ink.fillStyle = color;
      ink.fillText(label, width - right + 6, at);
    }
    const last = lines.map(({ label, values }) => `${label} ${values.findLast((value) => value !== null) ?? "unknown"}`);
    this.canvas.setAttribute("aria-label", `${what} over ${Math.round(to)} s, ${unit}; at the end: ${last.join(", ")}`);
  }
}

/** Goodput against a control's settings, as far as they have been run, with a ring at the one that is set. */
export class Sweep {
  constructor(host) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "curves";
    this.canvas.setAttribute("role", "img");
    host.append(this.canvas);
  }

  /** `points`: [[setting, bit/s], ...]; `control` is the slider, `now` where it stands. */
  show({ points, control, now }) {
    const { width, height, ratio, scale } = sizeOf(this.canvas);
    Object.assign(this.canvas, { width: Math.max(width * ratio, 1), height: Math.max(height * ratio, 1) });
    const ink = this.canvas.getContext("2d");
    const letters = legible(scale, 15);
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    const known = points.map(([at, bps]) => [at, bps / 1e3]).sort((a, b) => a[0] - b[0]);
    const top = nice(Math.max(...known.map(([, kbps]) => kbps), 1));
    const [left, right, bottom] = [EDGE_PX.left, width - RIGHT_PX, height - EDGE_PX.bottom];
    const x = (at) => left + ((at - control.low) / (control.high - control.low)) * (right - left);
    const y = (kbps) => bottom - (kbps / top) * (bottom - EDGE_PX.top);
    Object.assign(ink, { fillStyle: "#222", font: `${letters}px sans-serif`, textAlign: "left", textBaseline: "middle" });
    const head = "Goodput (kbit/s)";
    ink.fillText(head, 4, EDGE_PX.top / 2);
    ink.textAlign = "right";
    ink.fillText(beside(ink, head, right - 4, [`${control.label} (${control.unit})`, control.label]), right, EDGE_PX.top / 2);
    for (const value of [0, top / 2, top]) {
      ink.fillStyle = "#ddd";
      ink.fillRect(left, y(value), right - left, 1);
      ink.fillStyle = "#222";
      ink.fillText(value, left - 6, y(value));
    }
    ink.textAlign = "center";
    const room = (control.high - control.low) / 12;
    const between = steps(control.low, control.high).filter((value) => value > control.low + room && value < control.high - room);
    for (const value of [control.low, ...between, control.high]) ink.fillText(value, x(value), height - TICKS_PX);
    Object.assign(ink, { strokeStyle: LINES[0][0], fillStyle: LINES[0][0], lineWidth: 3 });
    ink.beginPath();
    known.forEach(([at, kbps], index) => ink[index ? "lineTo" : "moveTo"](x(at), y(kbps)));
    ink.stroke();
    for (const [at, kbps] of known) {
      ink.beginPath();
      ink.arc(x(at), y(kbps), 4, 0, 7);
      ink.fill();
    }
    const here = known.find(([at]) => at === now);
    if (here) {
      Object.assign(ink, { strokeStyle: "#b85c00" });
      ink.beginPath();
      ink.arc(x(here[0]), y(here[1]), 10, 0, 7);
      ink.stroke();
    }
    const told = known.map(([at, kbps]) => `${Math.round(kbps)} at ${at}`).join(", ");
    this.canvas.setAttribute("aria-label", `Goodput in kbit/s against ${control.label.toLowerCase()} in ${control.unit}: ${told}`);
  }
}

/** A label that is no wider than `room`. */
function shortened(ink, label, room) {
  let kept = label;
  while (kept && ink.measureText(kept).width > room) kept = kept.length > 1 ? `${kept.slice(0, -2)}…` : "";
  return kept;
}

/** The first of these words that has its place beside `head` in `room`, or the last of them. */
function beside(ink, head, room, words) {
  const taken = ink.measureText(head).width + APART_PX;
  return words.find((word) => taken + ink.measureText(word).width <= room) ?? words.at(-1);
}

/** Labels at their lines' ends, moved apart where they would cover each other. */
function apart(ends, bottom) {
  const sorted = [...ends].sort((a, b) => a.at - b.at);
  for (let i = 1; i < sorted.length; i += 1) sorted[i].at = Math.max(sorted[i].at, sorted[i - 1].at + SAME_PX);
  let limit = bottom - SAME_PX / 2;
  for (const end of sorted.reverse()) { end.at = Math.min(end.at, limit); limit = end.at - SAME_PX; }
  return sorted;
}

const nice = (value) => { const unit = 10 ** Math.floor(Math.log10(value)); return [1, 2, 3, 4, 5, 6, 8, 10].find((part) => part * unit >= value) * unit; };
const steps = (low, high, most = 5) => {
  const rough = (high - low) / Math.min(Math.max(most, 1), 5);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((part) => part * unit >= rough) * unit;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(6)));
};
