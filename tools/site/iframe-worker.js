// The search runs in a worker, which browsers refuse to pages that are opened as files. There a hidden frame does its work.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      url = new URL(url, location.href);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const load = one => new Promise((done, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = new URL(one, url);
        script.onload = done;
        script.onerror = failed;
        this.inside.document.body.append(script);
      });
      this.inside.importScripts = (...all) => all.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
      this.ready = load(url);
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data})));
    }
    terminate() {}
  };
}
