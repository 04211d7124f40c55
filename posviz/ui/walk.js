// Lines point by point, for the arrow keys and for who listens instead of looking.

// Points that the arrow keys visit, in order: all traces that figures mark with meta "walk".
function walkOf(data) {
  const walk = [];
  for (const trace of data) {
    if (trace.meta !== "walk") continue;
    const [x, y, z, position] = [trace.x, trace.y, trace.z, trace.customdata].map(numbers);
    for (let i = 0; i < x.length; i++) {
      const at = z ? { x: x[i], y: y[i], z: z[i] } : { x: x[i], y: y[i] };
      const values = Object.values(at);
      if (!values.every(Number.isFinite)) continue;
      const name = position ? position[i] : x[i];
      if (walk.length && walk[walk.length - 1].position === name) continue; // where two pieces of a curve meet
      walk.push({ at, values, position: name });
    }
  }
  return walk;
}

// Plotly's packed arrays ({dtype, bdata}) as numbers.
function numbers(packed) {
  if (!packed || Array.isArray(packed)) return packed;
  const kinds = { f4: Float32Array, f8: Float64Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array };
  return new kinds[packed.dtype](Uint8Array.from(atob(packed.bdata), (c) => c.charCodeAt(0)).buffer);
}

// What each axis is called, without its share: "component 1 · 33.7 %" is read as "component 1".
function axisWords(layout, space) {
  const axes = space ? ["xaxis", "yaxis", "zaxis"].map((name) => layout.scene[name]) : [layout.xaxis, layout.yaxis];
  return axes.map((axis) => (axis?.title?.text ?? "").split(" · ")[0]);
}

function format(value) {
  const figures = Number.isInteger(value) ? {} : { maximumSignificantDigits: 3 };
  return value.toLocaleString("en", figures).replace("-", "minus "); // never 1.2e-5, which nobody can say
}
