"use strict";
// The explorer: Plotly positions the points, this script colours them and shows the selected network.
(async () => {
  const data = torelli.data;
  const n = data.names.length;
  const NONE = 4294967295;
  const $ = (id) => document.getElementById(id);
  const arrays = await torelli.unpack(data.arrays);
  const state = { kernel: data.kernels[0].key, colour: $("colour").value, city: "", selected: 0, highlighted: null };
  const map = $("map");
  // one chart for each kernel, stacked: showing another chart is faster than moving every point
  const layers = data.kernels.map(({ key }) => {
    const layer = document.createElement("div");
    layer.className = "layer";
    layer.dataset.kernel = key;
    $("scatter").append(layer);
    return layer;
  });
  const charts = [map, ...layers].filter(Boolean);
  const shown = () => charts.filter((chart) => chart === map || chart.dataset.kernel === state.kernel);

  // symbol and colour together distinguish 64 categories; the first eight differ in both
  const star = Array.from({ length: 10 }, (_, k) => [k % 2 ? 2.6 : 6.4, (k * Math.PI) / 5])
    .map(([r, angle]) => [r * Math.sin(angle), -r * Math.cos(angle)]);
  const cross = [[5.4, 1.8], [1.8, 1.8], [1.8, 5.4], [-1.8, 5.4], [-1.8, 1.8], [-5.4, 1.8],
    [-5.4, -1.8], [-1.8, -1.8], [-1.8, -5.4], [1.8, -5.4], [1.8, -1.8], [5.4, -1.8]];
  const CORNERS = [
    null, [[4, 4], [-4, 4], [-4, -4], [4, -4]], [[5.6, 0], [0, 5.6], [-5.6, 0], [0, -5.6]],
    [[-5.2, 3.2], [5.2, 3.2], [0, -5.6]], [[-5.2, -3.2], [5.2, -3.2], [0, 5.6]], cross, star,
    cross.map(([x, y]) => [0.75 * (x - y), 0.75 * (x + y)]),
  ];
  const shapes = (scale) => CORNERS.map((corners) => {
    const r = 4.5 * scale;
    if (!corners) return `M${r},0A${r},${r} 0 1,1 0,${-r}A${r},${r} 0 0,1 ${r},0Z`;
    return `M${corners.map(([x, y]) => `${(x * scale).toFixed(2)},${(y * scale).toFixed(2)}`).join("L")}Z`;
  });
  const SHAPES = shapes(1);
  const SIZED = { map: shapes(n > 1000 ? 0.6 : n > 200 ? 0.75 : 1), scatter: shapes(n > 1000 ? 0.75 : 0.9) };
  const symbolOf = (category) => (category + Math.floor(category / 8)) % 8;
  // cividis: lightness grows evenly, also for colour-blind readers
  const RAMP = [[0, 34, 78], [46, 67, 110], [87, 93, 109], [124, 123, 120], [163, 153, 118], [207, 186, 99], [254, 232, 56]];

  const of = (name, kernel = state.kernel) => arrays[`${kernel}.${name}`];
  const plain = torelli.plain;
  const number = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  // the coordinates of a chart's points, and how many numbers there are for each point
  function places(chart) {
    const source = chart === map ? arrays.place : of("xy", chart.dataset.kernel);
    return [source, source.length / n];
  }

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function svg(name, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  // ---- similarity to a network ------------------------------------------------------------------

  function similarities(i) {
    const row = new Float32Array(n);
    row[i] = 1;
    if (data.exact) {
      const all = of("similarity");
      const at = (a, b) => (a * (2 * n - a - 1)) / 2 + (b - a - 1);
      for (let j = 0; j < i; j++) row[j] = all[at(j, i)] / 255;
      for (let j = i + 1; j < n; j++) row[j] = all[at(i, j)] / 255;
      return row;
    }
    const [z, rest] = [of("xy"), of("residual")];
    const m = z.length / n;
    for (let j = 0; j < n; j++) {
      if (j === i) continue;
      let squared = rest[i] + rest[j];
      for (let c = 0; c < m; c++) squared += (z[i * m + c] - z[j * m + c]) ** 2;
      row[j] = Math.min(1, Math.max(0, 1 - squared / 2));
    }
    return row;
  }

  function neighbours(i) {
    const kind = $("elsewhere")?.checked ? "elsewhere" : "near";
    const [rows, distances] = [of(kind), of(`${kind}_distance`)];
    const k = rows.length / n;
    const found = [];
    for (let at = i * k; at < (i + 1) * k; at++) {
      if (rows[at] !== NONE) found.push({ row: rows[at], distance: distances[at] });
    }
    return found;
  }

  // ---- colours -------------------------------------------------------------------------------

  function categories() {
    if (state.colour === "class") return data.classes;
    if (state.colour === "city") return data.cities;
    if (state.colour !== "cluster") return null;
    const names = Array.from({ length: data.clusters }, (_, at) => `cluster ${at + 1}`);
    return { names, of: of("cluster") };
  }

  function ramp(part) {
    const at = Math.min(Math.max(part, 0), 1) * (RAMP.length - 1);
    const low = Math.min(Math.floor(at), RAMP.length - 2);
    const mixed = RAMP[low].map((value, channel) => Math.round(value + (RAMP[low + 1][channel] - value) * (at - low)));
    return `rgb(${mixed.join(",")})`;
  }

  // on a dark background the ramp starts lighter, so that the least similar points stay visible
  const onGround = (part, dark) => ramp(dark ? 0.22 + 0.78 * part : 0.94 * part);

  function marks() {
    const c = torelli.colours();
    const found = categories();
    if (found) {
      const kinds = Array.from(found.of);
      return { colour: kinds.map((kind) => c.classes[kind % 8]), symbol: kinds.map(symbolOf) };
    }
    let values = data.figures.genus;
    let most = Math.max(1, ...values);
    if (state.colour === "similarity") [values, most] = [similarities(state.selected), 1];
    return { colour: Array.from(values, (value) => onGround(value / most, c.dark)), symbol: new Array(n).fill(0) };
  }

  let painted = marks();

  // points are restyled directly, because Plotly would draw every chart again
  function paint(chart) {
    const shape = chart === map ? SIZED.map : SIZED.scatter;
    for (const point of chart.querySelectorAll(".scatterlayer path.point")) {
      const i = point.__data__.i;
      const [d, fill] = [shape[painted.symbol[i]], painted.colour[i]];
      // set only what differs: styles are slow to set, and Plotly sometimes sets its own
      if (point.getAttribute("d") !== d) point.setAttribute("d", d);
      if (point.dataset.fill !== fill || !point.style.getPropertyPriority("fill")) {
        point.dataset.fill = fill;
        point.style.setProperty("fill", fill, "important");
      }
      const dim = state.highlighted !== null && !state.highlighted.has(i);
      point.classList.toggle("dim", dim);
      point.classList.toggle("lit", state.highlighted !== null && !dim);
    }
  }

  function repaint() {
    painted = marks();
    shown().forEach(paint);
  }

  // ---- the two charts ------------------------------------------------------------------------

  function coordinates(chart) {
    const [source, step] = places(chart);
    const [x, y] = [new Array(n), new Array(n)];
    for (let i = 0; i < n; i++) {
      const there = Number.isFinite(source[i * step]);
      x[i] = there ? source[i * step] : null;
      y[i] = there ? source[i * step + 1] : null;
    }
    return { x, y };
  }

  const described = data.names.map((name, i) => {
    const lines = [`<b>${plain(name)}</b>`];
    if (data.classes) lines.push(plain(data.classes.names[data.classes.of[i]]));
    lines.push(`genus ${number(data.figures.genus[i])}`);
    return lines.join("<br>");
  });

  const traces = (chart) => () => [{
    type: "scatter", mode: "markers", ...coordinates(chart), text: described, hovertemplate: "%{text}<extra></extra>",
    marker: { color: "#888", size: 9, opacity: 1 },
    selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 1 } },
  }];

  function rings(chart, c) {
    const [source, step] = places(chart);
    const ring = (i, radius, line) => ({
      type: "circle", xref: "x", yref: "y", xsizemode: "pixel", ysizemode: "pixel", line, layer: "above",
      xanchor: source[i * step], yanchor: source[i * step + 1], x0: -radius, x1: radius, y0: -radius, y1: radius,
    });
    const there = (i) => Number.isFinite(source[i * step]);
    const shapes = neighbours(state.selected).filter(({ row }) => there(row))
      .map(({ row }) => ring(row, 8, { color: c.ink, width: 1.5 }));
    if (there(state.selected)) {
      shapes.push(ring(state.selected, 11, { color: c.surface, width: 6 }), ring(state.selected, 11, { color: c.ink, width: 3 }));
    }
    return shapes;
  }

  const coarse = window.matchMedia("(pointer: coarse)").matches;
  const shared = (chart, c) => ({
    dragmode: coarse ? false : "lasso", hovermode: "closest", shapes: rings(chart, c), showlegend: false,
    modebar: { remove: ["autoScale2d", "toImage"], bgcolor: "rgba(0,0,0,0)", color: c.muted, activecolor: c.accent },
    newselection: { line: { color: c.accent, width: 2 } },
  });

  const scatterLayout = (chart) => (c) => {
    const share = data.kernels.find((kernel) => kernel.key === chart.dataset.kernel).share;
    const [source, step] = places(chart);
    const range = (at) => {
      let [low, high] = [Infinity, -Infinity];
      for (let k = at; k < source.length; k += step) [low, high] = [Math.min(low, source[k]), Math.max(high, source[k])];
      const margin = 0.05 * (high - low) || 1;
      return [low - margin, high + margin];
    };
    const axis = (at) => ({
      range: range(at), automargin: false,
      title: { text: `component ${at + 1} (${Math.round(100 * share[at])} %)`, font: { size: 12, color: c.muted } },
      zeroline: false, showticklabels: false, ticks: "",
    });
    return { ...shared(chart, c), xaxis: axis(0), yaxis: axis(1), margin: { l: 34, r: 8, t: 30, b: 34 } };
  };

  function streets(at, side, colour) {
    const canvas = element("canvas");
    canvas.width = canvas.height = side;
    const pen = canvas.getContext("2d");
    const lines = arrays[`streets.${at}`];
    const scale = side / data.grid;
    pen.strokeStyle = colour;
    pen.lineWidth = Math.max(1, side / 700);
    pen.beginPath();
    for (let k = 0; k < lines.length; k += 4) {
      pen.moveTo(lines[k] * scale, side - lines[k + 1] * scale);
      pen.lineTo(lines[k + 2] * scale, side - lines[k + 3] * scale);
    }
    pen.stroke();
    return canvas.toDataURL();
  }

  function mapLayout(c) {
    const panels = data.panels;
    const one = state.city !== "";
    const drawn = one ? [panels[Number(state.city)]] : panels;
    const side = Math.round(Math.min(1400, 1600 / Math.sqrt(drawn.length)));
    const [xs, ys] = [drawn.map((panel) => panel.corner[0]), drawn.map((panel) => panel.corner[1])];
    const range = (values, above) => [Math.min(...values) - 0.03, Math.max(...values) + 1 + above];
    const named = panels.length > 1;
    $("map-note").textContent = named ? "" : ` ${panels[0].width} wide`;
    return {
      ...shared(map, c),
      images: drawn.map((panel) => ({
        source: streets(panels.indexOf(panel), side, c.dark ? "#5d6d83" : "#93a0b0"), xref: "x", yref: "y",
        x: panel.corner[0], y: panel.corner[1] + 1, sizex: 1, sizey: 1, sizing: "stretch", layer: "below",
      })),
      annotations: drawn.filter(() => named).map((panel) => ({
        text: `<b>${plain(panel.name)}</b>${drawn.length > 9 ? "" : `  ${panel.width}`}`, x: panel.corner[0], y: panel.corner[1] + 1, xanchor: "left",
        yanchor: "bottom", showarrow: false, font: { size: drawn.length > 9 ? 10 : 12, color: c.ink },
      })),
      xaxis: { visible: false, automargin: false, range: range(xs, 0.03), constrain: "domain" },
      yaxis: { visible: false, automargin: false, range: range(ys, named ? 0.14 : 0.03), scaleanchor: "x", constrain: "domain" },
      margin: { l: 4, r: 4, t: 8, b: 4 },
    };
  }

  const ring = (...where) => {
    const c = torelli.colours();
    for (const chart of where) Plotly.relayout(chart, { shapes: rings(chart, c) });
  };

  // ---- the selected network ------------------------------------------------------------------

  const names = (kinds, i) => kinds.names[kinds.of[i]];

  function figures(i) {
    const f = data.figures;
    const wide = (label) => (label === "lat, lon" ? { class: "wide" } : {});
    const metres = f.unit[i] === "m" && f.length[i] >= 1000;
    const rows = [
      data.classes && (!data.cities || names(data.classes, i) !== names(data.cities, i)) && ["class", names(data.classes, i)],
      data.cities && ["city", names(data.cities, i)],
      data.lonlat?.[i] && ["lat, lon", data.lonlat[i].map((value) => value.toFixed(4)).reverse().join(", ")],
      ["cluster", `${of("cluster")[i] + 1} (${state.kernel.toUpperCase()})`],
      ["nodes", number(f.nodes[i])],
      ["edges", number(f.edges[i])],
      ["genus", number(f.genus[i])],
      ["bridges", number(f.bridges[i])],
      ["length", metres ? `${number(f.length[i] / 1000)} km` : `${number(f.length[i])} ${f.unit[i]}`],
      f.ties[i] && ["tied totals", number(f.ties[i])],
    ];
    return rows.filter(Boolean).map(([label, value]) => element("div", wide(label), element("dt", {}, label), element("dd", {}, value)));
  }

  function matrix(i) {
    const rows = Math.min(arrays["q.rows"][i], 40);
    const [scale, start, q] = [arrays["q.scale"][i], arrays["q.starts"][i], arrays.q];
    const z = Array.from({ length: rows }, () => new Array(rows));
    for (let a = 0, k = start; a < rows; a++) {
      for (let b = 0; b <= a; b++, k++) z[a][b] = z[b][a] = (q[k] * scale) / 127;
    }
    return { z, scale };
  }

  function mixed(colour, ground, part) {
    const channels = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
    const [a, b] = [channels(colour), channels(ground)];
    return `rgb(${a.map((value, at) => Math.round(value + (b[at] - value) * part)).join(",")})`;
  }

  const matrixTraces = (c) => {
    const { z, scale } = matrix(state.selected);
    const [less, more] = c.dark ? [c.classes[5], c.classes[4]] : [c.classes[5], c.classes[0]];
    const faint = (colour) => mixed(colour, c.surface, 0.82);
    // a step at 0 makes small overlaps visible beside long cycles
    const colorscale = [[0, less], [0.499, faint(less)], [0.4991, c.surface], [0.5009, c.surface], [0.501, faint(more)], [1, more]];
    return [{
      type: "heatmap", z, zmin: -scale || -1, zmax: scale || 1, colorscale, x0: 1, y0: 1,
      hovertemplate: "cycles %{y} and %{x}: %{z:.4~g}<extra></extra>",
      colorbar: { thickness: 10, len: 1, outlinewidth: 0, tickfont: { color: c.muted, size: 11 }, nticks: 5 },
    }];
  };
  const matrixLayout = () => ({
    height: 230, margin: { l: 4, r: 4, t: 4, b: 4 }, dragmode: false,
    xaxis: { visible: false, automargin: false, constrain: "domain" },
    yaxis: { visible: false, automargin: false, autorange: "reversed", scaleanchor: "x", constrain: "domain" },
  });

  function showDetail() {
    const i = state.selected;
    $("name").textContent = data.names[i];
    $("network").replaceChildren(torelli.thumbnail(arrays, i));
    $("figures").replaceChildren(...figures(i));
    const rows = arrays["q.rows"][i];
    const size = `${number(rows)} × ${number(rows)}`;
    $("q-note").textContent = rows > 40 ? `leading 40 of ${size}` : rows ? size : "";
    $("q").classList.toggle("empty", rows === 0);
    $("q").setAttribute("aria-label", rows ? `Heat map of Q, ${size}` : "A tree has no cycles: Q is empty");
    if (rows) torelli.redraw($("q"));
    if (data.simplified.includes(i)) $("figures").append(element("div", {}, element("dt", {}, "drawing"), element("dd", {}, "simplified")));
  }

  // names of windows, such as City[12], break before the bracket
  const breakable = (name) => name.split(/(?=\[)/).flatMap((part, at) => (at ? [element("wbr"), part] : [part]));

  function showNeighbours() {
    const found = neighbours(state.selected);
    $("near-note").textContent = `to ${data.names[state.selected]} by ${state.kernel.toUpperCase()} distance`;
    $("near").replaceChildren(...found.map(({ row, distance }) => {
      const label = data.classes?.names[data.classes.of[row]] ?? data.cities?.names[data.cities.of[row]] ?? `genus ${data.figures.genus[row]}`;
      const card = element("button", { type: "button", class: "card", "data-row": row },
        torelli.thumbnail(arrays, row, { colours: 12 }), element("span", { class: "name" }, ...breakable(data.names[row])),
        element("span", { class: "meta" }, label), element("span", { class: "meta" }, `d = ${number(distance)}`));
      return element("li", {}, card);
    }));
  }

  function select(i, { announce = true } = {}) {
    state.selected = i;
    showDetail();
    showNeighbours();
    ring(...shown());
    if (state.colour === "similarity") repaint();
    if (announce) $("live").textContent = `${data.names[i]} selected, genus ${data.figures.genus[i]}`;
  }

  // ---- highlight and legend ------------------------------------------------------------------

  function highlight(rows) {
    state.highlighted = rows;
    shown().forEach(paint);
    const status = $("status");
    if (rows === null) {
      status.textContent = "";
      pressed(null);
      return;
    }
    const kinds = data.classes ?? data.cities;
    const counts = new Map();
    if (kinds) for (const i of rows) counts.set(kinds.of[i], (counts.get(kinds.of[i]) || 0) + 1);
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([kind, count]) => `${count} ${kinds.names[kind]}`);
    status.textContent = `${rows.size} of ${n} highlighted${most.length ? `: ${most.join(", ")}` : ""}${counts.size > 6 ? ", …" : ""}`;
  }

  function pressed(button) {
    for (const other of document.querySelectorAll("#legend button")) other.setAttribute("aria-pressed", String(other === button));
  }

  function showLegend() {
    const found = categories();
    const c = torelli.colours();
    if (!found) {
      const most = state.colour === "genus" ? number(Math.max(...data.figures.genus)) : "1";
      const bar = element("span", { class: "ramp" });
      const stops = Array.from({ length: 9 }, (_, k) => onGround(k / 8, c.dark));
      bar.style.background = `linear-gradient(to right, ${stops.join(",")})`;
      $("legend").replaceChildren(element("li", { class: "scale" }, "0", bar, most));
      return;
    }
    $("legend").replaceChildren(...found.names.map((name, kind) => {
      const icon = svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" });
      const shape = svg("path", { d: SHAPES[symbolOf(kind)] });
      shape.style.fill = c.classes[kind % 8];
      icon.append(shape);
      const button = element("button", { type: "button", "aria-pressed": "false" }, icon, name);
      button.addEventListener("click", () => {
        if (button.getAttribute("aria-pressed") === "true") { clear(); return; }
        clearBrush(null);
        const rows = new Set();
        for (let i = 0; i < n; i++) if (found.of[i] === kind) rows.add(i);
        highlight(rows);
        pressed(button);
      });
      return element("li", {}, button);
    }));
  }

  let brushing = false;

  function clearBrush(kept) {
    brushing &&= kept !== null;
    for (const chart of charts) {
      if (chart !== kept && chart.layout.selections?.length) Plotly.relayout(chart, { selections: [] });
    }
  }

  function clear() {
    clearBrush(null);
    highlight(null);
  }

  function showKernel() {
    for (const layer of layers) {
      const there = layer.dataset.kernel === state.kernel;
      layer.classList.toggle("away", !there);
      if (!there && layer.layout.selections?.length) Plotly.relayout(layer, { selections: [] });
    }
    repaint();
    ring(...shown());
  }

  // ---- what the reader does ------------------------------------------------------------------

  function toward(chart, key) {
    const [source, step] = places(chart);
    const { xaxis, yaxis } = chart._fullLayout;
    const pixel = (i) => [xaxis.l2p(source[i * step]), yaxis.l2p(source[i * step + 1])];
    const [ux, uy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    const [x, y] = pixel(state.selected);
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < n; i++) {
      const [px, py] = pixel(i);
      const along = (px - x) * ux + (py - y) * uy;
      const cost = along + 2.5 * Math.abs((px - x) * uy - (py - y) * ux);
      if (i !== state.selected && along > 0.01 && cost < least) [best, least] = [i, cost];
    }
    return best;
  }

  function onKey(frame, event) {
    if (event.target !== frame || event.ctrlKey || event.metaKey || event.altKey) return;
    let next = -1;
    if (event.key.startsWith("Arrow")) next = toward(frame === map ? map : shown().at(-1), event.key);
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = n - 1;
    else if (event.key === "Enter") $("near").querySelector("button")?.focus();
    else return;
    event.preventDefault();
    if (next >= 0) select(next);
  }

  function onBrush(chart, event) {
    if (!event?.points?.length) return;
    // Plotly reports the end of a brush late, perhaps after the reader has cleared the highlight
    clearBrush(brushing ? chart : null);
    if (!brushing) return;
    pressed(null);
    highlight(new Set(event.points.map((point) => point.pointIndex)));
  }

  for (const chart of charts) {
    await torelli.chart(chart, traces(chart), chart === map ? mapLayout : scatterLayout(chart));
    chart.on("plotly_afterplot", () => paint(chart));
    chart.on("plotly_click", (event) => select(event.points[0].pointIndex));
    chart.on("plotly_selecting", (event) => onBrush(chart, event));
    chart.on("plotly_selected", (event) => onBrush(chart, event));
    chart.on("plotly_deselect", clear);
    chart.addEventListener("pointerdown", () => { brushing = true; }, { capture: true });
  }
  for (const frame of [map, $("scatter")].filter(Boolean)) frame.addEventListener("keydown", (event) => onKey(frame, event));
  await torelli.chart($("q"), matrixTraces, matrixLayout);
  torelli.onTheme(() => { repaint(); showLegend(); });

  document.addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });
  $("near").addEventListener("click", (event) => {
    const card = event.target.closest("button");
    if (!card) return;
    select(Number(card.dataset.row));
    $("name").focus({ preventScroll: true });
  });
  for (const button of document.querySelectorAll("input[name=kernel]")) {
    button.addEventListener("change", () => {
      state.kernel = button.value;
      showKernel();
      showNeighbours();
      $("figures").replaceChildren(...figures(state.selected));
    });
  }
  $("colour").addEventListener("change", () => {
    state.colour = $("colour").value;
    clearBrush(null);
    painted = marks();
    highlight(null);
    showLegend();
  });
  $("city")?.addEventListener("change", () => {
    state.city = $("city").value;
    torelli.redraw(map);
  });
  $("elsewhere")?.addEventListener("change", () => { showNeighbours(); ring(...shown()); });
  $("names").append(...data.names.map((name) => element("option", { value: name })));
  $("find").addEventListener("change", () => {
    const wanted = $("find").value.trim().toLowerCase();
    if (!wanted) return;
    const names = data.names.map((name) => name.toLowerCase());
    let found = names.indexOf(wanted);
    if (found < 0) found = names.findIndex((name) => name.includes(wanted));
    $("find").setAttribute("aria-invalid", String(found < 0));
    if (found >= 0) select(found);
    else $("live").textContent = `no network is called ${wanted}`;
  });
  $("toolbar").addEventListener("submit", (event) => event.preventDefault());

  showKernel();
  showLegend();
  select(0, { announce: false });
  document.documentElement.dataset.ready = "true";
})();
