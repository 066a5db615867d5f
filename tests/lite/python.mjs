// Runs a Python file in Pyodide under Node.js: node python.mjs FOLDER ROOT FILE ARGUMENTS...
// FOLDER is what tools/browser-python makes; ROOT is the source tree, which Python sees as /tree.
import { pathToFileURL } from "node:url";

const [folder, root, file, ...rest] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide/pyodide.mjs`));
const pyodide = await loadPyodide({ indexURL: `${folder}/pyodide/` });
for (const [from, to] of [
  [`${folder}/site`, "/site"],
  [root, "/tree"],
]) {
  pyodide.FS.mkdirTree(to);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: from }, to);
}
pyodide.globals.set("given", pyodide.toPy([`/tree/${file}`, ...rest]));
try {
  await pyodide.runPythonAsync(`
import runpy, sys
sys.path.insert(0, "/site")
sys.argv = given
runpy.run_path(given[0], run_name="__main__")
`);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
