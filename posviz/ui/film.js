// A curve or a heatmap that changes: frames of points or of cells, run through by a slider and a button under the figure.

const SECONDS = 6; // a whole film

class Film {
  constructor(root, changed) {
    this.root = root;
    this.bar = root.querySelector(".posviz-film");
    [this.button, this.range, this.label] = ["button", "input", "output"].map((tag) => this.bar.querySelector(tag));
    this.changed = changed; // draws the figure again, and says when that is done
    this.range.oninput = () => {
      this.pause();
      this.lead();
      this.changed();
    };
    this.follow = this.follow.bind(this);
    document.addEventListener("posviz-film", this.follow);
    this.button.onclick = () => (this.playing ? this.pause() : this.play());
    this.pause();
  }

  load(header, bytes) {
    this.bar.hidden = !header;
    this.root.toggleAttribute("data-film", Boolean(header));
    this.header = header;
    if (!header) return this.pause();
    let at = 0;
    if (header.cells) {
      this.frames = header.cells.map(({ rows, cols }) => bytes.subarray(at, (at += rows * cols)));
    } else {
      const points = new Float32Array(bytes.slice().buffer); // a copy, since floats begin at multiples of 4
      this.frames = header.lengths.map((n) => points.subarray(at, (at += n * header.axes)));
    }
    const atEnd = Number(this.range.value) >= Number(this.range.max) || !this.seen;
    this.range.max = this.frames.length - 1;
    if (atEnd) this.range.value = this.range.max; // a film that grows is watched at its end
    this.seen = true;
    this.range.step = !header.cells && new Set(header.lengths).size === 1 ? "any" : 1; // unlike lengths cannot be mixed
  }

  // Take the other films of the same group along to this moment.
  lead() {
    if (!this.header?.together) return;
    const { value } = this.range;
    document.dispatchEvent(new CustomEvent("posviz-film", { detail: { from: this, together: this.header.together, value } }));
  }

  follow({ detail: { from, together, value } }) {
    if (from === this || !this.header?.together || this.header.together !== together) return;
    this.pause();
    this.range.value = value;
    this.changed();
  }

  close() {
    this.pause();
    document.removeEventListener("posviz-film", this.follow);
  }

  // Points of the moment: a frame, or a mixture of two neighbours for a smooth motion.
  now() {
    const at = Math.floor(this.range.value);
    const [frame, next] = [this.frames[at], this.frames[at + 1]];
    const part = this.range.value - at;
    return part > 0 && next ? frame.map((value, i) => value + part * (next[i] - value)) : frame;
  }

  // Geometry and cells of a heatmap's moment; null for a film of points, or none.
  cells() {
    if (!this.header?.cells) return null;
    const at = Math.round(this.range.value);
    return { geometry: this.header.cells[at], cells: this.frames[at] };
  }

  // Say which moment it is, and put it into the traces and notes of a curve, as figures/curve.py names them.
  apply(data, notes) {
    this.label.textContent = this.header.labels[Math.round(this.range.value)];
    this.range.setAttribute("aria-valuetext", this.label.textContent);
    if (this.header.cells) return;
    const points = this.now();
    const { axes } = this.header;
    const n = points.length / axes;
    const names = ["x", "y", "z"].slice(0, axes);
    const pieces = data.filter(({ meta }) => meta === "walk");
    pieces.forEach((trace, piece) => {
      const from = Math.round((piece * (n - 1)) / pieces.length);
      const to = Math.round(((piece + 1) * (n - 1)) / pieces.length);
      trace.customdata = Array.from({ length: to - from + 1 }, (_, i) => from + i);
      names.forEach((name, axis) => (trace[name] = trace.customdata.map((row) => points[row * axes + axis])));
      if (axes === 3) trace.line.color = trace.customdata;
    });
    const ends = [0, n - 1];
    const dots = data.find(({ meta }) => meta === "ends");
    names.forEach((name, axis) => (dots[name] = ends.map((row) => points[row * axes + axis])));
    for (const trace of data.filter(({ meta }) => meta === "marked")) {
      names.forEach((name, axis) => (trace[name] = Array.from(numbers(trace.customdata), (row) => points[row * axes + axis])));
    }
    for (const note of notes) {
      const row = ends[["first", "last"].indexOf(note.name)];
      if (row === undefined) continue;
      names.forEach((name, axis) => (note[name] = points[row * axes + axis]));
      note.text = row.toLocaleString("en");
    }
  }

  async play() {
    const last = Number(this.range.max);
    if (Number(this.range.value) >= last) this.range.value = 0;
    const begun = performance.now() - (this.range.value / last) * SECONDS * 1000;
    this.show(true);
    while (this.playing && Number(this.range.value) < last) {
      await new Promise(requestAnimationFrame);
      if (this.playing) this.range.value = Math.min(last, ((performance.now() - begun) / (SECONDS * 1000)) * last);
      this.lead();
      await this.changed();
    }
    this.pause();
  }

  pause() {
    this.show(false);
  }

  show(playing) {
    this.playing = playing;
    this.button.textContent = playing ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", playing ? "Pause" : "Play");
  }
}
