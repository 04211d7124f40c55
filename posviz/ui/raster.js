// The pixels of a heatmap: one byte a cell, painted on a canvas that lies under Plotly's axes.
//
// Plotly draws a heatmap of 1,024 rows in seconds; a canvas does it in milliseconds. The canvas
// covers the whole figure and follows the ranges that Plotly's axes have at that moment.

const NO_VALUE = 0; // this code is left transparent; 1..255 run from low to high

class Raster {
  constructor(canvas) {
    this.canvas = canvas;
    this.source = document.createElement("canvas"); // one pixel a cell, never shown itself
    this.fine = null; // a part in more detail: its own header, cells and source
    this.cursor = null; // [row, col] marked by the keyboard or a click
  }

  // Take new cells and colours. `header` is null for a figure that has no raster.
  load(header, cells, palette) {
    this.header = header;
    this.cells = cells;
    this.palette = palette;
    this.canvas.hidden = !header;
    if (!header) return;
    colour(this.source, header, cells, palette);
    if (this.fine) this.refine(this.fine.header, this.fine.cells);
    if (this.cursor && !this.holds(...this.cursor)) this.cursor = null;
  }

  // Lay a part in more detail over the cells; a null header takes it away.
  refine(header, cells) {
    if (!header) return (this.fine = null);
    const source = this.fine?.source ?? document.createElement("canvas");
    colour(source, header, cells, this.palette);
    this.fine = { header: { ...this.header, ...header }, cells, source };
  }

  // Paint what Plotly's axes show now; `ink` is the colour of the cursor's cross.
  paint(layout, ink) {
    if (!this.header || !layout?.xaxis) return;
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(layout.width * ratio), Math.round(layout.height * ratio)];
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const brush = canvas.getContext("2d");
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    brush.clearRect(0, 0, layout.width, layout.height);
    brush.save();
    brush.beginPath();
    brush.rect(layout.xaxis._offset, layout.yaxis._offset, layout.xaxis._length, layout.yaxis._length);
    brush.clip();
    for (const { header, source } of [this, ...(this.fine ? [this.fine] : [])]) {
      const x = span(layout.xaxis, header.firstCol, header.cols * header.step);
      const y = span(layout.yaxis, header.firstRow, header.rows * header.step);
      // Shrinking averages cells so that thin lines survive; enlarging keeps their edges sharp.
      brush.imageSmoothingEnabled = x.length * ratio < header.cols;
      brush.imageSmoothingQuality = "high";
      brush.drawImage(source, x.start, y.start, x.length, y.length);
    }
    if (this.cursor) this.cross(brush, layout, ink);
    brush.restore();
  }

  cross(brush, layout, ink) {
    const [left, top] = this.place(layout, this.cursor);
    brush.strokeStyle = ink;
    brush.lineWidth = 1;
    brush.beginPath();
    brush.moveTo(layout.xaxis._offset, top);
    brush.lineTo(layout.xaxis._offset + layout.xaxis._length, top);
    brush.moveTo(left, layout.yaxis._offset);
    brush.lineTo(left, layout.yaxis._offset + layout.yaxis._length);
    brush.stroke();
  }

  holds(row, col, { firstRow, firstCol, nRows, nCols } = this.header) {
    return row >= firstRow && row < firstRow + nRows && col >= firstCol && col < firstCol + nCols;
  }

  // The cell under a point of the page, as [row, col], or null outside the picture.
  cellAt(layout, left, top) {
    const across = left - layout.xaxis._offset;
    const down = top - layout.yaxis._offset;
    if (across < 0 || down < 0 || across > layout.xaxis._length || down > layout.yaxis._length) return null;
    const cell = [Math.round(layout.yaxis.p2d(down)), Math.round(layout.xaxis.p2d(across))];
    return this.holds(...cell) ? cell : null;
  }

  // Where the middle of a cell lies, in pixels of the figure.
  place(layout, [row, col]) {
    return [layout.xaxis._offset + layout.xaxis.d2p(col), layout.yaxis._offset + layout.yaxis.d2p(row)];
  }

  // What a cell says. The painted value has 255 steps, so no more digits than that are told.
  words([row, col]) {
    const { header, cells } = this.fine && this.holds(row, col, this.fine.header) ? this.fine : this;
    const { cols, step: size, firstRow, firstCol, low, high, hover, clipped, rowNames, colNames } = header;
    const code = cells[Math.floor((row - firstRow) / size) * cols + Math.floor((col - firstCol) / size)];
    const step = (high - low) / 254;
    const digits = step > 0 ? Math.min(6, Math.max(0, Math.floor(-Math.log10(step)))) : 3;
    const beyond = code === 255 && clipped[1] ? " or more" : code === 1 && clipped[0] ? " or less" : "";
    const painted = (low + (code - 1) * step).toFixed(digits).replace("-", "−") + beyond;
    const value = code === NO_VALUE ? "no value" : painted;
    const named = (names, at, first) => names[at - first] ?? at.toLocaleString("en");
    const words = { row: named(rowNames, row, this.header.firstRow), col: named(colNames, col, this.header.firstCol), value };
    return (beyond ? hover.replace("≈ ", "") : hover).replace(/\{(row|col|value)\}/g, (_, name) => words[name]);
  }

  // The rows and columns that the axes show now, as [row, row, col, col] inside the picture.
  window(layout) {
    const { firstRow, firstCol, nRows, nCols } = this.header;
    const part = ([a, b], first, count) => {
      const [low, high] = a < b ? [a, b] : [b, a];
      return [Math.max(first, Math.floor(low + 0.5)), Math.min(first + count - 1, Math.ceil(high - 0.5))];
    };
    return [...part(layout.yaxis.range, firstRow, nRows), ...part(layout.xaxis.range, firstCol, nCols)];
  }

  // The picture as Plotly's own layout image, for exports: a canvas is not part of those.
  image() {
    const { firstRow, firstCol, rows, cols, step } = this.header;
    return {
      source: this.source.toDataURL("image/png"),
      xref: "x", yref: "y", x: firstCol - 0.5, y: firstRow - 0.5, sizex: cols * step, sizey: rows * step,
      xanchor: "left", yanchor: "top", sizing: "stretch", layer: "below",
    };
  }
}

// Paint cells on a canvas, one pixel each.
function colour(source, { rows, cols }, cells, palette) {
  if (source.width !== cols) source.width = cols;
  if (source.height !== rows) source.height = rows;
  const image = new ImageData(cols, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const table = lookup(palette);
  for (let i = 0; i < pixels.length; i++) pixels[i] = table[cells[i]];
  source.getContext("2d").putImageData(image, 0, 0);
}

// Where `count` cells after `first` begin, in pixels of the figure, and how far they reach.
function span(axis, first, count) {
  const [start, end] = [axis.d2p(first - 0.5), axis.d2p(first + count - 0.5)];
  return { start: axis._offset + start, length: end - start };
}

// 256 colours as the 32-bit numbers of an image: evenly spaced stops, mixed in between.
function lookup(palette) {
  const stops = palette.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const table = new Uint32Array(256);
  for (let code = 1; code < 256; code++) {
    const at = ((code - 1) / 254) * (stops.length - 1);
    const below = Math.min(Math.floor(at), stops.length - 2);
    const [r, g, b] = stops[below].map((from, c) => Math.round(from + (at - below) * (stops[below + 1][c] - from)));
    table[code] = (255 << 24) | (b << 16) | (g << 8) | r; // little-endian, as every browser today is
  }
  return table;
}
