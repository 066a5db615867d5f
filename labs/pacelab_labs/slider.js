// A native range input with its label and its value: it has a name for screen readers and moves by arrow keys.
function render({ model, el }) {
  const texts = model.get("texts");
  const label = document.createElement("label");
  label.style.cssText = "display:flex;flex-wrap:wrap;gap:0.75em;align-items:center;width:36em;max-width:100%";
  const name = document.createElement("span");
  name.style.cssText = "flex:0 0 15em;text-align:right";
  name.textContent = model.get("label");
  const input = document.createElement("input");
  Object.assign(input, { type: "range", min: 0, max: texts.length - 1, step: 1 });
  input.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes the arrow keys for its own commands
  input.style.cssText = "flex:1 1 12em;accent-color:#0072b2;height:1.6em";
  const value = document.createElement("output");
  value.style.cssText = "flex:0 0 4em;font-variant-numeric:tabular-nums;font-weight:bold";
  const show = () => {
    input.value = model.get("index");
    value.textContent = texts[model.get("index")];
    input.setAttribute("aria-valuetext", value.textContent);
  };
  input.addEventListener("input", () => {
    model.set("index", Number(input.value));
    model.save_changes();
    show();
  });
  model.on("change:index", show);
  label.append(name, input, value);
  el.append(label);
  show();
}
export default { render };
