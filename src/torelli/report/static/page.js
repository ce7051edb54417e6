"use strict";
// What every page offers its scripts: the data, the theme, and charts in the colours of the theme.
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

  // a choice of the reader is kept where the browser lets a file keep it
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

  // paper is light
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

  // traces and layout: values, or functions of the colours
  function chart(element, traces, layout = {}) {
    const of = (thing, c) => (typeof thing === "function" ? thing(c) : thing);
    const draw = (c) => Plotly.react(element, of(traces, c), themed(of(layout, c), c), { responsive: true, displaylogo: false });
    charts.set(element, draw);
    return draw(colours());
  }

  // text of a file for Plotly, which reads some markup in labels
  function plain(text, longest = 80) {
    const characters = Array.from(String(text));
    const short = characters.length > longest ? `${characters.slice(0, longest - 1).join("")}…` : characters.join("");
    return short.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }

  // a drawing made by torelli.report.sketch, as an SVG element
  function draw(sketch, description) {
    if (!sketch) {
      const none = document.createElement("span");
      none.className = "none";
      none.textContent = "not drawn";
      return none;
    }
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "sketch");
    svg.setAttribute("viewBox", `-8 -8 ${sketch.size[0] + 16} ${sketch.size[1] + 16}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", description);
    for (const [colour, d] of sketch.paths) {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", d);
      if (colour) {
        path.style.stroke = colour;
        path.style.strokeWidth = "2";
      }
      svg.append(path);
    }
    return svg;
  }

  return {
    data: JSON.parse(document.getElementById("torelli-data").textContent),
    colours, chart, redraw: (element) => charts.get(element)(colours()), draw, plain, onTheme: (callback) => listeners.push(callback),
  };
})();
