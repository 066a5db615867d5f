// Draws a chart (see chart.py) on a page: <pacelab-figure data-chart='{"panels": ...}'>.
// The pointer and the arrow keys read values; the buttons of the legend hide marks. `draw` needs no browser.

const PX = 96; // per inch
const POINT = 4 / 3; // px
const PAPER = { light: "#ffffff", dark: "#1d1f23" };
const INK = { light: "#1a1a1a", dark: "#eceff4" };
const BLACK = "#000000"; // of a chart: the page's ink
const LINE_CONTRAST = 3; // of WCAG, for graphics
const TEXT_CONTRAST = 4.5;
const NEAR_PX = 36;
const DASHES = { "-": "", "--": "6 3", "-.": "7 3 1.5 3", ":": "2.5 2.5" };
const ORDER = { circle: 1, bar: 1, rule: 1.5, line: 2, arrow: 3, text: 6, block: 1 };
const FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";

const escaped = (text) => String(text).replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
const fixed = (value) => Math.round(value * 100) / 100;

// Colours that can be read on light and on dark paper.

const channels = (color) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

function luminance(color) {
  const [red, green, blue] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

export function readable(color, theme, least) {
  let found = color === BLACK ? INK[theme] : color;
  for (let share = 0; contrast(found, PAPER[theme]) < least && share <= 1; share += 0.05) {
    const [from, to] = [channels(color), channels(INK[theme])];
    const mixed = from.map((value, place) => Math.round(value + share * (to[place] - value)));
    found = `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
  }
  return found;
}

const tones = (color, least = LINE_CONTRAST) =>
  `style="--light:${readable(color, "light", least)};--dark:${readable(color, "dark", least)}"`;

// Texts.

const widthOf = (text, size) =>
  [...text].reduce((sum, letter) => sum + ("iljtf.,:;|'!()[] ".includes(letter) ? 0.37 : 0.64), 0) * size;

const number = (value) =>
  value === null ? "unknown" : String(Number(value.toPrecision(Math.abs(value) >= 1000 ? 6 : 4)));

// "goodput (kbit/s)" and 582: "goodput 582 kbit/s".
function told(label, value) {
  const [, name, unit] = /^(.*?)(?: \(([^()]+)\))?$/.exec(label || "");
  return [name, value, unit].filter((part) => part !== undefined && part !== "").join(" ");
}

// Signs at points.

const corners = (radius, count, turn = 0) =>
  `M${Array.from({ length: count }, (_, place) => {
    const angle = turn + (2 * Math.PI * place) / count;
    return `${fixed(radius * Math.sin(angle))} ${fixed(-radius * Math.cos(angle))}`;
  }).join("L")}Z`;
const arms = (radius, turn) =>
  [0, 1, 2]
    .map((place) => turn + (2 * Math.PI * place) / 3)
    .map((angle) => `M0 0L${fixed(1.3 * radius * Math.sin(angle))} ${fixed(-1.3 * radius * Math.cos(angle))}`)
    .join("");
const OPEN = new Set("x|_+1234"); // strokes without a face
const SIGNS = {
  s: (r) => `M${-r} ${-r}H${r}V${r}H${-r}Z`,
  "^": (r) => `M0 ${-r}L${r} ${r}H${-r}Z`,
  v: (r) => `M0 ${r}L${r} ${-r}H${-r}Z`,
  "<": (r) => `M${-r} 0L${r} ${-r}V${r}Z`,
  ">": (r) => `M${r} 0L${-r} ${-r}V${r}Z`,
  D: (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0Z`,
  d: (r) => `M0 ${-1.4 * r}L${0.8 * r} 0L0 ${1.4 * r}L${-0.8 * r} 0Z`,
  p: (r) => corners(1.15 * r, 5),
  h: (r) => corners(1.15 * r, 6),
  H: (r) => corners(1.15 * r, 6, Math.PI / 6),
  8: (r) => corners(1.1 * r, 8, Math.PI / 8),
  P: (r) => {
    const third = r / 2.6;
    return `M${-third} ${-r}H${third}V${-third}H${r}V${third}H${third}V${r}H${-third}V${third}H${-r}V${-third}H${-third}Z`;
  },
  "*": (r) => {
    const tip = (place) =>
      [0, 1].map((axis) => fixed((place % 2 ? 0.5 : 1.25) * r * [Math.sin, Math.cos][axis]((place * Math.PI) / 5)));
    return `M${Array.from({ length: 10 }, (_, place) => tip(place))
      .map(([x, y]) => `${x} ${-y}`)
      .join("L")}Z`;
  },
  x: (r) => `M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`,
  "|": (r) => `M0 ${-r}V${r}`,
  _: (r) => `M${-r} 0H${r}`,
  "+": (r) => `M${-r} 0H${r}M0 ${-r}V${r}`,
  1: (r) => arms(r, Math.PI),
  2: (r) => arms(r, 0),
  3: (r) => arms(r, -Math.PI / 2),
  4: (r) => arms(r, Math.PI / 2),
  ".": (r) => `M${-r / 2} 0a${r / 2} ${r / 2} 0 1 0 ${r} 0a${r / 2} ${r / 2} 0 1 0 ${-r} 0Z`,
  o: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
};

function sign(marker, x, y, points, color) {
  const radius = (points * POINT) / 2;
  const at = `translate(${fixed(x)} ${fixed(y)})`;
  if (marker.startsWith("$")) {
    const size = `font-size="${radius * 2.6}" text-anchor="middle" dominant-baseline="central" font-weight="bold"`;
    return `<text class="pf-fill" ${tones(color, TEXT_CONTRAST)} transform="${at}" ${size}>${escaped(marker.slice(1, -1))}</text>`;
  }
  const turned = marker === "X" ? `${at} rotate(45)` : at;
  const open = OPEN.has(marker);
  const path = (SIGNS[marker === "X" ? "P" : marker] || SIGNS.o)(fixed(radius));
  const look = open ? 'class="pf-line" fill="none" stroke-width="1.8"' : 'class="pf-fill"';
  return `<path ${look} ${tones(color)} transform="${turned}" d="${path}"/>`;
}

// Hatches: a pattern for each face, hatch and edge.

const STROKES = {
  "/": "M0 8L8 0M-2 2L2 -2M6 10L10 6",
  "\\": "M0 0L8 8M-2 6L2 10M6 -2L10 2",
  x: "M0 0L8 8M0 8L8 0",
  "-": "M0 4H8",
  "|": "M4 0V8",
  "+": "M0 4H8M4 0V8",
  o: "M2 4a2 2 0 1 0 4 0a2 2 0 1 0 -4 0",
  ".": "M3.2 4a.8 .8 0 1 0 1.6 0a.8 .8 0 1 0 -1.6 0",
};

function hatched(drawing, face, hatch, edge) {
  if (!hatch) return face;
  const key = [face, hatch, edge].join();
  if (!drawing.hatches.has(key)) {
    const id = `${drawing.id}-hatch${drawing.hatches.size}`;
    const scale = hatch.length > 2 ? 0.75 : 1;
    const fill = hatch[0] === "." ? edge : "none";
    drawing.hatches.set(key, id);
    drawing.defs.push(
      `<pattern id="${id}" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="scale(${scale})">` +
        `<rect width="8" height="8" fill="${face}"/>` +
        `<path d="${STROKES[hatch[0]]}" fill="${fill}" stroke="${edge}" stroke-width="0.7"/></pattern>`,
    );
  }
  return `url(#${drawing.hatches.get(key)})`;
}

// Marks. Each gives its markup, and adds to `view.items` what the pointer finds.

const named = (drawing, mark) =>
  mark.name && drawing.names.has(mark.name) ? ` data-name="${drawing.names.get(mark.name)}"` : "";

function line(drawing, view, mark) {
  const { x: across, y: up, color = BLACK, marker = "", line: dash = "-", width = 1.4, size = 5, every = 1 } = mark;
  const parts = [];
  const at = across.map((value, place) => [view.x(value), up[place] === null ? null : view.y(up[place])]);
  let path = "";
  let pen = "M";
  for (const [x, y] of at) {
    if (y === null) {
      pen = "M";
      continue;
    }
    path += pen === "L" && mark.steps ? `H${fixed(x)}V${fixed(y)}` : `${pen}${fixed(x)} ${fixed(y)}`;
    pen = "L";
  }
  if (dash && path) {
    const look = `stroke-width="${fixed(width * POINT)}" stroke-dasharray="${DASHES[dash]}" stroke-linejoin="round"`;
    parts.push(`<path class="pf-line" fill="none" ${tones(color)} ${look} d="${path}"/>`);
  }
  at.forEach(([x, y], place) => {
    if (y === null) return;
    const half = mark.halves?.[place];
    if (half) {
      const [high, low] = [view.y(up[place] + half), view.y(up[place] - half)].map(fixed);
      const bar = `M${fixed(x)} ${low}V${high}M${fixed(x - 4)} ${low}h8M${fixed(x - 4)} ${high}h8`;
      parts.push(`<path class="pf-line" fill="none" ${tones(color)} stroke-width="1.6" d="${bar}"/>`);
    }
    if (marker && place % every === 0) parts.push(sign(marker, x, y, size, color));
    const label = mark.labels?.[place];
    if (label) {
      const [above, letters] = [y - (size / 2 + 4) * POINT, (mark.label_size || 10) * POINT];
      view.over.push([
        6,
        `<text class="pf-ink pf-halo" x="${fixed(x)}" y="${fixed(above)}" text-anchor="middle" font-size="${letters}"${named(drawing, mark)}>${escaped(label)}</text>`,
      ]);
    }
    if (mark.silent) return;
    const value = told(view.panel.y.label, `${number(up[place])}${half ? ` ± ${number(half)}` : ""}`);
    const where = mark.told?.[place] ?? `${value}, ${told(view.panel.x.label, number(across[place]))}`;
    const about = mark.told?.[place] && !view.panel.equal ? `${value}, ${where}` : where;
    view.items.push({ x, y, row: mark, name: mark.name, text: mark.name ? `${mark.name}: ${about}` : about });
  });
  return `<g${named(drawing, mark)}>${parts.join("")}</g>`;
}

function bar(drawing, view, mark) {
  const { color = "#7f7f7f", hatch = "", height = 0.7 } = mark;
  const [x1, x2] = [view.x(mark.low), view.x(mark.high)].sort((a, b) => a - b);
  const [y1, y2] = [view.y(mark.at - height / 2), view.y(mark.at + height / 2)].sort((a, b) => a - b);
  const box = `x="${fixed(x1)}" y="${fixed(y1)}" width="${fixed(Math.max(x2 - x1, 0.5))}" height="${fixed(y2 - y1)}"`;
  view.items.push({
    seen: [x1, y1, x2, y2],
    area: [x1, y1, Math.max(x2, x1 + 60), y2],
    row: mark,
    text: `${mark.name}: ${told(view.panel.x.label, mark.text || number(mark.high))}`,
  });
  if (mark.text) {
    const ahead = mark.high >= mark.low;
    view.over.push([
      5,
      `<text class="pf-ink pf-halo" x="${fixed(view.x(mark.high) + (ahead ? 5 : -5))}" y="${fixed((y1 + y2) / 2)}" ` +
        `text-anchor="${ahead ? "start" : "end"}" dominant-baseline="central" font-size="12.5">${escaped(mark.text)}</text>`,
    ]);
  }
  return `<rect ${box} fill="${hatched(drawing, color, hatch, BLACK)}" class="pf-edge" stroke-width="1"/>`;
}

function rule(_drawing, view, mark) {
  const { vertical = true, color = BLACK, line: dash = "--", width = 1 } = mark;
  const { left, top, right, bottom } = view.box;
  const at = fixed(vertical ? view.x(mark.at) : view.y(mark.at));
  const path = vertical ? `M${at} ${top}V${bottom}` : `M${left} ${at}H${right}`;
  if (mark.about) {
    const area = vertical ? [at - 4, top, at + 4, bottom] : [left, at - 4, right, at + 4];
    view.items.push({ area, row: mark, text: mark.about });
  }
  return `<path class="pf-line" fill="none" ${tones(color)} stroke-width="${fixed(width * POINT)}" stroke-dasharray="${DASHES[dash]}" d="${path}"/>`;
}

function text(drawing, view, mark) {
  const { color = BLACK, size = 10, place = "middle", rise = 0, box = "" } = mark;
  const [x, y, letters] = [view.x(mark.x), view.y(mark.y) - rise * POINT, size * POINT];
  if (x < view.box.left - 1 || x > view.box.right + 1) return "";
  const [width, upright] = [widthOf(mark.text, letters), letters * 0.6];
  if (mark.about) {
    const area = [x - width / 2 - 2, y - upright, x + width / 2 + 2, y + upright];
    view.items.push({ area, row: `texts at ${mark.y}`, name: mark.name, text: mark.about });
  }
  const frame = box && box !== "none";
  const behind = frame
    ? `<circle class="pf-paper pf-line" ${tones(box)} cx="${fixed(x)}" cy="${fixed(y)}" r="${fixed(width / 2 + 4)}" stroke-width="1.3"/>`
    : "";
  const ink = color === BLACK ? 'class="pf-ink' : `${tones(color, TEXT_CONTRAST)} class="pf-fill`;
  const base = rise && !frame ? "auto" : "central";
  return (
    `<g${named(drawing, mark)}>${behind}<text ${ink}${frame ? "" : " pf-halo"}" x="${fixed(x)}" y="${fixed(y)}" ` +
    `text-anchor="${place}" dominant-baseline="${base}" font-size="${fixed(letters)}">${escaped(mark.text)}</text></g>`
  );
}

function arrow(_drawing, view, mark) {
  const { color = "#666666", width = 1.6 } = mark;
  const [x1, y1, x2, y2] = [view.x(mark.x1), view.y(mark.y1), view.x(mark.x2), view.y(mark.y2)].map(fixed);
  const look = `class="pf-line" fill="none" ${tones(color)} stroke-width="${fixed(width * POINT)}"`;
  if (mark.span) return `<path ${look} d="M${x1} ${y1}H${x2}M${x1} ${y1 - 4}v8M${x2} ${y2 - 4}v8"/>`;
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const head = `<path class="pf-fill" ${tones(color)} transform="translate(${x2} ${y2}) rotate(${fixed(angle)})" d="M0 0L-11 4.5V-4.5Z"/>`;
  return `<path ${look} d="M${x1} ${y1}L${x2} ${y2}"/>${head}`;
}

function circle(drawing, view, mark) {
  const { color = "#666666", line: dash = "--" } = mark;
  const radius = Math.abs(view.x(mark.x + mark.radius) - view.x(mark.x));
  const look = `${tones(color)} stroke-dasharray="${DASHES[dash]}" stroke-width="1.3"`;
  return `<circle class="pf-line" fill="none" ${look} cx="${fixed(view.x(mark.x))}" cy="${fixed(view.y(mark.y))}" r="${fixed(radius)}"${named(drawing, mark)}/>`;
}

function block(drawing, view, mark) {
  const { face = "", hatch = "", edge = "", ink = BLACK, size = 8 } = mark;
  const [x1, x2] = [view.x(mark.x1), view.x(mark.x2)];
  const [y2, y1] = [view.y(mark.y1), view.y(mark.y2)];
  const box = `x="${fixed(x1)}" y="${fixed(y1)}" width="${fixed(x2 - x1)}" height="${fixed(y2 - y1)}"`;
  if (mark.about)
    view.items.push({ area: [x1, y1, x2, y2], row: `lane ${Math.floor(mark.y1)}`, name: mark.name, text: mark.about });
  const look = face
    ? `fill="${hatched(drawing, face, hatch, edge || BLACK)}" stroke="${edge || "none"}" stroke-width="0.8"`
    : 'fill="none" class="pf-edge" stroke-dasharray="2 2" stroke-width="1"';
  const rows = mark.text ? mark.text.split("\n") : [];
  const letters = size * POINT;
  const first = (y1 + y2) / 2 - ((rows.length - 1) * letters) / 2;
  const inside = rows.map(
    (row, place) =>
      `<text x="${fixed((x1 + x2) / 2)}" y="${fixed(first + place * letters)}" text-anchor="middle" dominant-baseline="central" ` +
      `font-size="${fixed(letters)}"${mark.bold ? ' font-weight="bold"' : ""} fill="${ink}" stroke="${face}" stroke-width="2.5" paint-order="stroke">${escaped(row)}</text>`,
  );
  return `<g${named(drawing, mark)}><rect ${box} ${look}/>${inside.join("")}</g>`;
}

const MARKS = { line, bar, rule, text, arrow, circle, block };

// Panels.

function scale({ low, high, log }, from, to) {
  const place = log ? Math.log : (value) => value;
  const step = (to - from) / (place(high) - place(low));
  return (value) => from + (place(log ? Math.max(value, low / 1e6) : value) - place(low)) * step;
}

function margins(panel) {
  const ticks = (axis) =>
    (axis.shown === false ? [] : axis.ticks || []).map(([, label]) => widthOf(label, (axis.size || 10) * POINT));
  const widest = Math.max(0, ...ticks(panel.y));
  const names = ticks(panel.x);
  const slope = ((panel.x.slope || 0) * Math.PI) / 180;
  const below = names.length ? 20 + Math.max(...names) * Math.sin(slope) : 4;
  const leans = slope ? Math.max(0, (names[0] || 0) * Math.cos(slope) - 40) : 0;
  return {
    left: Math.max(10 + widest + (panel.y.label && panel.y.shown !== false ? 22 : 0), leans),
    bottom: below + (panel.x.label && panel.x.shown !== false ? 20 : 0),
    top: panel.title || panel.note ? 28 : 12,
    right: 16,
  };
}

function axes(view) {
  const { x, y } = view.panel;
  const { left, top, right, bottom } = view.box;
  const parts = [
    `<rect x="${left}" y="${top}" width="${fixed(right - left)}" height="${fixed(bottom - top)}" class="pf-frame"/>`,
  ];
  const letters = (axis) => `font-size="${fixed((axis.size || 10) * POINT)}"`;
  const inside = (value, from, to) => value >= Math.min(from, to) - 0.5 && value <= Math.max(from, to) + 0.5;
  for (const [value, label] of x.shown === false ? [] : x.ticks || []) {
    const at = fixed(view.x(value));
    if (!inside(at, left, right)) continue;
    if (x.grid) parts.push(`<path class="pf-grid" d="M${at} ${top}V${bottom}"/>`);
    const turned = x.slope
      ? `text-anchor="end" transform="translate(${at} ${bottom + 10}) rotate(${-x.slope})" dominant-baseline="central"`
      : `text-anchor="middle" x="${at}" y="${bottom + 18}"`;
    parts.push(
      `<path class="pf-tick" d="M${at} ${bottom}v4"/><text class="pf-ink" ${turned} ${letters(x)}>${escaped(label)}</text>`,
    );
  }
  for (const [value, label] of y.shown === false ? [] : y.ticks || []) {
    const at = fixed(view.y(value));
    if (!inside(at, top, bottom)) continue;
    if (y.grid) parts.push(`<path class="pf-grid" d="M${left} ${at}H${right}"/>`);
    parts.push(
      `<text class="pf-ink" x="${left - 7}" y="${at}" text-anchor="end" dominant-baseline="central" ${letters(y)}>${escaped(label)}</text>`,
    );
  }
  const [middle, centre] = [fixed((left + right) / 2), fixed((top + bottom) / 2)];
  if (x.label && x.shown !== false)
    parts.push(
      `<text class="pf-ink" x="${middle}" y="${fixed(view.cell.bottom - 5)}" text-anchor="middle" font-size="13.3">${escaped(x.label)}</text>`,
    );
  if (y.label && y.shown !== false)
    parts.push(
      `<text class="pf-ink" transform="translate(${fixed(view.cell.left + 13)} ${centre}) rotate(-90)" text-anchor="middle" font-size="13.3">${escaped(y.label)}</text>`,
    );
  const { title = "", note = "", bold } = view.panel;
  if (title)
    parts.push(
      `<text class="pf-ink" x="${bold ? left : middle}" y="${top - 9}" text-anchor="${bold ? "start" : "middle"}" font-size="14"${bold ? ' font-weight="bold"' : ""}>${escaped(title)}</text>`,
    );
  if (note)
    parts.push(
      `<text class="pf-ink" x="${right}" y="${top - 9}" text-anchor="end" font-size="12">${escaped(note)}</text>`,
    );
  return parts.join("");
}

// The names that can be hidden, each with a mark as it looks.
function legend(chart) {
  const found = new Map();
  if (chart.keys) {
    for (const { sign, text: name } of chart.keys) found.set(sign.name || name, { name, look: sign });
    return found;
  }
  for (const panel of chart.panels) {
    if (panel.legend === "none") continue;
    for (const mark of panel.marks)
      if (mark.name && (mark.mark === "line" || mark.mark === "circle") && !found.has(mark.name))
        found.set(mark.name, { name: mark.name, look: mark });
  }
  return found;
}

function swatch(drawing, mark) {
  const view = {
    x: (value) => value,
    y: (value) => value,
    over: [],
    items: [],
    panel: { x: {}, y: {} },
    box: { left: -99, right: 99 },
  };
  const look = { ...mark, name: undefined, about: undefined };
  const small = {
    line: () =>
      line(drawing, view, { ...look, x: [2, 28], y: [7, 7], marker: "", halves: [], labels: [], told: [] }) +
      (mark.marker ? sign(mark.marker, 15, 7, Math.min(mark.size || 5, 7), mark.color || BLACK) : ""),
    circle: () => line(drawing, view, { x: [2, 28], y: [7, 7], color: mark.color, line: mark.line || "--" }),
    block: () => block(drawing, view, { ...look, x1: 3, x2: 27, y1: 13, y2: 1, text: "" }),
    text: () => text(drawing, view, { ...look, x: 15, y: 7, size: 9, rise: 0, place: "middle" }),
  };
  return `<svg width="30" height="14" viewBox="0 0 30 14" aria-hidden="true">${small[mark.mark]()}</svg>`;
}

let drawings = 0;

// The chart as SVG, with its legend, and what the pointer finds: panels with their boxes and items.
export function draw(chart) {
  drawings += 1;
  const entries = legend(chart);
  const names = new Map([...entries.keys()].map((name, place) => [name, place]));
  const drawing = { id: `pf${drawings}`, hatches: new Map(), defs: [], names };
  const columns = chart.columns || 1;
  const rows = Math.ceil(chart.panels.length / columns);
  const shares = chart.heights || Array(rows).fill(1);
  const total = shares.reduce((sum, share) => sum + share, 0);
  const width = chart.width * PX;
  const caption = chart.caption ? 24 : 0;
  let height = chart.height * PX;
  const parts = [];
  const views = [];
  const spaces = chart.panels.map(margins);
  let top = 0;
  for (let row = 0; row < rows; row += 1) {
    let bottom = top + ((height - caption) * shares[row]) / total;
    for (let column = 0; column < columns; column += 1) {
      const place = row * columns + column;
      if (place >= chart.panels.length) break;
      const panel = chart.panels[place];
      const beside = spaces.filter((_, other) => other % columns === column);
      const along = spaces.filter((_, other) => Math.floor(other / columns) === row);
      const cell = { left: (width * column) / columns, right: (width * (column + 1)) / columns, top, bottom };
      const box = {
        left: cell.left + Math.max(...beside.map((space) => space.left)),
        right: cell.right - spaces[place].right,
        top: top + Math.max(...along.map((space) => space.top)),
        bottom: bottom - Math.max(...along.map((space) => space.bottom)),
      };
      if (panel.equal) {
        const ratio = (panel.x.high - panel.x.low) / (panel.y.high - panel.y.low);
        if ((box.right - box.left) / (box.bottom - box.top) > ratio) {
          const aside = (box.right - box.left - (box.bottom - box.top) * ratio) / 2;
          box.left += aside;
          box.right -= aside;
          cell.left += aside;
        } else {
          const less = box.bottom - box.top - (box.right - box.left) / ratio;
          box.bottom -= less;
          if (columns === 1) {
            bottom -= less;
            height -= less;
          }
          cell.bottom -= less;
        }
      }
      for (const side of Object.keys(box)) box[side] = fixed(box[side]);
      const view = { panel, cell, box, items: [], over: [] };
      view.x = scale(panel.x, box.left, box.right);
      view.y = scale(panel.y, box.bottom, box.top);
      const clip = `${drawing.id}-clip${place}`;
      drawing.defs.push(
        `<clipPath id="${clip}"><rect x="${box.left}" y="${box.top - 2}" width="${fixed(box.right - box.left)}" height="${fixed(box.bottom - box.top + 4)}"/></clipPath>`,
      );
      const drawn = panel.marks.map((mark) => {
        const markup = MARKS[mark.mark](drawing, view, mark);
        const clipped = mark.mark !== "text" && mark.mark !== "arrow";
        return [mark.above || ORDER[mark.mark], clipped ? `<g clip-path="url(#${clip})">${markup}</g>` : markup];
      });
      const ordered = [...drawn, ...view.over].sort(([one], [other]) => one - other);
      parts.push(axes(view), ...ordered.map(([, markup]) => markup));
      views.push({ panel, box, items: view.items });
    }
    top = bottom;
  }
  if (chart.caption)
    parts.push(
      `<text class="pf-ink" x="${width / 2}" y="${fixed(height - 8)}" text-anchor="middle" font-size="12">${escaped(chart.caption)}</text>`,
    );
  const buttons = [...entries.values()].map(({ name, look }) => ({ name, sign: swatch(drawing, look) }));
  const svg =
    `<svg viewBox="0 0 ${fixed(width)} ${fixed(height)}" width="${fixed(width)}" height="${fixed(height)}" aria-hidden="true" ` +
    `font-family="${FONT}"><defs>${drawing.defs.join("")}</defs>${parts.join("")}<rect class="pf-found" visibility="hidden"/></svg>`;
  return { svg, width, height, views, legend: buttons, names: [...names.keys()] };
}

// On a page.

const DARK = `{ --pf-paper: ${PAPER.dark}; --pf-ink: ${INK.dark}; --pf-grid: #43474f; --pf-frame: #8a919e; }
  $ :is(.pf-line, .pf-fill) { --pf-tone: var(--dark); }`;
const dark = (where) => DARK.replace("$", where).replace(/^/, where);
const STYLE = `
pacelab-figure { --pf-paper: ${PAPER.light}; --pf-ink: ${INK.light}; --pf-grid: #dcdfe4; --pf-frame: #767b85;
  display: block; position: relative; max-width: max-content; background: var(--pf-paper); color: var(--pf-ink);
  font: 13px/1.35 ${FONT}; }
pacelab-figure:not([data-drawn]) { padding: 0.75em; }
pacelab-figure .pf-stage { position: relative; }
pacelab-figure .pf-stage > svg { display: block; max-width: 100%; height: auto; }
pacelab-figure :is(.pf-line, .pf-fill) { --pf-tone: var(--light); }
pacelab-figure .pf-line { stroke: var(--pf-tone); }
pacelab-figure .pf-fill { fill: var(--pf-tone); }
pacelab-figure .pf-ink { fill: var(--pf-ink); }
pacelab-figure .pf-paper { fill: var(--pf-paper); }
pacelab-figure .pf-halo { stroke: var(--pf-paper); stroke-width: 3px; paint-order: stroke; stroke-linejoin: round; }
pacelab-figure .pf-edge { stroke: var(--pf-ink); }
pacelab-figure .pf-frame { fill: none; stroke: var(--pf-frame); }
pacelab-figure .pf-tick { stroke: var(--pf-frame); }
pacelab-figure .pf-grid { stroke: var(--pf-grid); }
pacelab-figure .pf-found { fill: none; stroke: var(--pf-ink); stroke-width: 2; }
pacelab-figure .pf-panel { position: absolute; cursor: crosshair; }
pacelab-figure .pf-panel:focus-visible { outline: 2px solid #0072b2; outline-offset: 2px; }
pacelab-figure .pf-told { position: absolute; pointer-events: none; z-index: 1; max-width: 24em; padding: 3px 7px;
  border-radius: 3px; background: var(--pf-ink); color: var(--pf-paper); font-size: 13px; white-space: pre-line; }
pacelab-figure .pf-names { display: flex; flex-wrap: wrap; gap: 2px 6px; padding: 4px 8px 0; }
pacelab-figure .pf-names button { display: inline-flex; align-items: center; gap: 5px; padding: 2px 6px; border: 1px solid
  transparent; border-radius: 3px; background: none; color: inherit; font: inherit; cursor: pointer; min-height: 24px; }
pacelab-figure .pf-names button:hover { border-color: var(--pf-frame); }
pacelab-figure .pf-names button:focus-visible { outline: 2px solid #0072b2; }
pacelab-figure .pf-names [aria-pressed="false"] { text-decoration: line-through; }
pacelab-figure .pf-names [aria-pressed="false"] svg { visibility: hidden; }
pacelab-figure [data-hidden] { display: none; }
${dark(':is([data-jp-theme-light="false"], [data-md-color-scheme="slate"], [data-theme="dark"]) pacelab-figure')}
@media (prefers-color-scheme: dark) {
  ${dark(":root:not(:has([data-jp-theme-light], [data-md-color-scheme], [data-theme])) pacelab-figure")}
}
`;

function element(name, attributes, parent) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

function addStyle() {
  if (document.getElementById("pacelab-figure-style")) return;
  element("style", { id: "pacelab-figure-style" }, document.head).textContent = STYLE;
}

const middleOf = (item) =>
  item.area ? [(item.area[0] + item.area[2]) / 2, (item.area[1] + item.area[3]) / 2] : [item.x, item.y];

// The item at the pointer: the smallest area that holds it, else the nearest point.
export function found(items, x, y) {
  const size = ({ area: [x1, y1, x2, y2] }) => (x2 - x1) * (y2 - y1);
  const over = items.filter(({ area }) => area && area[0] <= x && x <= area[2] && area[1] <= y && y <= area[3]);
  const distance = (item) => Math.hypot(item.x - x, item.y - y);
  const near = items.filter((item) => !item.area && distance(item) <= NEAR_PX);
  const point = near.reduce((best, item) => (best && distance(best) <= distance(item) ? best : item), null);
  if (point && (!over.length || distance(point) < 8)) return point;
  return over.reduce((best, item) => (best && size(best) <= size(item) ? best : item), null);
}

// The item that an arrow key leads to: along its row, or to the row above or below.
export function moved(items, from, key) {
  const rows = [...new Set(items.map((item) => item.row))].map((row) =>
    items.filter((item) => item.row === row).sort((one, other) => middleOf(one)[0] - middleOf(other)[0]),
  );
  const height = (row) => row.reduce((sum, item) => sum + middleOf(item)[1], 0) / row.length;
  rows.sort((one, other) => height(one) - height(other));
  const at = rows.findIndex((row) => row.includes(from));
  if (at < 0) return rows[0]?.[0] || null;
  const place = rows[at].indexOf(from);
  const all = rows.flat();
  if (key === "Home") return all[0];
  if (key === "End") return all.at(-1);
  if (key === "ArrowUp" || key === "ArrowDown") {
    const row = rows[at + (key === "ArrowUp" ? -1 : 1)];
    if (!row) return from;
    const aside = (item) => Math.abs(middleOf(item)[0] - middleOf(from)[0]);
    return row.reduce((best, item) => (aside(best) <= aside(item) ? best : item));
  }
  const next = rows[at][place + (key === "ArrowLeft" ? -1 : 1)];
  return next || all[all.indexOf(from) + (key === "ArrowLeft" ? -1 : 1)] || from;
}

const KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);

function attachPanel(stage, drawn, view, hidden) {
  const { left, top, right, bottom } = view.box;
  const percent = (value, whole) => `${(100 * value) / whole}%`;
  const place = `left:${percent(left, drawn.width)};top:${percent(top, drawn.height)};width:${percent(right - left, drawn.width)};height:${percent(bottom - top, drawn.height)}`;
  const shown = () => view.items.filter((item) => !hidden.has(item.name));
  if (!view.items.length) return;
  const name = [view.panel.title, view.panel.y.label || view.panel.x.label].filter(Boolean).join(": ") || "the figure";
  const panel = element(
    "div",
    {
      class: "pf-panel",
      style: place,
      tabindex: "0",
      role: "slider",
      "aria-label": `values of ${name}`,
      "aria-valuemin": "0",
      "aria-valuemax": String(view.items.length - 1),
      "aria-valuenow": "0",
      "aria-valuetext": "read with the arrow keys",
      "data-lm-suppress-shortcuts": "true",
    },
    stage,
  );
  const box = element("div", { class: "pf-told", "aria-hidden": "true", hidden: "" }, stage);
  const mark = stage.querySelector(".pf-found");
  let current = null;
  const show = (item) => {
    box.hidden = !item;
    mark.setAttribute("visibility", item ? "visible" : "hidden");
    if (!item) return;
    current = item;
    const [x, y] = middleOf(item);
    const [x1, y1, x2, y2] = item.seen || item.area || [x - 7, y - 7, x + 7, y + 7];
    const rectangle = {
      x: x1,
      y: y1,
      width: Math.max(x2 - x1, 2),
      height: Math.max(y2 - y1, 2),
      rx: item.area ? 0 : 7,
    };
    for (const [key, value] of Object.entries(rectangle)) mark.setAttribute(key, value);
    const far = x > drawn.width * 0.6;
    box.style.cssText = `${far ? `right:${percent(drawn.width - x + 12, drawn.width)}` : `left:${percent(x + 12, drawn.width)}`};top:${percent(Math.min(y + 10, drawn.height - 30), drawn.height)}`;
    box.textContent = item.text;
    panel.setAttribute("aria-valuenow", String(view.items.indexOf(item)));
    panel.setAttribute("aria-valuetext", item.text);
  };
  panel.addEventListener("pointermove", (event) => {
    const seen = panel.getBoundingClientRect();
    const x = left + ((event.clientX - seen.left) / seen.width) * (right - left);
    const y = top + ((event.clientY - seen.top) / seen.height) * (bottom - top);
    show(found(shown(), x, y));
  });
  panel.addEventListener("pointerleave", () => show(null));
  panel.addEventListener("blur", () => show(null));
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show(null);
    if (!KEYS.has(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    show(moved(shown(), current, event.key));
  });
}

function attachNames(figure, drawn, hidden) {
  if (!drawn.legend.length) return;
  const row = element("div", { class: "pf-names", role: "group", "aria-label": "marks to show" }, figure);
  drawn.legend.forEach(({ name, sign }, place) => {
    const button = element("button", { type: "button", "aria-pressed": "true", title: `hide or show ${name}` }, row);
    button.innerHTML = `${sign}<span>${escaped(name)}</span>`;
    button.addEventListener("click", () => {
      const key = drawn.names[place];
      hidden.has(key) ? hidden.delete(key) : hidden.add(key);
      button.setAttribute("aria-pressed", String(!hidden.has(key)));
      for (const mark of figure.querySelectorAll(`[data-name="${place}"]`))
        mark.toggleAttribute("data-hidden", hidden.has(key));
    });
  });
}

// Draws into an element.
export function show(figure, chart) {
  addStyle();
  const drawn = draw(chart);
  const hidden = new Set();
  figure.replaceChildren();
  attachNames(figure, drawn, hidden);
  const stage = element("div", { class: "pf-stage" }, figure);
  stage.innerHTML = drawn.svg;
  for (const view of drawn.views) attachPanel(stage, drawn, view, hidden);
  figure.dataset.drawn = "";
}

if (globalThis.customElements && !customElements.get("pacelab-figure")) {
  customElements.define(
    "pacelab-figure",
    class extends HTMLElement {
      static observedAttributes = ["data-chart"];
      attributeChangedCallback(_name, _old, text) {
        show(this, JSON.parse(text));
      }
    },
  );
}

// The widget of a notebook (anywidget): HTML that may have figures in it.
function render({ model, el }) {
  const update = () => {
    el.innerHTML = model.get("html");
  };
  model.on("change:html", update);
  update();
}

export default { render };
