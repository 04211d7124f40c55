// The pixels of a heatmap: one byte a cell, painted on a canvas that lies under Plotly's axes.
//
// Plotly draws a heatmap of 1,024 rows in seconds; a canvas does it in milliseconds. The canvas
// covers the whole figure and follows the ranges that Plotly's axes have at that moment.

const NO_VALUE = 0; // this code is left transparent; 1..255 run from low to high

class Raster {
  constructor(canvas) {
    this.canvas = canvas;
    this.source = document.createElement("canvas"); // one pixel a cell, never shown itself
    this.cursor = null; // [row, col] marked by the keyboard or a click
  }

  // Take new cells and colours. `header` is null for a figure that has no raster.
  load(header, cells, palette) {
    this.header = header;
    this.cells = cells;
    this.canvas.hidden = !header;
    if (!header) return;
    const { rows, cols } = header;
    if (this.source.width !== cols) this.source.width = cols;
    if (this.source.height !== rows) this.source.height = rows;
    const image = new ImageData(cols, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const table = lookup(palette);
    for (let i = 0; i < pixels.length; i++) pixels[i] = table[cells[i]];
    this.source.getContext("2d").putImageData(image, 0, 0);
    if (this.cursor && !this.holds(...this.cursor)) this.cursor = null;
  }

  // Paint what Plotly's axes show now; `ink` is the colour of the cursor's cross.
  paint(layout, ink) {
    if (!this.header || !layout?.xaxis) return;
    const { canvas, source, header } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(layout.width * ratio), Math.round(layout.height * ratio)];
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const x = span(layout.xaxis, header.firstCol, header.cols * header.step);
    const y = span(layout.yaxis, header.firstRow, header.rows * header.step);
    const brush = canvas.getContext("2d");
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    brush.clearRect(0, 0, layout.width, layout.height);
    brush.save();
    brush.beginPath();
    brush.rect(layout.xaxis._offset, layout.yaxis._offset, layout.xaxis._length, layout.yaxis._length);
    brush.clip();
    // Shrinking averages cells so that thin lines survive; enlarging keeps their edges sharp.
    brush.imageSmoothingEnabled = x.length * ratio < header.cols;
    brush.imageSmoothingQuality = "high";
    brush.drawImage(source, x.start, y.start, x.length, y.length);
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

  holds(row, col) {
    const { firstRow, firstCol, nRows, nCols } = this.header;
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
    const { cols, step: size, firstRow, firstCol, low, high, hover, rowNames, colNames } = this.header;
    const code = this.cells[Math.floor((row - firstRow) / size) * cols + Math.floor((col - firstCol) / size)];
    const step = (high - low) / 254;
    const digits = step > 0 ? Math.min(6, Math.max(0, Math.floor(-Math.log10(step)))) : 3;
    const value = code === NO_VALUE ? "no value" : (low + (code - 1) * step).toFixed(digits).replace("-", "−");
    const words = { row: rowNames[row - firstRow] ?? row, col: colNames[col - firstCol] ?? col, value };
    return hover.replace(/\{(row|col|value)\}/g, (_, name) => words[name]);
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
