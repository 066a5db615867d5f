// Goodput or call quality over time, with one line per flow or call. Colour, dashes and a label at its end identify a
// line.

import { canvasSize, legibleSize } from "./timeline.js";

const LINE_STYLES = [
  ["#1f5f99", []],
  ["#b85c00", [10, 4]],
  ["#1d7044", [3, 3]],
  ["#6a3d9a", [12, 3, 3, 3]],
];
const EDGE_PX = { left: 52, top: 36, bottom: 32 };
const TICK_LABEL_PX = 12; // from the bottom to the middle of the numbers on the time axis
const RIGHT_PX = 24; // right margin of a curve without labels
const MAX_LABEL_SHARE = 0.4; // share of the width; a longer label is shortened
const LABEL_GAP_PX = 17; // between two labels, vertically
const WORD_GAP_PX = 8; // between two words in a row

export class Curves {
  constructor(host) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "curves";
    this.canvas.setAttribute("role", "img");
    host.append(this.canvas);
  }

  /** Draws the lines. A vertical line marks the time `now`. */
  show({ what, unit, t_s: times, lines, low = 0, high, mark, mark_label: markLabel, now }) {
    const { width, height, ratio, scale } = canvasSize(this.canvas);
    const fontPx = legibleSize(scale, 15);
    Object.assign(this.canvas, { width: Math.max(width * ratio, 1), height: Math.max(height * ratio, 1) });
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const known = lines.flatMap((line) => line.values).filter((value) => value !== null);
    const top = high ?? niceCeiling(Math.max(...known, 1));
    const [from, to] = [Math.min(...times, 0), Math.max(...times, 1)];
    context.font = `bold ${fontPx}px sans-serif`;
    const labels = lines.map(({ label }) => ellipsized(context, label, MAX_LABEL_SHARE * width));
    const right = Math.max(RIGHT_PX, ...labels.map((label) => context.measureText(label).width + 14));
    const x = (t) => EDGE_PX.left + ((t - from) / (to - from)) * (width - EDGE_PX.left - right);
    const y = (value) =>
      height - EDGE_PX.bottom - ((value - low) / (top - low)) * (height - EDGE_PX.bottom - EDGE_PX.top);
    Object.assign(context, {
      fillStyle: "#222",
      font: `${fontPx}px sans-serif`,
      textAlign: "left",
      textBaseline: "middle",
    });
    const head = `${what} (${unit})`;
    context.fillText(head, 4, EDGE_PX.top / 2);
    context.textAlign = "right";
    for (const value of tickValues(low, top)) {
      context.fillStyle = "#ddd";
      context.fillRect(EDGE_PX.left, y(value), width - EDGE_PX.left - right, 1);
      context.fillStyle = "#222";
      context.fillText(value, EDGE_PX.left - 6, y(value));
    }
    context.textAlign = "center";
    const maxTicks = (width - EDGE_PX.left - right) / (context.measureText(`${Math.round(to)} s`).width + WORD_GAP_PX);
    for (const value of tickValues(from, to, maxTicks))
      context.fillText(`${value} s`, x(value), height - TICK_LABEL_PX);
    if (mark !== undefined) {
      context.setLineDash([2, 4]);
      context.strokeStyle = "#7a1f00";
      context.strokeRect(EDGE_PX.left, y(mark), width - EDGE_PX.left - right, 0);
      context.fillStyle = "#7a1f00";
      context.textAlign = "right";
      context.fillText(
        fitBeside(context, head, width - 10, [`${mark}: ${markLabel}`, `${mark}`]),
        width - 6,
        EDGE_PX.top / 2,
      );
    }
    if (now !== undefined) {
      context.fillStyle = "#7a1f00";
      context.fillRect(x(now), EDGE_PX.top, 1, height - EDGE_PX.bottom - EDGE_PX.top);
    }
    const ends = lines.flatMap(({ values }, index) => {
      const [color, dash] = LINE_STYLES[index % LINE_STYLES.length];
      Object.assign(context, { strokeStyle: color, lineWidth: 3 });
      context.setLineDash(dash);
      context.beginPath();
      let penDown = false;
      values.forEach((value, at) => {
        if (value === null) {
          penDown = false;
          return;
        }
        context[penDown ? "lineTo" : "moveTo"](x(times[at]), y(Math.min(value, top)));
        penDown = true;
      });
      context.stroke();
      const last = values.findLast((value) => value !== null);
      // A line without values has no label.
      return last === undefined ? [] : [{ label: labels[index], color, at: y(Math.min(last, top)) }];
    });
    context.setLineDash([]);
    Object.assign(context, { textAlign: "left", font: `bold ${fontPx}px sans-serif`, lineWidth: 1 });
    for (const { label, color, at } of spreadLabels(ends, height - EDGE_PX.bottom)) {
      context.fillStyle = color;
      context.fillText(label, width - right + 6, at);
    }
    const last = lines.map(
      ({ label, values }) => `${label} ${values.findLast((value) => value !== null) ?? "unknown"}`,
    );
    this.canvas.setAttribute("aria-label", `${what} over ${Math.round(to)} s, ${unit}; at the end: ${last.join(", ")}`);
  }
}

/** Goodput at the positions of a slider that have been run so far. A ring marks the current position. */
export class SweepCurve {
  constructor(host) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "curves";
    this.canvas.setAttribute("role", "img");
    host.append(this.canvas);
  }

  /** Draws the curve. `points` is [[position, bit/s], ...], `control` is the slider, and `now` is its position. */
  show({ points, control, now }) {
    const { width, height, ratio, scale } = canvasSize(this.canvas);
    Object.assign(this.canvas, { width: Math.max(width * ratio, 1), height: Math.max(height * ratio, 1) });
    const context = this.canvas.getContext("2d");
    const fontPx = legibleSize(scale, 15);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const known = points.map(([at, bps]) => [at, bps / 1e3]).sort((a, b) => a[0] - b[0]);
    const { low, top, ticks } = axisOf(known.map(([, kbps]) => kbps));
    const [left, right, bottom] = [EDGE_PX.left, width - RIGHT_PX, height - EDGE_PX.bottom];
    const x = (at) => left + ((at - control.low) / (control.high - control.low)) * (right - left);
    const y = (kbps) => bottom - ((kbps - low) / (top - low)) * (bottom - EDGE_PX.top);
    Object.assign(context, {
      fillStyle: "#222",
      font: `${fontPx}px sans-serif`,
      textAlign: "left",
      textBaseline: "middle",
    });
    const head = "Goodput (kbit/s)";
    context.fillText(head, 4, EDGE_PX.top / 2);
    context.textAlign = "right";
    context.fillText(
      fitBeside(context, head, right - 4, [`${control.label} (${control.unit})`, control.label]),
      right,
      EDGE_PX.top / 2,
    );
    for (const value of ticks) {
      context.fillStyle = "#ddd";
      context.fillRect(left, y(value), right - left, 1);
      context.fillStyle = "#222";
      context.fillText(value, left - 6, y(value));
    }
    context.textAlign = "center";
    const room = (control.high - control.low) / 12;
    const between = tickValues(control.low, control.high).filter(
      (value) => value > control.low + room && value < control.high - room,
    );
    for (const value of [control.low, ...between, control.high])
      context.fillText(value, x(value), height - TICK_LABEL_PX);
    Object.assign(context, { strokeStyle: LINE_STYLES[0][0], fillStyle: LINE_STYLES[0][0], lineWidth: 3 });
    context.beginPath();
    for (const [at, kbps] of known) context.lineTo(x(at), y(kbps));
    context.stroke();
    for (const [at, kbps] of known) {
      context.beginPath();
      context.arc(x(at), y(kbps), 4, 0, 7);
      context.fill();
    }
    const current = known.find(([at]) => at === now);
    if (current) {
      Object.assign(context, { strokeStyle: "#b85c00" });
      context.beginPath();
      context.arc(x(current[0]), y(current[1]), 10, 0, 7);
      context.stroke();
    }
    const spoken = known.map(([at, kbps]) => `${Math.round(kbps)} at ${at}`).join(", ");
    this.canvas.setAttribute(
      "aria-label",
      `Goodput in kbit/s against ${control.label.toLowerCase()} in ${control.unit}: ${spoken}`,
    );
  }
}

/** The label, shortened to the width `room`. */
function ellipsized(context, label, room) {
  let text = label;
  while (text && context.measureText(text).width > room) text = text.length > 1 ? `${text.slice(0, -2)}…` : "";
  return text;
}

/** The first of the candidates that fits beside `head` in the width `room`, or the last candidate. */
function fitBeside(context, head, room, candidates) {
  const usedPx = context.measureText(head).width + WORD_GAP_PX;
  return candidates.find((word) => usedPx + context.measureText(word).width <= room) ?? candidates.at(-1);
}

/** The labels at the ends of the lines, moved apart where they would overlap. */
function spreadLabels(ends, bottom) {
  const sorted = [...ends].sort((a, b) => a.at - b.at);
  for (let i = 1; i < sorted.length; i += 1) sorted[i].at = Math.max(sorted[i].at, sorted[i - 1].at + LABEL_GAP_PX);
  let limit = bottom - LABEL_GAP_PX / 2;
  for (const end of sorted.reverse()) {
    end.at = Math.min(end.at, limit);
    limit = end.at - LABEL_GAP_PX;
  }
  return sorted;
}

/**
 * The ends of the goodput axis, and its ticks. It starts at 0 if the values then fill at least half of it. Else it
 * starts at a tick below the lowest value, but it is never shorter than a quarter of the highest value, so that it does
 * not magnify noise.
 */
function axisOf(values) {
  const [lowest, highest] = [Math.min(...values), Math.max(...values, 1)];
  if (lowest < highest / 2) return { low: 0, top: niceCeiling(highest), ticks: tickValues(0, niceCeiling(highest), 3) };
  const room = Math.max(0.15 * (highest - lowest), (0.25 * highest - (highest - lowest)) / 2);
  const step = stepOf(highest - lowest + 2 * room, 3);
  const [first, last] = [Math.floor((lowest - room) / step), Math.ceil((highest + room) / step)];
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(6)));
  return { low: ticks[0], top: ticks.at(-1), ticks };
}

const niceCeiling = (value) => {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 3, 4, 5, 6, 8, 10].find((part) => part * unit >= value) * unit;
};
const stepOf = (length, maxTicks) => {
  const rough = length / Math.min(Math.max(maxTicks, 1), 5);
  const unit = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((part) => part * unit >= rough) * unit;
};
const tickValues = (low, high, maxTicks = 5) => {
  const step = stepOf(high - low, maxTicks);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(6)),
  );
};
