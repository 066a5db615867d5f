// Goodput and the calls' quality as bars: length, number and pattern say the same.

const mbps = (bps) => (bps / 1e6).toFixed(2);
const kbps = (bps) => String(Math.round(bps / 1e3));
const WORST_MOS = 1;
const BEST_MOS = 4.5;

function row(kind, name, part, text, mark) {
  const element = document.createElement("div");
  element.className = `bar ${kind}`;
  element.innerHTML = "<span class=name></span><span class=track><span class=fill></span></span><span class=value></span>";
  element.querySelector(".name").textContent = name;
  element.querySelector(".fill").style.width = `${Math.min(100, Math.max(0, 100 * part))}%`;
  element.querySelector(".value").textContent = text;
  if (mark !== undefined) {
    const line = Object.assign(document.createElement("span"), { className: "mark" });
    line.style.left = `${100 * mark}%`;
    element.querySelector(".track").append(line);
  }
  return element;
}

/** Fills `host` with the bars of a view; `usual` is the goodput of a full bar, bit/s, unless all together carry more. */
export function showBars(host, { flows, calls, acceptable_mos: acceptable }, usual) {
  const small = usual < 1e6;
  const [show, unit] = small ? [kbps, "kbit/s"] : [mbps, "Mbit/s"];
  const sum = flows.reduce((total, flow) => total + flow.goodput_bps, 0);
  const full = Math.max(usual, sum);
  const said = [];
  const rows = [];
  const add = (kind, name, bps, alone) => {
    rows.push(row(kind, name, bps / full, `${show(bps)} ${unit}`, alone === undefined ? undefined : Math.min(1, alone / full)));
    said.push(`${name} ${show(bps)} ${unit}${alone === undefined ? "" : ` (alone ${show(alone)})`}`);
  };
  if (calls.length) {
    const part = (mos) => (mos - WORST_MOS) / (BEST_MOS - WORST_MOS);
    for (const { label, mos } of calls) {
      const good = mos >= acceptable;
      rows.push(row(good ? "call good" : "call bad", label, part(mos ?? WORST_MOS), mos === null ? "–" : `${mos.toFixed(2)} ${good ? "✔" : "✖"}`, part(acceptable)));
      said.push(`${label} MOS ${mos?.toFixed(2) ?? "unknown"}`);
    }
    add("sum", "TCP", sum);
  } else {
    flows.forEach((flow, index) => add(`flow${index % 4}`, flow.label, flow.goodput_bps, flow.alone_bps));
    if (flows.length > 1) add("sum", "sum", sum);
  }
  host.replaceChildren(...rows);
  host.setAttribute("aria-label", `${calls.length ? "Quality and goodput" : "Goodput"}: ${said.join(", ")}`);
}
