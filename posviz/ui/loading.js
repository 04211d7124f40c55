// What the browser gets before anything is drawn: the drawing library, and a packed figure.

let loading = null;

// plotly.min.js, once a page. It lies in the app's static folder, next to the app's own scripts:
// their address holds the server's base path, whatever the page's own address is.
function loadPlotly() {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  loading ??= new Promise((done, failed) => {
    const own = document.querySelector('script[src*="/static/js/"]')?.src;
    const script = document.createElement("script");
    script.src = own ? new URL("../../app/static/plotly.min.js", own) : "./app/static/plotly.min.js";
    script.onload = () => (window.Plotly ? done(window.Plotly) : script.onerror());
    script.onerror = () => {
      script.remove();
      loading = null; // so that the next figure tries again
      failed(new Error("plotly.min.js"));
    };
    document.head.append(script);
  });
  return loading;
}

// Let the browser paint before going on, so that figures appear one by one.
const breath = () => new Promise((done) => setTimeout(done));
const idle = () => new Promise((done) => (window.requestIdleCallback ?? setTimeout)(done, { timeout: 1000 }));

// 4 bytes: length of the JSON. The JSON: figure, words, colours. The rest: the raster's cells or the film's points.
// The JSON holds the checksum of all, so equal texts mean an unchanged figure.
function unpack(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  return { text: new TextDecoder().decode(bytes.subarray(4, 4 + length)), payload: bytes.subarray(4 + length) };
}

// The same value with every colour of the light theme replaced by the dark theme's.
function recolour(value, swap) {
  if (typeof value === "string") return swap[value] ?? value;
  if (Array.isArray(value)) return value.map((inner) => recolour(inner, swap));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, recolour(inner, swap)]));
}
