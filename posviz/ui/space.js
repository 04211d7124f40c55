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

// Where a point of the data lies across a scene `width` by `height` pixels, from its middle. As
// Plotly looks: the box's sides multiply to 1, it stands round the origin, the lens opens 45 degrees.
function across(point, ranges, { eye, center }, height) {
  const sides = ranges.map(([low, high]) => high - low);
  const scale = Math.cbrt(sides.reduce((product, side) => product * side));
  const from = SPACE_AXES.map((name, axis) => {
    const [low, high] = ranges[axis];
    return (point[name[0]] - (low + high) / 2) / scale - eye[name[0]];
  });
  const forward = ["x", "y", "z"].map((axis) => (center?.[axis] ?? 0) - eye[axis]);
  const far = Math.hypot(...forward);
  const depth = from.reduce((sum, value, axis) => sum + (value * forward[axis]) / far, 0);
  const flat = Math.hypot(forward[0], forward[1]) || 1;
  const right = (from[0] * forward[1] - from[1] * forward[0]) / flat;
  return (right / depth / Math.tan(Math.PI / 8)) * (height / 2);
}

// How far a text of `words` round `at` must move so that it does not reach over the border.
function inward(at, words, width) {
  const half = 3.3 * words.length; // a little over half its width, at 13 pixels
  return Math.max(0, half - width / 2 - at) - Math.max(0, at + half - width / 2);
}

// The annotations that carry the titles, seen by `camera` in a scene of `size` (width, height).
function placeTitles(titles, ranges, camera, size, colour) {
  const { eye } = camera;
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
  return titles.flatMap((text, axis) => {
    if (!text) return [];
    const place = places[axis];
    const at = across(place, ranges, camera, size[1]) + place.xshift;
    const move = inward(at, place.textangle ? "—" : text, size[0]);
    const yshift = move && place.yshift ? place.yshift + down * 12 : place.yshift; // past the numbers there
    return [{ ...place, xshift: place.xshift + move, yshift, text, showarrow: false, font: { color: colour, size: 13 } }];
  });
}

// figures/camera.py fits the box into a figure 1.2 times as wide as high, and into one 1.5 times. A
// narrower one would cut it off at both sides: step back until it fits.
function firstCamera(layout, width, height) {
  const wide = layout.meta?.wide;
  if (wide && width >= 1.5 * height) return structuredClone(wide);
  const { eye, ...rest } = layout.scene.camera;
  const factor = Math.max(1, (1.2 * height) / Math.max(width, 1));
  return { ...rest, eye: { x: eye.x * factor, y: eye.y * factor, z: eye.z * factor } };
}
