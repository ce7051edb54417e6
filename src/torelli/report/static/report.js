"use strict";
// The charts of a classification, for the kernel and the graph that the reader selects.
(async () => {
  const { data, chart, plain } = torelli;
  const arrays = await torelli.unpack(data.arrays);
  const symbols = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "star", "x"];
  const $ = (id) => document.getElementById(id);
  const nClasses = data.classes.length;
  const many = data.y.length > 300;
  let kernel = Object.keys(data.kernels)[0];
  let chosen = data.kernels[kernel].typical[0][0];

  const colourOf = (label, c) => (data.colours ? data.colours[label] : c.classes[label]);
  const symbolOf = (label) => symbols[label % symbols.length];

  function make(name, properties = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in element) element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  function card(index, text) {
    const label = data.y[index];
    const button = make("button", { type: "button", className: "card", title: data.names[index] },
      torelli.thumbnail(arrays, index, { colours: 12, label: data.names[index] }),
      make("strong", {}, data.names[index]), make("small", {}, swatch(label), ` ${text}`));
    button.addEventListener("click", () => { choose(index); $("graphs").scrollIntoView(); });
    return button;
  }

  // the colour of a class, always beside its name
  function swatch(label) {
    const mark = make("span", { className: "swatch" });
    mark.style.background = data.colours ? data.colours[label] : `var(--class-${label})`;
    return mark;
  }

  function drawAccuracy() {
    const scores = [...data.scores].reverse();
    chart($("accuracy"), (c) => [{
      type: "scatter", mode: "markers", x: scores.map((s) => s.accuracy), y: scores.map((s) => s.name),
      marker: { size: 13, color: scores.map((s) => (s.kernel ? c.classes[0] : c.muted)), symbol: scores.map((s) => (s.kernel ? "circle" : "diamond")) },
      error_x: { type: "data", symmetric: false, array: scores.map((s) => s.high - s.accuracy), arrayminus: scores.map((s) => s.accuracy - s.low), color: c.muted, thickness: 2, width: 6 },
      hovertemplate: scores.map((s) => `${plain(s.name)}: ${s.accuracy.toFixed(1)} % (${s.low.toFixed(1)} to ${s.high.toFixed(1)})<extra></extra>`),
    }], { xaxis: { title: { text: "accuracy, %" }, range: [0, 103] }, yaxis: { type: "category", automargin: true }, margin: { l: 10, r: 15, t: 10, b: 45 }, dragmode: false },
    { name: "accuracies", zooms: false, save: "accuracy" });
  }

  function drawPca() {
    const k = data.kernels[kernel];
    const groups = data.classes.map(() => []);
    data.y.forEach((label, index) => groups[label].push(index));
    chart($("pca"), (c) => [
      ...groups.map((members, label) => ({
        type: "scatter", mode: "markers", name: plain(data.classes[label]), customdata: members,
        x: members.map((i) => k.x[i]), y: members.map((i) => k.y[i]), text: members.map((i) => plain(data.names[i])),
        marker: {
          size: many ? 7 : 9, color: colourOf(label, c), symbol: symbolOf(label), opacity: 0.85,
          line: { width: members.map((i) => (k.predicted[i] === label ? 0.5 : many ? 1 : 2)), color: members.map((i) => (k.predicted[i] === label ? c.surface : c.ink)) },
        },
        hovertemplate: `%{text}<br>${plain(data.classes[label])}<extra></extra>`,
      })),
      { type: "scatter", mode: "markers", x: [k.x[chosen]], y: [k.y[chosen]], showlegend: false, hoverinfo: "skip",
        marker: { size: 20, symbol: "circle-open", color: c.ink, line: { width: 3 } } },
    ], {
      xaxis: { title: { text: `component 1 (${k.share[0]} %)` } }, yaxis: { title: { text: `component 2 (${k.share[1]} %)` } },
      showlegend: nClasses <= 30, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, hovermode: "closest", height: 560,
      margin: { l: 55, r: 10, t: 10, b: 45 },
    }, { name: "graphs by similarity", save: "similarity" });
  }

  function drawConfusion() {
    const k = data.kernels[kernel];
    const shares = k.confusion.map((row) => { const sum = row.reduce((a, b) => a + b, 0) || 1; return row.map((v) => v / sum); });
    const names = data.classes.map((name) => plain(name, 24));
    const places = names.map((_, i) => i);
    chart($("confusion"), (c) => [{
      type: "heatmap", z: shares, zmin: 0, zmax: 1, showscale: false, xgap: 2, ygap: 2,
      colorscale: c.dark ? [[0, "#202a36"], [1, "#2a78ab"]] : [[0, "#eef3f8"], [1, "#00578a"]],
      text: k.confusion.map((row, i) => row.map((v, j) => (v ? `${v}<br>${Math.round(100 * shares[i][j])} %` : "0"))),
      texttemplate: nClasses <= 12 ? "%{text}" : "", hoverongaps: false,
      customdata: k.confusion.map((row, i) => row.map((v, j) => `${v} of class ${names[i]} predicted as ${names[j]}`)),
      hovertemplate: "%{customdata}<extra></extra>",
    }], {
      xaxis: { title: { text: "predicted" }, tickvals: places, ticktext: names, side: "bottom", showgrid: false },
      yaxis: { title: { text: "true" }, tickvals: places, ticktext: names, autorange: "reversed", showgrid: false },
      dragmode: false,
    }, { name: "confusion matrix", zooms: false, save: "confusion" });
  }

  function drawHeat() {
    const k = data.kernels[kernel];
    const bytes = arrays[`heat.${kernel}`];
    const side = Math.round(Math.sqrt(bytes.length));
    const z = [];
    for (let row = 0; row < side; row += 1) {
      z.push(Array.from(bytes.subarray(row * side, (row + 1) * side), (v) => v / 255));
    }
    // bounds of classes, in cells
    const perCell = data.y.length / side;
    const bounds = data.class_ends.map((end) => end / perCell - 0.5);
    const middles = bounds.map((end, i) => ((i ? bounds[i - 1] : -0.5) + end) / 2);
    const names = data.classes.map((name) => plain(name, 24));
    const places = names.map((_, i) => i);
    // classes that are too narrow for a label have none
    let last = -Infinity;
    const labelled = places.filter((i) => {
      const fits = middles[i] - last > side / 24;
      if (fits) last = middles[i];
      return fits;
    });
    const line = (extra) => ({ type: "line", line: { color: "white", width: 1 }, ...extra });
    const end = side - 0.5;
    chart($("heat"), (c) => [{
      type: "heatmap", z, zmin: 0, zmax: Math.max(...bytes) / 255, colorscale: "Viridis", hovertemplate: "k = %{z:.2f}<extra></extra>",
      colorbar: { thickness: 12, outlinewidth: 0, tickfont: { color: c.muted } },
    }], {
      xaxis: { showticklabels: false, showgrid: false, zeroline: false, constrain: "domain", range: [-0.5, end] },
      yaxis: { range: [end, -0.5], showgrid: false, zeroline: false, scaleanchor: "x", constrain: "domain", tickvals: labelled.map((i) => middles[i]), ticktext: labelled.map((i) => names[i]) },
      shapes: bounds.slice(0, -1).flatMap((b) => [line({ x0: b, x1: b, y0: -0.5, y1: end }), line({ y0: b, y1: b, x0: -0.5, x1: end })]),
    }, { name: "kernel matrix", save: "kernel" });
    const block = perCell > 1 ? ` Each cell is the mean of about ${perCell.toFixed(1)} × ${perCell.toFixed(1)} pairs.` : "";
    $("heat-note").textContent = `exp(−γ d²) with γ = ${torelli.number(k.gamma)}; the blocks on the diagonal are pairs of graphs of one class.${block}`;
  }

  function drawSpectrum() {
    const k = data.kernels[kernel];
    const [positive, zero, negative, smallest, tolerance] = k.definiteness;
    const rank = (i) => 1 + Math.round((i * (data.y.length - 1)) / Math.max(k.spectrum.length - 1, 1));
    const pick = (keep) => k.spectrum.map((v, i) => [rank(i), v]).filter(([, v]) => keep(v));
    const up = pick((v) => v > tolerance), down = pick((v) => v < -tolerance);
    chart($("spectrum"), (c) => [
      { type: "scatter", mode: "markers", name: "positive", x: up.map((p) => p[0]), y: up.map((p) => p[1]), marker: { color: c.classes[0], size: 6 },
        hovertemplate: "%{x}: %{y:.3g}<extra></extra>" },
      { type: "scatter", mode: "markers", name: "negative, absolute value", x: down.map((p) => p[0]), y: down.map((p) => -p[1]), marker: { color: c.classes[5], symbol: "x", size: 7 },
        hovertemplate: "%{x}: −%{y:.3g}<extra></extra>" },
    ], { yaxis: { type: "log", title: { text: "|eigenvalue|" }, exponentformat: "power" }, xaxis: { title: { text: "rank" } }, showlegend: negative > 0, legend: { orientation: "h", y: 1.02, yanchor: "bottom" } },
    { name: "eigenvalues", save: "eigenvalues" });
    $("spectrum-note").textContent = negative
      ? `Not positive definite: ${negative} of ${data.y.length} eigenvalues are negative, the smallest ${smallest.toPrecision(3)}. See the option psd of the kernel.`
      : `Positive semi-definite: ${positive} positive eigenvalues, ${zero} zero up to rounding, none negative.`;
  }

  function drawGallery() {
    const k = data.kernels[kernel];
    $("typical").replaceChildren(...k.typical.map((members, label) => make("div", { className: "row" },
      make("h4", {}, swatch(label), ` ${data.classes[label]}`),
      make("div", { className: "cards" }, ...members.map((i) => card(i, `genus ${data.figures[i][0]}`))))));
    $("confused").replaceChildren(...k.confused.map((i) => card(i, k.predicted[i] === data.y[i]
      ? `${data.classes[data.y[i]]}, correct` : `${data.classes[data.y[i]]}, predicted ${data.classes[k.predicted[i]]}`)));
  }

  function drawPanel() {
    const [genus, nodes, edges, length, unit] = data.figures[chosen];
    const rows = Object.values(data.kernels).map((k) => make("tr", {}, make("th", { scope: "row" }, k.label),
      make("td", { className: "class" }, `${k.predicted[chosen] === data.y[chosen] ? "✓" : "✗"} ${data.classes[k.predicted[chosen]]}`),
      make("td", {}, `margin ${k.margin[chosen].toFixed(2)}`)));
    const near = data.kernels[kernel].nearest[chosen].map((i) => {
      const button = make("button", { type: "button", className: "card small", title: `${data.names[i]}, ${data.classes[data.y[i]]}` },
        torelli.thumbnail(arrays, i, { colours: 12, label: data.names[i] }), make("small", {}, swatch(data.y[i]), ` ${data.names[i]}`));
      button.addEventListener("click", () => choose(i));
      return button;
    });
    $("panel").replaceChildren(
      make("h3", {}, swatch(data.y[chosen]), ` ${data.names[chosen]}`),
      torelli.thumbnail(arrays, chosen, { label: `${data.names[chosen]} with its basis cycles coloured` }),
      make("p", { className: "muted" }, [`class ${data.classes[data.y[chosen]]}; genus ${torelli.number(genus)}, ${torelli.number(nodes)} nodes, ${torelli.number(edges)} edges,`,
        ` total length ${torelli.length(length, unit)}${unit ? "" : " (unit not stated)"}`].join("")),
      make("table", {}, make("tbody", {}, ...rows)),
      make("h4", {}, `Most similar by ${data.kernels[kernel].label}`), make("div", { className: "cards near" }, ...near));
    const pair = torelli.pairs(arrays, chosen)[0];
    $("why").replaceChildren(...(pair === undefined ? [] : [
      make("h3", {}, `Why ${data.names[chosen]} and ${data.names[arrays["pair.other"][pair]]}, the nearest by ${data.kernels.ttm.label}, are alike`),
      make("div", { className: "comparisons" }, ...torelli.comparison(arrays, chosen, pair, data.names))]));
    $("graph").value = String(chosen);
  }

  function choose(index) {
    chosen = index;
    drawPca();
    drawPanel();
  }

  function drawKernel() {
    drawPca(); drawPanel(); drawConfusion(); drawHeat(); drawSpectrum(); drawGallery();
  }

  const order = data.names.map((_, i) => i).sort((a, b) => data.y[a] - data.y[b] || a - b);
  const lists = data.classes.map((name) => make("optgroup", { label: name }));
  for (const i of order) lists[data.y[i]].append(make("option", { value: String(i) }, data.names[i]));
  $("graph").append(...lists);
  $("graph").addEventListener("change", (event) => choose(Number(event.target.value)));
  const step = (by) => () => choose(order[(order.indexOf(chosen) + by + order.length) % order.length]);
  $("previous").addEventListener("click", step(-1));
  $("next").addEventListener("click", step(1));
  $("kernel").addEventListener("change", (event) => { kernel = event.target.value; drawKernel(); });

  drawAccuracy();
  drawKernel();
  $("pca").on("plotly_click", (event) => {
    const index = event.points[0].customdata;
    if (index !== undefined) choose(index);
  });
})();
