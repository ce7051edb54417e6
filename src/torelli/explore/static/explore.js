"use strict";
// The explorer: Plotly positions the points, this script colours them and shows the selected network.
// `torelli.data` and its arrays are all that it knows of the networks.
(async () => {
  const data = torelli.data;
  const n = data.names.length;
  const NONE = 4294967295;
  const $ = (id) => document.getElementById(id);
  const arrays = await torelli.unpack(data.arrays);
  const coarse = torelli.coarse;
  const drag = coarse ? false : "lasso";
  const first = { kernel: data.kernels[0].key, colour: $("colour").value, city: "", selected: 0 };
  const state = { ...first, highlighted: null, drag: { map: drag, scatter: drag } };
  // the map has its streets on a canvas below the chart
  const map = $("map") && element("div", { class: "points" });
  if (map) $("map").append(map);
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
  const drawnShapes = (scale) => CORNERS.map((corners) => {
    const r = 4.5 * scale;
    if (!corners) return `M${r},0A${r},${r} 0 1,1 0,${-r}A${r},${r} 0 0,1 ${r},0Z`;
    return `M${corners.map(([x, y]) => `${(x * scale).toFixed(2)},${(y * scale).toFixed(2)}`).join("L")}Z`;
  });
  // the shapes of each size, which has one decimal
  const sized = new Map();
  function shapes(size) {
    const key = Math.round(10 * size);
    if (!sized.has(key)) sized.set(key, drawnShapes(key / 10));
    return sized.get(key);
  }
  const symbolOf = (category) => (category + Math.floor(category / 8)) % 8;
  // cividis: lightness grows evenly, also for colour-blind readers
  const RAMP = [[0, 34, 78], [46, 67, 110], [87, 93, 109], [124, 123, 120], [163, 153, 118], [207, 186, 99], [254, 232, 56]];

  const labelOf = (key = state.kernel) => data.kernels.find((kernel) => kernel.key === key).label;
  const of = (name, kernel = state.kernel) => arrays[`${kernel}.${name}`];
  const { plain, number, length } = torelli;
  const brief = (text, longest = 160) => (text.length > longest ? `${Array.from(text).slice(0, longest).join("")}…` : text);
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
    const [rows, distances, counts] = [of(kind), of(`${kind}_distance`), of(`${kind}_count`)];
    const k = rows.length / n;
    const found = [];
    for (let at = i * k; at < (i + 1) * k; at++) {
      if (rows[at] !== NONE) found.push({ row: rows[at], distance: distances[at], count: counts[at] });
    }
    return found;
  }

  // ---- networks at one point --------------------------------------------------------------------

  const heads = (chart) => (chart === map ? arrays["place.same"] : of("same", chart.dataset.kernel));
  const grouped = new Map();

  // the networks at the points of a chart, by the first of them, which is drawn for all
  function groups(chart) {
    if (!grouped.has(chart)) {
      const found = new Map();
      heads(chart).forEach((head, i) => { (found.get(head) ?? found.set(head, []).get(head)).push(i); });
      grouped.set(chart, found);
    }
    return grouped.get(chart);
  }

  const together = (chart, i) => groups(chart).get(heads(chart)[i]);

  // ---- colours -------------------------------------------------------------------------------

  function categories() {
    if (state.colour === "class") return data.classes;
    if (state.colour === "city") return data.cities;
    if (state.colour !== "cluster") return null;
    // networks that are the same are never divided, so that there may be fewer clusters than asked for
    const names = Array.from({ length: 1 + Math.max(...of("cluster")) }, (_, at) => `cluster ${at + 1}`);
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
  const gradients = svg("svg", { width: 0, height: 0, class: "unseen", "aria-hidden": "true" });
  document.body.append(gradients);

  // the fill of a point where networks of several classes are: a stripe for each class, as wide as its share
  function stripes(members) {
    const found = categories();
    if (!found || members.length === 1) return "";
    const counts = new Map();
    for (const i of members) counts.set(found.of[i], (counts.get(found.of[i]) ?? 0) + 1);
    if (counts.size === 1) return "";
    const kinds = [...counts].sort(([a], [b]) => a - b);
    const c = torelli.colours();
    const id = `stripes-${c.dark ? "dark" : "light"}-${state.colour}-${kinds.flat().join("-")}`;
    if (!document.getElementById(id)) {
      const made = svg("linearGradient", { id });
      let start = 0;
      for (const [kind, count] of kinds) {
        const end = start + count / members.length;
        for (const offset of [start, end]) made.append(svg("stop", { offset, "stop-color": c.classes[kind % 8] }));
        start = end;
      }
      gradients.append(made);
    }
    return `url(#${id})`;
  }

  // Of the numbers of networks at a point, those that would cover a larger one are hidden.
  function showCounts(chart) {
    const kept = [];
    const texts = [...chart.querySelectorAll(".scatterlayer .textpoint text")].map((text) => ({ text, count: Number(text.textContent.replaceAll(",", "")) }));
    for (const { text, count } of texts.sort((a, b) => b.count - a.count)) {
      const [x, y] = [Number(text.getAttribute("x")), Number(text.getAttribute("y"))];
      const free = kept.every(([left, top]) => Math.abs(x - left) > 14 || Math.abs(y - top) > 11);
      text.style.display = free ? "" : "none";
      if (free) kept.push([x, y]);
    }
  }

  // markers on the map become smaller where they are dense, so that streets are seen between them
  function sizeOf(chart) {
    if (chart !== map) return n > 1000 ? 0.7 : 0.9;
    const apart = (streets.scale() * Math.sqrt(data.panels.length)) / Math.sqrt(n);
    return Math.min(1, Math.max(0.3, apart / 24));
  }

  // points are restyled directly, because Plotly would draw every chart again
  function paint(chart) {
    if (chart === map) streets.draw(panels(), state.selected);
    const size = sizeOf(chart);
    for (const point of chart.querySelectorAll(".scatterlayer path.point")) {
      const i = point.__data__.i;
      const members = together(chart, i);
      const larger = Math.min(2.2, 1 + 0.2 * Math.log2(members.length));
      const fill = stripes(members);
      const [d, colour] = [shapes(size * larger)[fill ? 0 : painted.symbol[i]], painted.colour[i]];
      // set only what differs: styles are slow to set
      if (point.getAttribute("d") !== d) point.setAttribute("d", d);
      if (point.dataset.colour !== colour) {
        point.dataset.colour = colour;
        point.style.color = colour;
      }
      if ((point.dataset.stripes ?? "") !== fill) {
        point.dataset.stripes = fill;
        point.style.setProperty("fill", fill, fill && "important");
      }
      const dim = state.highlighted !== null && !members.some((member) => state.highlighted.has(member));
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
    const head = heads(chart);
    for (let i = 0; i < n; i++) {
      const there = Number.isFinite(source[i * step]) && head[i] === i;
      x[i] = there ? source[i * step] : null;
      y[i] = there ? source[i * step + 1] : null;
    }
    return { x, y };
  }

  function described(chart) {
    const label = (i) => [data.classes && plain(names(data.classes, i)), `genus ${number(data.figures.genus[i])}`].filter(Boolean).join(", ");
    return data.names.map((name, i) => {
      const members = groups(chart).get(i) ?? [i];
      if (members.length === 1) return `<b>${plain(name)}</b><br>${label(i)}`;
      const shownNames = members.slice(0, 5).map((member) => `${plain(data.names[member], 40)}: ${label(member)}`);
      const more = members.length > 5 ? [`and ${number(members.length - 5)} more`] : [];
      return [`<b>${number(members.length)} networks here</b>`, ...shownNames, ...more].join("<br>");
    });
  }

  const traces = (chart) => (c) => {
    const { x, y } = coordinates(chart);
    const several = [...groups(chart)].filter(([i, members]) => members.length > 1 && x[i] !== null);
    return [
      {
        type: "scatter", mode: "markers", x, y, text: described(chart), hovertemplate: "%{text}<extra></extra>",
        marker: { color: "#888", size: 9, opacity: 1 },
        selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 1 } },
      },
      {
        type: "scatter", mode: "text", x: several.map(([i]) => x[i]), y: several.map(([i]) => y[i]), hoverinfo: "skip",
        text: several.map(([, members]) => `\u00a0\u00a0${number(members.length)}`), textposition: "top right", textfont: { size: 10, color: c.ink },
        selected: { textfont: { color: c.ink } }, unselected: { textfont: { color: c.ink } },
      },
    ];
  };

  function rings(chart, c) {
    const [source, step] = places(chart);
    const head = heads(chart);
    const ring = (i, radius, line) => ({
      type: "circle", xref: "x", yref: "y", xsizemode: "pixel", ysizemode: "pixel", line, layer: "above",
      xanchor: source[head[i] * step], yanchor: source[head[i] * step + 1], x0: -radius, x1: radius, y0: -radius, y1: radius,
    });
    const there = (i) => Number.isFinite(source[i * step]);
    const shapes = neighbours(state.selected).filter(({ row }) => there(row))
      .map(({ row }) => ring(row, 8, { color: c.ink, width: 1.5 }));
    if (there(state.selected)) {
      shapes.push(ring(state.selected, 11, { color: c.surface, width: 6 }), ring(state.selected, 11, { color: c.ink, width: 3 }));
    }
    return shapes;
  }

  const shared = (chart, c) => ({
    dragmode: chart === map ? state.drag.map : state.drag.scatter, hovermode: "closest", shapes: rings(chart, c), showlegend: false,
    newselection: { line: { color: c.accent, width: 2 } },
  });

  const scatterLayout = (chart) => (c) => {
    const share = data.kernels.find((kernel) => kernel.key === chart.dataset.kernel).share;
    const [source, step] = places(chart);
    const extent = (at) => {
      let [low, high] = [Infinity, -Infinity];
      for (let k = at; k < source.length; k += step) [low, high] = [Math.min(low, source[k]), Math.max(high, source[k])];
      return [low, high];
    };
    // a component that is next to nothing beside the other is not stretched to its size
    const least = 0.02 * Math.max(...[0, 1].map((at) => extent(at)[1] - extent(at)[0]));
    const range = (at) => {
      const [low, high] = extent(at);
      const margin = Math.max(0.05 * (high - low), high - low < least ? least : 0) || 1;
      return [low - margin, high + margin];
    };
    const axis = (at) => ({
      range: range(at), automargin: false,
      title: { text: `component ${at + 1} (${Math.round(100 * share[at])} %)`, font: { size: 12, color: c.muted } },
      zeroline: false, showticklabels: false, ticks: "",
    });
    return { ...shared(chart, c), xaxis: axis(0), yaxis: axis(1), margin: { l: 34, r: 8, t: 8, b: 34 } };
  };

  const streets = map && torelli.streetMap(data, arrays, $("map"), map);
  const panels = () => (state.city === "" ? data.panels : [data.panels[Number(state.city)]]);

  function mapLayout(c) {
    const drawn = panels();
    const [xs, ys] = [drawn.map((panel) => panel.corner[0]), drawn.map((panel) => panel.corner[1])];
    const range = (values, above) => [Math.min(...values) - 0.03, Math.max(...values) + 1 + above];
    const named = data.panels.length > 1;
    // the name of a panel is not wider than the panel
    const letters = Math.max(8, Math.floor(map.clientWidth / Math.ceil(Math.sqrt(drawn.length)) / 8.5));
    return {
      ...shared(map, c),
      annotations: drawn.filter(() => named).map((panel) => ({
        text: `<b>${plain(panel.name, letters)}</b>`, x: panel.corner[0], y: panel.corner[1] + 1, xanchor: "left",
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
    const wide = (label, value) => (label === "lat, lon" || value.length > 14 ? { class: "wide" } : {});
    const rows = [
      data.classes && (!data.cities || names(data.classes, i) !== names(data.cities, i)) && ["class", brief(names(data.classes, i))],
      data.cities && ["city", brief(names(data.cities, i))],
      data.lonlat?.[i] && ["lat, lon", data.lonlat[i].map((value) => value.toFixed(4)).reverse().join(", ")],
      ["cluster", `${of("cluster")[i] + 1} (${labelOf()})`],
      ["nodes", number(f.nodes[i])],
      ["edges", number(f.edges[i])],
      ["genus", number(f.genus[i])],
      ["bridges", number(f.bridges[i])],
      ["length", `${length(f.length[i], f.unit[i])}${f.unit[i] ? "" : " (unit not stated)"}`],
      f.ties[i] && ["tied totals", number(f.ties[i])],
    ];
    return rows.filter(Boolean).map(([label, value]) => element("div", wide(label, value), element("dt", {}, label), element("dd", { dir: "auto" }, value)));
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
    const unit = data.figures.unit[state.selected];
    // entries are rounded to 1/127 of the largest, so that two digits mean something
    const text = z.map((row) => row.map((value) => length(Number(value.toPrecision(2)), unit)));
    return [{
      type: "heatmap", z, text, zmin: -scale || -1, zmax: scale || 1, colorscale, x0: 1, y0: 1,
      hovertemplate: "cycles %{y} and %{x}: %{text}<extra></extra>",
      colorbar: {
        thickness: 10, len: 1, outlinewidth: 0, tickfont: { color: c.muted, size: 11 }, nticks: 5, ticksuffix: unit ? ` ${plain(unit, 8)}` : "",
      },
    }];
  };
  const matrixLayout = () => ({
    height: 230, margin: { l: 4, r: 4, t: 4, b: 4 }, dragmode: false,
    xaxis: { visible: false, automargin: false, constrain: "domain" },
    yaxis: { visible: false, automargin: false, autorange: "reversed", scaleanchor: "x", constrain: "domain" },
  });

  // a drawing with its scale, where it is known
  function drawing(i, options) {
    const drawn = [torelli.thumbnail(arrays, i, options)];
    if (data.sides[i]) drawn.push(torelli.scaleBar(data.sides[i][0] * 1.06, data.sides[i][1]));
    return drawn;
  }

  // the other networks at a point of the charts, as buttons
  function showSame(i) {
    const kernel = shown().at(-1);
    const others = [...new Set([...together(kernel, i), ...(map ? together(map, i) : [])])].filter((j) => j !== i).sort((a, b) => a - b);
    const buttons = others.slice(0, 12).map((j) => element("button", { type: "button", "data-row": j, dir: "auto" }, brief(data.names[j], 40)));
    const more = others.length > 12 ? [` and ${number(others.length - 12)} more`] : [];
    const text = element("p", { class: "muted" }, others.length ? "At the same point: " : "");
    text.append(...buttons, ...more);
    $("same").replaceChildren(...(others.length ? [text] : []));
  }

  function showMark() {
    const there = state.highlighted?.has(state.selected) ?? false;
    $("mark").setAttribute("aria-pressed", String(there));
    $("mark").textContent = there ? "Remove from the highlight" : "Add to the highlight";
  }

  function showDetail() {
    const i = state.selected;
    $("name").textContent = brief(data.names[i]);
    $("network").replaceChildren(...drawing(i));
    showSame(i);
    showMark();
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
    const own = element("bdi", {}, brief(data.names[state.selected], 60));
    $("near-note").replaceChildren("to ", own, ` by ${labelOf()} distance`);
    if (!found.length) $("near-note").textContent = n > 1 ? "there is no network of another city" : "there is no other network";
    $("near").replaceChildren(...found.map(({ row, distance, count }) => {
      const label = data.classes?.names[data.classes.of[row]] ?? data.cities?.names[data.cities.of[row]] ?? `genus ${data.figures.genus[row]}`;
      const text = (kind, ...parts) => element("span", { class: kind, dir: "auto" }, ...parts);
      const card = element("button", { type: "button", class: "card", "data-row": row },
        element("span", { class: "network" }, ...drawing(row, { colours: 12 })), text("name", ...breakable(brief(data.names[row]))),
        text("meta", brief(label, 60)), text("meta", `d = ${number(distance)}`), ...(count > 1 ? [text("count", `and ${number(count - 1)} more like it`)] : []));
      return element("li", {}, card);
    }));
  }

  // which streets make the selected network and a similar one alike, where the page has them
  function showWhy() {
    if (!$("why")) return;
    const i = state.selected;
    const found = torelli.pairs(arrays, i);
    $("why").hidden = !found.length;
    $("why-note").textContent = `by ${labelOf("ttm")}, which is a sum over edges`;
    $("other").replaceChildren(...found.map((pair) => element("option", { value: pair }, brief(data.names[arrays["pair.other"][pair]], 60))));
    compare();
  }

  function compare() {
    const pair = Number($("other").value);
    $("comparison").replaceChildren(...($("why").hidden ? [] : torelli.comparison(arrays, state.selected, pair, data.names)));
  }
  $("other")?.addEventListener("change", compare);

  function select(i, { announce = true } = {}) {
    state.selected = i;
    showDetail();
    showNeighbours();
    showWhy();
    ring(...shown());
    if (state.colour === "similarity") repaint();
    if (announce) {
      $("live").textContent = `${brief(data.names[i])} selected, genus ${data.figures.genus[i]}`;
      writeAddress();
    }
  }

  // shows what a point is called to readers who have no mouse
  function showTip(chart, i) {
    const point = heads(chart)[i];
    if (Number.isFinite(places(chart)[0][point * places(chart)[1]])) Plotly.Fx.hover(chart, [{ curveNumber: 0, pointNumber: point }]);
  }

  // ---- the address of the page ---------------------------------------------------------------

  function writeAddress() {
    const name = data.names[state.selected];
    const unique = data.names.indexOf(name) === data.names.lastIndexOf(name) && name.isWellFormed();
    const found = new URLSearchParams([unique ? ["network", name] : ["row", data.rows?.[state.selected] ?? state.selected]]);
    for (const key of ["kernel", "colour", "city"]) {
      if (state[key] !== first[key]) found.set(key, key === "city" ? data.panels[Number(state.city)].name : state[key]);
    }
    if ($("elsewhere")?.checked) found.set("elsewhere", "1");
    history.replaceState(null, "", `#${found}`);
  }

  // Shows what the address asks for; what it does not name is shown as on a fresh page.
  function readAddress() {
    const asked = new URLSearchParams(window.location.hash.slice(1));
    const row = Number(asked.get("row") ?? NaN);
    let i = asked.has("network") ? data.names.indexOf(asked.get("network")) : data.rows ? data.rows.indexOf(row) : row;
    if (!(asked.has("network") || asked.has("row"))) i = 0;
    else if (!(Number.isInteger(i) && i >= 0 && i < n)) {
      $("status").textContent = `The address asks for a network that is not on this page: ${brief(asked.get("network") ?? asked.get("row"), 60)}`;
      i = 0;
    }
    const among = (value, values, otherwise) => (values.includes(value) ? value : otherwise);
    state.kernel = among(asked.get("kernel"), data.kernels.map(({ key }) => key), first.kernel);
    state.colour = among(asked.get("colour"), [...$("colour").options].map(({ value }) => value), first.colour);
    const city = $("city") ? data.panels.findIndex((panel) => panel.name === asked.get("city")) : -1;
    state.city = city >= 0 ? String(city) : "";
    document.querySelector(`input[name=kernel][value="${state.kernel}"]`).checked = true;
    $("colour").value = state.colour;
    if ($("city")) $("city").value = state.city;
    if ($("elsewhere")) $("elsewhere").checked = asked.get("elsewhere") === "1";
    return i;
  }

  // ---- highlight and legend ------------------------------------------------------------------

  function highlight(rows) {
    state.highlighted = rows?.size ? rows : null;
    rows = state.highlighted;
    shown().forEach(paint);
    showMark();
    $("export-note").textContent = rows ? `Export ${number(rows.size)} highlighted` : n === 1 ? "Export the network" : `Export all ${number(n)}`;
    $("made").hidden = true;
    const status = $("status");
    if (rows === null) {
      status.textContent = "";
      pressed(null);
      return;
    }
    const kinds = data.classes ?? data.cities;
    const counts = new Map();
    if (kinds) for (const i of rows) counts.set(kinds.of[i], (counts.get(kinds.of[i]) || 0) + 1);
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([kind, count]) => `${number(count)} ${brief(kinds.names[kind], 40)}`);
    status.textContent = `${number(rows.size)} of ${number(n)} highlighted${most.length ? `: ${most.join(", ")}` : ""}${counts.size > 6 ? ", …" : ""}`;
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
      const shape = svg("path", { d: shapes(1)[symbolOf(kind)] });
      shape.style.fill = c.classes[kind % 8];
      icon.append(shape);
      const button = element("button", { type: "button", "aria-pressed": "false" }, icon, element("bdi", {}, brief(name, 60)));
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

  // the chart that the reader brushes, until the highlight is cleared
  let brushing = null;

  function clearBrush(kept) {
    if (kept === null) brushing = null;
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
    const { title, description } = data.kernels.find((kernel) => kernel.key === state.kernel);
    $("kernel-note").textContent = `${labelOf()}, ${title}: ${description}.`;
    repaint();
    ring(...shown());
  }

  // adds the selected network to the highlight, or removes it
  function toggleMark() {
    const rows = new Set(state.highlighted);
    if (!rows.delete(state.selected)) rows.add(state.selected);
    clearBrush(null);
    pressed(null);
    highlight(rows);
    $("live").textContent = $("status").textContent || "nothing is highlighted";
  }

  // ---- what the reader does ------------------------------------------------------------------

  function toward(chart, key) {
    const [source, step] = places(chart);
    const { xaxis, yaxis } = chart._fullLayout;
    const pixel = (i) => [xaxis.l2p(source[i * step]), yaxis.l2p(source[i * step + 1])];
    const [ux, uy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    const [x, y] = pixel(state.selected);
    const head = heads(chart);
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < n; i++) {
      const [px, py] = pixel(i);
      const along = (px - x) * ux + (py - y) * uy;
      const cost = along + 2.5 * Math.abs((px - x) * uy - (py - y) * ux);
      if (head[i] === i && i !== state.selected && along > 0.01 && cost < least) [best, least] = [i, cost];
    }
    return best;
  }

  function onKey(frame, event) {
    if (event.target !== frame || event.ctrlKey || event.metaKey || event.altKey) return;
    const chart = frame === $("map") ? map : shown().at(-1);
    const zooms = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };
    let next = -1;
    if (event.key.startsWith("Arrow")) next = toward(chart, event.key);
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = n - 1;
    else if (event.key === "Enter") $("near").querySelector("button")?.focus();
    else if (event.key === " ") toggleMark();
    else if (event.key in zooms) torelli.zoom(chart, zooms[event.key]);
    else if (event.key === "0") torelli.redraw(chart);
    else return;
    event.preventDefault();
    if (next < 0) return;
    select(next);
    showTip(chart, next);
  }

  function onBrush(chart, event, { ended }) {
    if (!event) return;
    // Plotly reports a brush late, perhaps after the reader has cleared the highlight or brushes another chart
    if (chart !== brushing) {
      clearBrush(brushing);
      return;
    }
    const rows = new Set(event.points.filter((point) => point.curveNumber === 0).flatMap((point) => together(chart, point.pointIndex)));
    if (!rows.size) {
      // a brush around nothing changes nothing
      if (ended) clearBrush(null);
      return;
    }
    clearBrush(chart);
    pressed(null);
    highlight(rows);
  }

  // a click on the point of the selected network selects the next of those there
  function onClick(chart, event) {
    const { curveNumber, pointIndex } = event.points[0];
    if (curveNumber !== 0) return;
    const members = together(chart, pointIndex);
    select(members[(members.indexOf(state.selected) + 1) % members.length]);
    if (coarse) showTip(chart, pointIndex);
  }

  for (const chart of charts) {
    await torelli.chart(chart, traces(chart), chart === map ? mapLayout : scatterLayout(chart));
    chart.on("plotly_afterplot", () => {
      paint(chart);
      showCounts(chart);
    });
    paint(chart);
    showCounts(chart);
    if (chart === map) chart.on("plotly_relayouting", () => streets.draw(panels(), state.selected));
    chart.on("plotly_click", (event) => onClick(chart, event));
    chart.on("plotly_selecting", (event) => onBrush(chart, event, { ended: false }));
    chart.on("plotly_selected", (event) => onBrush(chart, event, { ended: true }));
    chart.on("plotly_deselect", clear);
    chart.addEventListener("pointerdown", () => { brushing = chart; }, { capture: true });
  }
  const DRAGS = [["lasso", "Lasso"], ["select", "Box"], ["pan", "Move"]];
  for (const [name, title] of [["map", "map"], ["scatter", "by similarity"]]) {
    const frame = $(name);
    if (!frame) continue;
    const all = charts.filter((chart) => (chart === map) === (name === "map"));
    frame.addEventListener("keydown", (event) => onKey(frame, event));
    frame.addEventListener("blur", () => all.forEach((chart) => Plotly.Fx.unhover(chart)));
    const buttons = torelli.controls(title, () => (name === "map" ? map : shown().at(-1)), { drags: DRAGS });
    buttons.addEventListener("drag", ({ detail }) => {
      state.drag[name] = detail;
      for (const chart of all) Plotly.relayout(chart, { dragmode: detail });
    });
    $(`${name}-head`).append(buttons);
  }
  await torelli.chart($("q"), matrixTraces, matrixLayout);
  torelli.onTheme(() => { repaint(); showLegend(); });

  document.addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });
  for (const list of [$("near"), $("same")]) {
    list.addEventListener("click", (event) => {
      const card = event.target.closest("button");
      if (!card) return;
      select(Number(card.dataset.row));
      $("name").focus({ preventScroll: true });
    });
  }
  $("mark").addEventListener("click", toggleMark);
  const exported = torelli.exports(data, arrays);
  const rowsToExport = () => (state.highlighted ? [...state.highlighted].sort((a, b) => a - b) : Array.from({ length: n }, (_, i) => i));
  if (data.lonlat) $("export-geojson").addEventListener("click", () => exported.save("networks.geojson", "application/geo+json", exported.geojson(rowsToExport())));
  else $("export-geojson").remove();
  $("export-csv").addEventListener("click", () => exported.save("networks.csv", "text/csv", exported.csv(rowsToExport())));
  $("export-command").addEventListener("click", () => {
    $("command").textContent = exported.command(rowsToExport());
    $("copy").textContent = "Copy";
    $("made").hidden = false;
  });
  $("copy").addEventListener("click", async () => {
    getSelection().selectAllChildren($("command"));
    const copied = await navigator.clipboard?.writeText($("command").textContent).then(() => true, () => false);
    $("copy").textContent = copied ? "Copied" : "Press Ctrl+C";
  });
  for (const button of document.querySelectorAll("input[name=kernel]")) {
    button.addEventListener("change", () => {
      state.kernel = button.value;
      showKernel();
      showNeighbours();
      showSame(state.selected);
      $("figures").replaceChildren(...figures(state.selected));
      writeAddress();
    });
  }
  $("colour").addEventListener("change", () => {
    state.colour = $("colour").value;
    clearBrush(null);
    painted = marks();
    highlight(null);
    showLegend();
    writeAddress();
  });
  $("city")?.addEventListener("change", () => {
    state.city = $("city").value;
    torelli.redraw(map);
    writeAddress();
  });
  $("elsewhere")?.addEventListener("change", () => {
    showNeighbours();
    ring(...shown());
    writeAddress();
  });
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

  function show() {
    const i = readAddress();
    showKernel();
    showLegend();
    if (map) torelli.redraw(map);
    select(i, { announce: false });
  }
  highlight(null);
  show();
  window.addEventListener("hashchange", show);
  document.documentElement.dataset.ready = "true";
})();
