// Figures with controls on the page of a lab. The page holds the drawings of all settings, so that no Python is needed
// (tools/site/explored.py). The last control changes from each drawing to the next.
(() => {
  const inflate = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  };

  const labelled = (text, control) => {
    const label = document.createElement("label");
    const name = document.createElement("span");
    name.textContent = text;
    label.append(name, control);
    return label;
  };

  const slider = ({ label, texts, start }, changed) => {
    const input = document.createElement("input");
    Object.assign(input, { type: "range", min: 0, max: texts.length - 1, step: 1, value: start });
    const output = document.createElement("output");
    const tell = () => {
      output.textContent = texts[Number(input.value)];
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => {
      tell();
      changed(Number(input.value));
    });
    tell();
    const row = labelled(label, input);
    row.append(output);
    return row;
  };

  const choice = ({ label, texts, start }, changed) => {
    const select = document.createElement("select");
    for (const text of texts) select.append(new Option(text));
    select.selectedIndex = start;
    select.addEventListener("change", () => changed(select.selectedIndex));
    return labelled(label, select);
  };

  class Explore extends HTMLElement {
    connectedCallback() {
      if (this.querySelector(":scope > .controls")) return;
      const controls = JSON.parse(this.dataset.controls);
      const chosen = controls.map(({ start }) => start);
      const shown = this.firstElementChild;
      const box = document.createElement("div");
      box.className = "controls";
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "controls of the figure");
      const show = async (which, place) => {
        chosen[which] = place;
        this.drawings ??= inflate(this.dataset.drawings);
        const drawings = await this.drawings;
        const number = controls.reduce((sum, { texts }, at) => sum * texts.length + chosen[at], 0);
        const open = this.querySelector("details")?.open ?? false;
        shown.innerHTML = drawings[number];
        const details = shown.querySelector("details");
        if (details) details.open = open;
      };
      controls.forEach((control, which) => {
        box.append((control.kind === "slide" ? slider : choice)(control, (place) => show(which, place)));
      });
      this.prepend(box);
    }
  }

  customElements.define("pacelab-explore", Explore);
})();
