// The editor's Web Worker for schemes whose hooks are in Python. It runs Pyodide with PaceLab's wheels, which `make lite`
// has put beside the page. The first message brings their address and what the page was opened with; each later message
// is a change, which gets one answer with the same id (pacelab.demo.editor.answer_change).

let answer;

async function startPython({ address, opened }) {
  const { loadPyodide } = await import(`${address}pyodide.mjs`);
  const python = await loadPyodide({ packages: ["pacelab"] });
  python.globals.set("opened", JSON.stringify(opened));
  return python.runPythonAsync(`
import json
from functools import partial
from pacelab.demo.editor import answer_change, open_editor
partial(answer_change, open_editor(**json.loads(opened)))
`);
}

self.onmessage = async ({ data: { start, id, change } }) => {
  if (start) {
    answer = startPython(start);
    answer.catch(() => {}); // each change reports the error
    return;
  }
  let python;
  try {
    python = await answer;
  } catch (error) {
    postMessage({
      id,
      error: `Python did not start in this page (${error.message.trim().split("\n").at(-1)}). Reload the page, or use a current Firefox, Chrome, Edge or Safari.`,
    });
    return;
  }
  try {
    postMessage({ id, ...JSON.parse(python(JSON.stringify(change))) });
  } catch (error) {
    postMessage({ id, error: error.message.trim().split("\n").at(-1) });
  }
};
