// Axis titles of a 3-D figure as upright text beside the edges of its box.
//
// Plotly writes them in WebGL, slanted, cut off at the border and slow to build. As annotations
// they are ordinary text; they are moved to the edges that face the viewer when a turn ends.

const SPACE_AXES = ["xaxis", "yaxis", "zaxis"];

// Take the titles out of the scene and give them back as texts.
function takeTitles(scene) {
  return SPACE_AXES.map((name) => {
    const text = scene[name]?.title?.text ?? "";
    scene[name] = { ...scene[name], title: { text: "" } };
    return text;
  });
}

// The annotations that carry the titles, seen from `eye`.
function placeTitles(titles, ranges, eye, colour) {
  // A hair inside the box: Plotly hides what rounding puts outside it.
  const inside = ([low, high], air = 1e-6 * (high - low)) => ({ low: low + air, high: high - air, middle: (low + high) / 2 });
  const [x, y, z] = ranges.map((range) => inside(range));
  const towards = (axis, side) => (side > 0 ? axis.high : axis.low);
  const floor = eye.z >= 0 ? z.low : z.high; // the face the axes lie on: below, or above if seen from below
  const down = eye.z >= 0 ? -1 : 1;
  // On the screen, right is the direction (-eye.y, eye.x): that tells on which side an edge lies.
  const rightOf = (side) => ({ xanchor: "center", xshift: side > 0 ? 44 : -44 });
  const places = [
    { x: x.middle, y: towards(y, eye.y), z: floor, yshift: down * 28, ...rightOf(eye.y * eye.x) },
    { x: towards(x, eye.x), y: y.middle, z: floor, yshift: down * 28, ...rightOf(-eye.x * eye.y) },
    { x: towards(x, eye.y), y: towards(y, -eye.x), z: z.middle, xanchor: "center", textangle: -90, xshift: -46 },
  ];
  return titles.flatMap((text, axis) =>
    text ? [{ ...places[axis], text, showarrow: false, font: { color: colour, size: 13 } }] : []
  );
}

// figures/curve.py fits the box into a figure 1.2 times as wide as high. A narrower one would cut
// it off at both sides: step back until it fits.
function stepBack(eye, width, height) {
  const factor = Math.max(1, (1.2 * height) / Math.max(width, 1));
  return { x: eye.x * factor, y: eye.y * factor, z: eye.z * factor };
}
