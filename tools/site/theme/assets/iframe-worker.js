// A browser does not start a Web Worker from a file. The search is a worker, so for pages that were opened as files it
// runs in a hidden frame with the interface of a worker. The theme's worker looks for the name `IFrameWorker` to find out
// where it was loaded from.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = Object.assign(document.createElement("iframe"), { hidden: true, title: "search" });
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...addresses) => Promise.all(addresses.map((one) => load(inside, one)));
      load(inside, address).then(() => {
        this.inside = inside;
        for (const data of this.waiting) this.postMessage(data);
      });
    }

    postMessage(data) {
      if (!this.inside) this.waiting.push(data);
      else this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
  window.Worker = window.IFrameWorker;
}

function load(inside, address) {
  return new Promise((done, fail) => {
    const script = inside.document.createElement("script");
    Object.assign(script, { src: new URL(address, document.baseURI).href, async: false, onload: done, onerror: fail });
    inside.document.head.append(script);
  });
}
