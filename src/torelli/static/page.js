"use strict";
// What every page offers to its scripts: data, theme, charts in the colours of the theme, thumbnails.
window.torelli = (() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];
  const charts = new Map();

  function colours() {
    const style = getComputedStyle(root);
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    const classes = [];
    while (value(`class-${classes.length}`)) classes.push(value(`class-${classes.length}`));
    return {
      ink: value("ink"), muted: value("muted"), line: value("line"), surface: value("surface"),
      accent: value("accent"), dark: root.dataset.theme === "dark", classes,
    };
  }

  function setTheme(dark) {
    root.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-pressed", String(dark));
    const now = colours();
    for (const listener of [...listeners, ...charts.values()]) listener(now);
  }

  // the reader's choice is stored if the browser allows it for local files
  function chosen(value) {
    try {
      if (value !== undefined) localStorage.setItem("torelli-theme", value);
      return localStorage.getItem("torelli-theme");
    } catch {
      return null;
    }
  }

  button.addEventListener("click", () => {
    const dark = root.dataset.theme !== "dark";
    setTheme(dark);
    chosen(dark ? "dark" : "light");
  });
  system.addEventListener("change", (event) => { if (!chosen()) setTheme(event.matches); });
  setTheme(chosen() ? chosen() === "dark" : system.matches);

  // pages are printed in the light theme
  let screen = null;
  window.addEventListener("beforeprint", () => {
    screen = root.dataset.theme === "dark";
    setTheme(false);
  });
  window.addEventListener("afterprint", () => setTheme(screen));

  function themed(layout, c) {
    const axis = { gridcolor: c.line, zerolinecolor: c.line, linecolor: c.line, tickfont: { color: c.muted }, automargin: true };
    const merged = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: c.ink, family: getComputedStyle(document.body).fontFamily, size: 13 },
      margin: { l: 50, r: 15, t: 30, b: 45 }, hoverlabel: { bgcolor: c.surface, bordercolor: c.line, font: { color: c.ink } },
      ...layout,
    };
    for (const name of ["xaxis", "yaxis"]) merged[name] = { ...axis, ...(layout[name] || {}) };
    return merged;
  }

  // no logo and no button that sends the chart to a server: a page stays on the reader's machine
  const CONFIG = { responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "" };

  // traces and layout are values or functions of the colours
  function chart(element, traces, layout = {}) {
    const of = (thing, c) => (typeof thing === "function" ? thing(c) : thing);
    const draw = (c) => Plotly.react(element, of(traces, c), themed(of(layout, c), c), CONFIG);
    charts.set(element, draw);
    return draw(colours());
  }

  // escaped and shortened text for Plotly, which reads some markup in labels
  function plain(text, longest = 80) {
    const characters = Array.from(String(text));
    const short = characters.length > longest ? `${characters.slice(0, longest - 1).join("")}…` : characters.join("");
    return short.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }

  // the arrays that torelli.webpage.pack packed, by name
  async function unpack({ directory, gzip }) {
    const bytes = Uint8Array.from(atob(gzip), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(stream).arrayBuffer();
    const kinds = {
      float32: Float32Array, uint32: Uint32Array, uint16: Uint16Array, uint8: Uint8Array, int8: Int8Array,
    };
    const arrays = {};
    for (const [name, [kind, offset, count]] of Object.entries(directory)) {
      arrays[name] = new kinds[kind](buffer, offset, count);
    }
    return arrays;
  }

  const SIDE = 4095, NO_CYCLE = 65535;

  // a thumbnail from the arrays of torelli._drawing.thumbnail_arrays as an SVG element; with fewer colours
  // it has fewer paths, which is enough for small pictures; without a label it is hidden from screen readers
  function thumbnail(arrays, index, { colours = 65536, label = "" } = {}) {
    const part = (name) => arrays[`thumbnail.${name}`];
    const [x, y, tail, head, cycle] = ["x", "y", "tail", "head", "cycle"].map(part);
    const [first, start, end] = [part("points")[index], part("segments")[index], part("segments")[index + 1]];
    if (start === end) {
      const none = document.createElement("span");
      none.className = "none";
      none.textContent = "not drawn";
      return none;
    }
    const paths = new Map();
    for (let k = start; k < end; k++) {
      const key = cycle[k] === NO_CYCLE ? -1 : cycle[k] % colours;
      const [a, b] = [first + tail[k], first + head[k]];
      paths.set(key, `${paths.get(key) || ""}M${x[a]} ${y[a]}L${x[b]} ${y[b]}`);
    }
    const svg = (name, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      return made;
    };
    const margin = 0.03 * SIDE;
    const size = SIDE + 2 * margin;
    const described = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
    const drawn = svg("svg", { viewBox: `${-margin} ${-margin} ${size} ${size}`, ...described });
    for (const key of [...paths.keys()].sort((a, b) => a - b)) {
      const path = svg("path", { d: paths.get(key), class: key < 0 ? "bridge" : "cycle" });
      if (key >= 0) path.style.setProperty("--hue", String(Math.round(360 * ((0.58 + key * 0.618034) % 1))));
      drawn.append(path);
    }
    return drawn;
  }

  return {
    data: JSON.parse(document.getElementById("torelli-data").textContent),
    colours, chart, redraw: (element) => charts.get(element)(colours()), unpack, thumbnail, plain, onTheme: (callback) => listeners.push(callback),
  };
})();
