// Shows one figure of posviz: Plotly for axes, lines and 3-D, raster.js for the pixels of heatmaps.
//
// Streamlit calls the default export again whenever the data or the theme changes, always with
// the same element. So there is one View an element, and Plotly.react changes what differs: the
// node, the 3-D camera and the zoom stay. (st.plotly_chart builds a new chart each time.)
// The other .js files of this folder stand before this one in the same module.

const views = new WeakMap();
const NARROW = 480; // pixels: a telephone
const PAUSE = 350; // milliseconds that a person rests before the server is asked

export default function ({ data, parentElement, setStateValue }) {
  if (!data?.length) {
    parentElement.querySelector(".posviz-figure").dataset.idle = "preload";
    loadPlotly().catch(() => {}); // the figure that needs it will say so
    return undefined;
  }
  let view = views.get(parentElement);
  if (!view) views.set(parentElement, (view = new View(parentElement.querySelector(".posviz-figure"))));
  view.send = setStateValue;
  view.show(data);
  return () => {
    views.delete(parentElement);
    view.close();
  };
}

class View {
  constructor(root) {
    const part = (name) => root.querySelector(`.posviz-${name}`);
    this.root = root;
    [this.plot, this.tip, this.hint, this.said] = ["plot", "tip", "hint", "said"].map(part);
    this.raster = new Raster(part("raster"));
    this.film = new Film(root, () => this.redraw());
    this.refusal = part("refusal");
    this.resets = 0; // part of uirevision: a new number makes Plotly forget camera and zoom
    this.zoomed = this.turned = false; // by the person
    this.cursor = null; // the position that is marked on a line
    this.config = {
      displaylogo: false,
      responsive: false, // the observer below also sees a sidebar that opens
      doubleClick: false,
      modeBarButtons: [this.buttons()],
    };
    this.observer = new ResizeObserver(() => this.fit());
    root.addEventListener("posviz-answer", () => this.hear());
  }

  // The newest data wins: what arrives while Plotly works is drawn right after.
  async show(bytes) {
    const { text, payload } = unpack(bytes);
    const dark = this.isDark();
    if (text === this.text && dark === this.dark && !("refused" in this.root.dataset)) return;
    if (text !== this.text) this.given = { ...JSON.parse(text), payload };
    [this.text, this.dark] = [text, dark];
    this.root.style.height = `${this.given.height}px`;
    const { scene, yaxis } = this.given.figure.layout;
    this.root.toggleAttribute("data-square", Boolean(scene || yaxis?.scaleanchor)); // no taller than a narrow page is wide
    this.plot.setAttribute("aria-label", this.given.alt);
    this.film.load(this.given.film, this.given.payload);
    await this.redraw();
  }

  async redraw() {
    this.stale = true;
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.stale && !this.closed) {
        this.stale = false;
        await this.draw();
      }
    } catch (error) {
      this.refuse(error);
    } finally {
      this.busy = false;
    }
  }

  // Light text means a dark page, whatever theme or setting made it so.
  isDark() {
    const [r, g, b] = getComputedStyle(this.root).color.match(/[\d.]+/g).map(Number);
    return r + g + b > 382;
  }

  async draw() {
    const { given, dark } = this;
    const swap = dark ? given.dark : {};
    const { data, layout } = recolour(given.figure, swap);
    this.colours = recolour(given.tokens, swap);
    this.root.style.colorScheme = dark ? "dark" : "light"; // for the film's slider
    for (const [name, colour] of Object.entries(this.colours)) this.root.style.setProperty(`--posviz-${name}`, colour);
    const moment = this.film.cells();
    const header = moment ? { ...given.raster, ...moment.geometry } : given.raster;
    this.raster.load(header, moment?.cells ?? given.payload, recolour(given.raster?.palette, swap));
    this.hear();
    const Plotly = await loadPlotly();
    const first = !this.plot._fullLayout;
    this.space = Boolean(layout.scene);
    await (this.space && first ? idle() : breath()); // WebGL takes longest to start: last on a new page
    if (this.closed || this.stale) return;

    this.notes = (this.space ? layout.scene : layout).annotations ?? [];
    if (given.film) this.film.apply(data, this.notes);
    this.words = axisWords(layout, this.space);
    this.logs = ["x", "y"].filter((name) => layout[`${name}axis`]?.type === "log");
    this.walk = given.raster ? [] : walkOf(data);
    layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: this.colours["ink-soft"], activecolor: this.colours.accent };
    if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false; // a finger scrolls the page
    if (this.space) {
      this.titles = { texts: takeTitles(layout.scene), ranges: SPACE_AXES.map((name) => layout.scene[name].range) };
      if (this.plot.clientWidth < NARROW) for (const name of SPACE_AXES) layout.scene[name].showticklabels = false; // no room beside the titles
      layout.scene.camera = this.camera = this.firstCamera();
    }
    this.keep(layout);
    (this.space ? layout.scene : layout).annotations = this.allNotes(layout.scene?.camera, layout.margin?.t);
    await Plotly.react(this.plot, data, layout, this.config);
    if (this.closed) return Plotly.purge(this.plot);
    if (first) this.listen();
    delete this.root.dataset.refused;
    this.refusal.hidden = true;
    this.hint.hidden = !this.space;
    this.paint();
    await breath();
    this.root.dataset.posvizTheme = dark ? "dark" : "light";
    this.root.dataset.posvizPainted = given.revision;
  }

  paint() {
    this.raster.paint(this.plot._fullLayout, this.colours.ink);
  }

  // Put the person's camera and zoom into a new layout. Plotly's uirevision alone keeps them only
  // where the new layout asks for the very same range as the old one did.
  keep(layout) {
    const before = this.plot._fullLayout;
    if (this.zoomed && this.lost(layout)) this.forget();
    layout.uirevision = `kept ${this.resets}`;
    if (this.turned && this.space && before.scene) layout.scene.camera = structuredClone(this.plot.layout.scene.camera);
    for (const name of ["xaxis", "yaxis"]) {
      if (!before?.[name] || !layout[name]) continue;
      if (this.zoomed) layout[name].range = [...before[name].range];
      // Plotly.react (4.1) shapes square axes by the range of the figure before, where
      // Plotly.relayout forgets that range; so it is forgotten here.
      delete before[name]._inputRange;
    }
  }

  forget() {
    this.resets += 1;
    this.zoomed = this.turned = false;
  }

  // The figure's own annotations, in 3-D the axis titles for this eye, and the cursor's.
  allNotes(camera, above = 0) {
    const size = [this.plot.clientWidth, this.plot.clientHeight - above];
    const titles = this.space ? placeTitles(this.titles.texts, this.titles.ranges, camera, size, this.colours["ink-soft"]) : [];
    const point = this.walk.find(({ position }) => position === this.cursor);
    if (!point) return [...this.notes, ...titles];
    const cursor = {
      ...point.at, text: point.position.toLocaleString("en"), showarrow: true, arrowhead: 6, arrowsize: 1,
      arrowwidth: 1.5, ax: 0, ay: -34, arrowcolor: this.colours.ink, font: { color: this.colours.ink },
      bgcolor: this.colours.card, borderpad: 3,
    };
    for (const name of this.logs) cursor[name] = Math.log10(cursor[name]); // as annotations want it
    return [...this.notes, ...titles, cursor];
  }

  // Whether the zoom kept so far would show nothing of the new figure, or means something else
  // on it: then it is let go, instead of leaving an empty frame.
  lost(layout) {
    const before = this.plot._fullLayout;
    return ["xaxis", "yaxis"].some((name) => {
      const [old, next] = [before[name], layout[name]];
      if (!old || !next?.range) return false;
      if ((old.type === "log") !== (next.type === "log")) return true;
      const [from, to] = [...old.range].sort((a, b) => a - b);
      const [low, high] = [...next.range].sort((a, b) => a - b);
      return to <= low || from >= high;
    });
  }

  refuse(error) {
    this.root.dataset.refused = "";
    this.refusal.hidden = false;
    this.refusal.textContent =
      error.message === "plotly.min.js"
        ? "The figure cannot be drawn: this server did not deliver app/static/plotly.min.js. Restart posviz so that the file is copied again, then reload the page."
        : `The figure cannot be drawn: ${error.message}. Reload the page.`;
  }

  fit() {
    cancelAnimationFrame(this.fitting);
    this.fitting = requestAnimationFrame(() => {
      if (!this.plot._fullLayout || !this.plot.clientWidth) return;
      window.Plotly.Plots.resize(this.plot);
      // Another shape of the figure is looked at from another place, unless the person chose one.
      if (this.space && !this.turned && this.camera.eye.x !== this.firstCamera().eye.x) this.redraw();
    });
  }

  firstCamera() {
    return firstCamera(this.given.figure.layout, this.plot.clientWidth, this.plot.clientHeight);
  }

  close() {
    this.closed = true;
    this.film.close();
    this.observer.disconnect();
    if (this.plot._fullLayout) window.Plotly.purge(this.plot);
  }

  // -------------------------------------------------------------------------- what a person does

  listen() {
    const { plot } = this;
    this.observer.observe(plot);
    plot.on("plotly_afterplot", () => this.paint());
    plot.on("plotly_relayouting", () => this.paint());
    plot.on("plotly_relayout", (change) => {
      const changed = (start) => Object.keys(change).some((name) => name.startsWith(start));
      if (changed("xaxis.range") || changed("yaxis.range")) {
        this.zoomed = true;
        this.look();
      }
      if (!changed("scene.camera")) return;
      this.turned = true;
      this.hint.dataset.seen = "";
      this.write(); // the axis titles move to the edges in front
    });
    plot.on("plotly_doubleclick", () => this.reset());
    plot.on("plotly_hover", ({ points }) => (this.under = points[0]));
    plot.on("plotly_unhover", () => (this.under = null));
    plot.addEventListener("pointermove", (event) => this.hover(event));
    plot.addEventListener("pointerleave", () => this.tell(null));
    // A turn of the 3-D view begins like a click; only a press that stays in place is one.
    plot.addEventListener("pointerdown", (event) => (this.down = [event.clientX, event.clientY]), true);
    plot.addEventListener("click", (event) => {
      const [x, y] = this.down ?? [0, 0];
      if (Math.hypot(event.clientX - x, event.clientY - y) < 4) this.click(event);
    }, true);
    // The wheel scrolls the page; it zooms the 3-D view once that was chosen by a click.
    plot.addEventListener("wheel", (event) => {
      const chosen = plot.contains(document.activeElement) || document.fullscreenElement || event.ctrlKey;
      if (!chosen) event.stopPropagation();
    }, true);
    plot.addEventListener("keydown", (event) => this.key(event));
    plot.addEventListener("blur", () => this.tell(null));
  }

  cellUnder(event) {
    if (!this.raster.header) return null;
    const box = this.plot.getBoundingClientRect();
    return this.raster.cellAt(this.plot._fullLayout, event.clientX - box.left, event.clientY - box.top);
  }

  hover(event) {
    if (!this.raster.header) return;
    const cell = event.buttons ? null : this.cellUnder(event); // while zooming, no words in the way
    this.tell(cell);
    this.pause(cell);
  }

  // A short pause over a cell asks the server for its exact value.
  pause(cell) {
    if (String(cell) === String(this.over)) return;
    this.over = cell;
    clearTimeout(this.pausing);
    if (cell && this.given.asks) this.pausing = setTimeout(() => this.send("pause", cell), PAUSE);
  }

  // A zoom into cells that stand for several pairs asks for the part in more detail.
  look() {
    clearTimeout(this.looking);
    if (!this.given.asks || !(this.raster.header?.step > 1)) return;
    this.looking = setTimeout(() => this.send("window", this.zoomed ? this.raster.window(this.plot._fullLayout) : null), PAUSE);
  }

  // Take the server's answer, which may come before the figure is drawn.
  hear() {
    const answer = this.root.posvizAnswer;
    if (!answer || !this.raster.header) return;
    this.raster.refine(answer.detail, answer.payload);
    if (this.plot._fullLayout) this.paint();
    if (this.over && !this.tip.hidden) this.tell(this.over);
  }

  click(event) {
    this.plot.focus({ preventScroll: true });
    const cell = this.cellUnder(event);
    if (cell) this.pick(cell);
    else if (this.under) this.pickPoint(this.under.customdata ?? this.under.x);
  }

  pick(cell) {
    this.raster.cursor = cell;
    this.paint();
    if (this.given.picks) this.send("cell", cell);
  }

  pickPoint(position) {
    this.mark(position);
    if (this.given.picks) this.send("point", position);
  }

  key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const picks = event.key === "Enter" || event.key === " ";
    if (event.key === "Escape") {
      this.mark(null);
    } else if (picks && this.raster.cursor) {
      this.pick(this.raster.cursor);
    } else if (picks && this.cursor !== null) {
      this.pickPoint(this.cursor);
    } else if (step) {
      this.move(step.map((by) => by * (event.shiftKey ? 10 : 1)));
    } else return;
    event.preventDefault();
  }

  // Arrow keys move over cells, or along the line: right and up are forwards.
  move([down, right]) {
    if (this.raster.header) {
      const { firstRow, firstCol, nRows, nCols } = this.raster.header;
      const clamp = (value, first, count) => Math.min(first + count - 1, Math.max(first, value));
      const [row, col] = this.raster.cursor ?? [firstRow - down, firstCol - right];
      this.mark([clamp(row + down, firstRow, nRows), clamp(col + right, firstCol, nCols)]);
    } else if (this.walk.length) {
      const now = this.walk.findIndex(({ position }) => position === this.cursor);
      const to = now < 0 ? 0 : Math.min(this.walk.length - 1, Math.max(0, now + right - down));
      this.mark(this.walk[to].position);
    }
  }

  // Move the cursor to a cell or a position, or take it away (null), and say where it is.
  mark(at) {
    if (this.raster.header) {
      this.raster.cursor = at;
      this.paint();
      this.tell(at, true);
      this.pause(at);
      return;
    }
    this.cursor = at;
    this.write();
    const point = this.walk.find(({ position }) => position === at);
    this.said.textContent = point ? this.describe(point) : "";
  }

  // Put the annotations on the figure again: the cursor moved, or the view turned.
  write() {
    const path = this.space ? "scene.annotations" : "annotations";
    window.Plotly.relayout(this.plot, { [path]: this.allNotes(this.plot._fullLayout.scene?.camera, this.plot._fullLayout.margin.t) });
  }

  describe({ values, position }) {
    const told = values.map((value, axis) => `${this.words[axis]} ${format(value)}`);
    return [...(position === values[0] ? [] : [`position ${position}`]), ...told].join(", ");
  }

  // The words beside a cell; `aloud` also gives them to a screen reader.
  tell(cell, aloud = false) {
    this.tip.hidden = !cell;
    if (!cell) return;
    const exact = this.root.posvizAnswer?.exact;
    const words = exact && String(exact.cell) === String(cell) ? exact.words : this.raster.words(cell);
    this.tip.textContent = words;
    if (aloud) this.said.textContent = words.replace("≈", "about");
    const layout = this.plot._fullLayout;
    const [left, top] = this.raster.place(layout, cell);
    const flip = left + this.tip.offsetWidth + 24 > this.plot.clientWidth;
    this.tip.style.left = `${Math.max(0, flip ? left - this.tip.offsetWidth - 12 : left + 12)}px`;
    const above = top - this.tip.offsetHeight - 10;
    this.tip.style.top = `${above < layout.yaxis._offset ? top + 14 : above}px`; // never over the colour bar
  }

  reset() {
    this.forget();
    this.look();
    this.redraw();
  }

  // -------------------------------------------------------------------------- the three buttons

  buttons() {
    const icon = (path) => ({ width: 24, height: 24, path });
    return [
      { name: "save", title: "Save as PNG", click: () => this.save(),
        icon: icon("M5 20h14v-2H5v2zM11 4v8H7l5 5 5-5h-4V4h-2z") },
      { name: "reset", title: "Reset the view", click: () => this.reset(),
        icon: icon("M12 5V1L7 6l5 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z") },
      { name: "full", title: "Full screen", click: () => this.fullscreen(),
        icon: icon("M4 4h6v2H6v4H4V4zm10 0h6v6h-2V6h-4V4zM4 14h2v4h4v2H4v-6zm14 0h2v6h-6v-2h4v-4z") },
    ];
  }

  save() {
    const { plot, colours, given } = this;
    const images = this.raster.header ? [this.raster.image()] : [];
    const layout = { ...plot.layout, images, paper_bgcolor: colours.ground };
    const size = { width: plot.clientWidth, height: plot.clientHeight, scale: 3 };
    return window.Plotly.downloadImage({ data: plot.data, layout }, { format: "png", filename: given.key, ...size });
  }

  fullscreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.root.requestFullscreen?.();
  }
}
