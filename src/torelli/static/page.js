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

  // dragging on a touch screen scrolls the page, until the reader asks a chart for something else
  const coarse = window.matchMedia("(pointer: coarse)").matches;

  function themed(layout, c) {
    const axis = { gridcolor: c.line, zerolinecolor: c.line, linecolor: c.line, tickfont: { color: c.muted }, automargin: true };
    const merged = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: c.ink, family: getComputedStyle(document.body).fontFamily, size: 13 },
      margin: { l: 50, r: 15, t: 10, b: 45 }, dragmode: coarse ? false : "zoom", hoverlabel: { bgcolor: c.surface, bordercolor: c.line, font: { color: c.ink } },
      ...layout,
    };
    for (const name of ["xaxis", "yaxis"]) merged[name] = { ...axis, ...(layout[name] || {}) };
    return merged;
  }

  // Plotly's own buttons cover the chart, cannot be reached by the keyboard, and one leads to a server:
  // `controls` makes others
  const CONFIG = { responsive: true, displayModeBar: false, displaylogo: false, showSendToCloud: false, plotlyServerURL: "" };

  // traces and layout are values or functions of the colours; `buttons` has the options of `controls`
  function chart(element, traces, layout = {}, buttons = null) {
    if (buttons && !charts.has(element)) element.before(controls(buttons.name, () => element, buttons));
    const of = (thing, c) => (typeof thing === "function" ? thing(c) : thing);
    const draw = (c) => Plotly.react(element, of(traces, c), themed(of(layout, c), c), CONFIG);
    charts.set(element, draw);
    return draw(colours());
  }

  // the part of the chart that is shown becomes smaller or larger around its middle
  function zoom(shown, factor) {
    const changes = {};
    for (const name of ["xaxis", "yaxis"]) {
      const axis = shown._fullLayout[name];
      if (axis.fixedrange) continue;
      const [low, high] = axis.range;
      const [middle, half] = [(low + high) / 2, (high - low) / (2 * factor)];
      changes[`${name}.range`] = [middle - half, middle + half];
    }
    return Plotly.relayout(shown, changes);
  }

  // Buttons for the chart that `shown` returns, to be placed before it. `drags` has what dragging can do (a
  // mode of Plotly and its name on the button), `save` the name of a picture file.
  function controls(name, shown, { drags = [], zooms = true, save = "" } = {}) {
    const group = document.createElement("div");
    group.className = "controls";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", name);
    const add = (text, label, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      if (label) made.setAttribute("aria-label", label);
      made.addEventListener("click", () => act(made));
      group.append(made);
      return made;
    };
    const modes = drags.map(([mode, text]) => add(text, "", (made) => {
      const chosenMode = made.getAttribute("aria-pressed") === "true" ? false : mode;
      for (const other of modes) other.setAttribute("aria-pressed", String(other === made && chosenMode !== false));
      group.dispatchEvent(new CustomEvent("drag", { detail: chosenMode }));
    }));
    modes.forEach((made, at) => made.setAttribute("aria-pressed", String(!coarse && at === 0)));
    if (zooms) {
      add("+", `Zoom in: ${name}`, () => zoom(shown(), 1.5));
      add("−", `Zoom out: ${name}`, () => zoom(shown(), 1 / 1.5));
      add("Reset", `Show everything: ${name}`, () => charts.get(shown())(colours()));
    }
    if (save) add("PNG", `Save as a picture: ${name}`, () => Plotly.downloadImage(shown(), { format: "png", scale: 2, filename: save }));
    return group;
  }

  // a number with as many digits as it means
  const number = (value, digits = 3) => {
    if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e15)) return value.toExponential(digits - 1);
    // whole numbers below a million are counts, and shown as they are
    if (Number.isInteger(value) && Math.abs(value) < 1e6) return value.toLocaleString("en");
    return value.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(Math.abs(value) || 1))) });
  };

  // a length with its unit: three digits, metres as kilometres from 1,000 on
  function length(value, unit) {
    const [amount, of] = unit === "m" && Math.abs(value) >= 1000 ? [value / 1000, "km"] : [value, unit === "um" ? "µm" : unit];
    return `${number(Number(amount.toPrecision(3)))}${of ? `\u00a0${of}` : ""}`;
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
  // it has fewer paths, which is enough for small pictures; without a label it is hidden from screen readers;
  // with shades, from -4 to 4 for each segment, lines have a class for each of them instead of colours
  function thumbnail(arrays, index, { colours = 65536, label = "", shades = null } = {}) {
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
      const key = shades ? shades[k - start] : cycle[k] === NO_CYCLE ? -1 : cycle[k] % colours;
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
    const order = shades ? (a, b) => Math.abs(a) - Math.abs(b) : (a, b) => a - b;
    for (const key of [...paths.keys()].sort(order)) {
      if (shades) {
        drawn.append(svg("path", { d: paths.get(key), class: `shade shade${key}` }));
        continue;
      }
      const path = svg("path", { d: paths.get(key), class: key < 0 ? "bridge" : "cycle" });
      if (key >= 0) path.style.setProperty("--hue", String(Math.round(360 * ((0.58 + key * 0.618034) % 1))));
      drawn.append(path);
    }
    return drawn;
  }

  // the pairs of a graph in the arrays of torelli._drawing.pair_arrays, as numbers for `comparison`
  function pairs(arrays, index) {
    const first = arrays["pair.first"];
    return first ? Array.from({ length: first[index + 1] - first[index] }, (_, k) => first[index] + k) : [];
  }

  // two graphs twice: the streets that make them alike, and those that set them apart
  function comparison(arrays, index, pair, names) {
    const both = [index, arrays["pair.other"][pair]];
    const count = (i) => arrays["thumbnail.segments"][i + 1] - arrays["thumbnail.segments"][i];
    let at = arrays["pair.start"][pair];
    const rows = [
      ["alike", "These edges make the two alike: the darker, the more the other graph has of their kind."],
      ["apart", "These edges set them apart: red where this graph has more of a kind than the other, blue where it has less."],
    ].map(([kind, text]) => {
      const figure = document.createElement("figure");
      figure.className = `comparison ${kind}`;
      for (const i of both) {
        const shades = arrays["pair.shade"].subarray(at, at + count(i));
        at += count(i);
        const what = kind === "alike" ? "makes the two graphs alike" : "sets them apart";
        const name = document.createElement("small");
        name.dir = "auto";
        name.textContent = names[i];
        const one = document.createElement("div");
        one.append(thumbnail(arrays, i, { shades, label: `${names[i]}: edges by what ${what}` }), name);
        figure.append(one);
      }
      const caption = document.createElement("figcaption");
      caption.textContent = text;
      figure.append(caption);
      return figure;
    });
    return rows;
  }

  // a region that does not scroll is no stop for the keyboard
  const watcher = new ResizeObserver((all) => {
    for (const { target } of all) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const region of document.querySelectorAll(".scroll, pre")) watcher.observe(region);

  return {
    data: JSON.parse(document.getElementById("torelli-data").textContent),
    SIDE, colours, chart, controls, zoom, number, length, coarse, redraw: (element) => charts.get(element)(colours()), unpack, thumbnail, pairs, comparison, plain, onTheme: (callback) => listeners.push(callback),
  };
})();
