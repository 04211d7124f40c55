// A large download that arrives piece by piece: the server holds one piece, the browser the file.

const saves = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  let save = saves.get(parentElement);
  if (!save) saves.set(parentElement, (save = new Save(parentElement.querySelector(".posviz-stream"))));
  save.send = setStateValue;
  save.take(data);
  return () => {
    save.token = null; // pieces that still arrive belong to nobody
    saves.delete(parentElement);
  };
}

class Save {
  constructor(root) {
    [this.button, this.bar, this.said] = ["button", "progress", "output"].map((tag) => root.querySelector(tag));
    this.button.onclick = () => (this.token ? this.stop("Stopped.") : this.start());
  }

  start() {
    this.token = `${Date.now()}-${Math.random()}`;
    this.parts = [];
    this.held = 0;
    this.bar.hidden = false;
    this.bar.value = 0;
    this.say("Starting …");
    this.ask();
  }

  ask() {
    this.send("want", [this.token, this.parts.length]);
  }

  take(data) {
    const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
    const about = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
    this.label = about.label;
    if (!this.token || about.token !== this.token) this.say(); // a page that ran again for another reason
    else if (about.refused) this.stop(about.refused);
    else if (about.part !== this.parts.length) return;
    else if (about.done) this.finish(about.name);
    else {
      this.parts.push(new Blob([data.slice(4 + length)])); // the browser may keep it on its disk
      this.held += data.length - 4 - length;
      this.bar.value = this.held / about.size;
      this.say(`${(this.held / 1e6).toFixed(0)} of ${(about.size / 1e6).toFixed(0)} MB`);
      this.ask();
    }
  }

  finish(name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(this.parts, { type: "application/zip" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    this.stop("Saved.");
  }

  stop(sentence) {
    this.token = null;
    this.parts = [];
    this.bar.hidden = true;
    this.say(sentence);
  }

  say(sentence) {
    this.button.textContent = this.token ? "Stop" : this.label;
    if (sentence !== undefined) this.said.textContent = sentence;
  }
}
