"use strict";
// The explorer of an index: points on canvases, everything else is asked for when a network is selected.
(async () => {
  const data = torelli.data;
  const $ = (id) => document.getElementById(id);
  const arrays = await torelli.unpack(data.arrays);
  const { number, length } = torelli;
  const state = { selected: -1, near: [] };

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // ---- what the server is asked --------------------------------------------------------------

  const kept = new Map();

  async function ask(path) {
    const response = await fetch(path);
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }

  // networks that were asked for stay in memory; the oldest are dropped
  function network(row) {
    if (!kept.has(row)) {
      kept.set(row, ask(`network/${row}`).then(async (found) => ({ ...found, drawing: await torelli.unpack(found.drawing) })));
      if (kept.size > 500) kept.delete(kept.keys().next().value);
    }
    return kept.get(row);
  }

  // ---- charts --------------------------------------------------------------------------------

  const colourOf = (row, c) => (data.classes.length ? c.classes[arrays.class[row] % 8] : c.accent);

  // a view shows the unit square: pixel = offset + scale * place, with y upwards
  function makeChart(name) {
    const frame = $(name);
    const canvas = frame.querySelector("canvas");
    const places = arrays[name];
    const view = { scale: 1, x: 0, y: 0 };
    const across = (row) => view.x + view.scale * places[2 * row];
    const down = (row) => view.y - view.scale * places[2 * row + 1];

    function whole() {
      let [right, top] = [0, 0];
      for (let row = 0; row < data.n; row++) {
        if (places[2 * row] > right) right = places[2 * row];
        if (places[2 * row + 1] > top) top = places[2 * row + 1];
      }
      const [width, height] = [frame.clientWidth, frame.clientHeight];
      view.scale = 0.94 * Math.min(width / (right || 1), height / (top || 1));
      view.x = (width - view.scale * right) / 2;
      view.y = (height + view.scale * top) / 2;
    }

    function ring(on, row, radius, colour, thick) {
      if (!Number.isFinite(places[2 * row])) return;
      on.beginPath();
      on.arc(across(row), down(row), radius, 0, 2 * Math.PI);
      on.strokeStyle = colour;
      on.lineWidth = thick;
      on.stroke();
    }

    function draw() {
      const c = torelli.colours();
      const [width, height, ratio] = [frame.clientWidth, frame.clientHeight, window.devicePixelRatio || 1];
      if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
      if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
      const on = canvas.getContext("2d");
      on.setTransform(ratio, 0, 0, ratio, 0, 0);
      on.clearRect(0, 0, width, height);
      const size = Math.min(7, Math.max(1.5, (0.6 * view.scale) / Math.sqrt(data.n)));
      on.globalAlpha = data.n > 5000 ? 0.7 : 0.9;
      // one colour after the other: changing the colour is slow
      const kinds = data.classes.length ? data.classes.length + 1 : 1;
      for (let kind = 0; kind < kinds; kind++) {
        on.fillStyle = data.classes.length ? (kind < data.classes.length ? c.classes[kind % 8] : c.muted) : c.accent;
        for (let row = 0; row < data.n; row++) {
          if (kinds > 1 && arrays.class[row] !== kind) continue;
          const [x, y] = [across(row), down(row)];
          if (x >= 0 && y >= 0 && x <= width && y <= height) on.fillRect(x - size / 2, y - size / 2, size, size);
        }
      }
      on.globalAlpha = 1;
      for (const row of state.near) ring(on, row, 7, c.ink, 1.5);
      if (state.selected >= 0) {
        ring(on, state.selected, 10, c.surface, 6);
        ring(on, state.selected, 10, c.ink, 3);
      }
    }

    let waiting = false;
    function soon() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        draw();
      });
    }

    function zoom(factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) {
      view.scale *= factor;
      view.x = x - factor * (x - view.x);
      view.y = y - factor * (y - view.y);
      soon();
    }

    function at(x, y) {
      let [best, least] = [-1, 12 ** 2];
      for (let row = 0; row < data.n; row++) {
        const squared = (across(row) - x) ** 2 + (down(row) - y) ** 2;
        if (squared < least) [best, least] = [row, squared];
      }
      return best;
    }

    let start = null;
    canvas.addEventListener("pointerdown", (event) => {
      start = { x: event.offsetX, y: event.offsetY, moved: false, view: { ...view } };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!start) return;
      const [dx, dy] = [event.offsetX - start.x, event.offsetY - start.y];
      start.moved ||= Math.hypot(dx, dy) > 4;
      if (!start.moved) return;
      [view.x, view.y] = [start.view.x + dx, start.view.y + dy];
      soon();
    });
    canvas.addEventListener("pointerup", (event) => {
      const clicked = start && !start.moved;
      start = null;
      const row = clicked ? at(event.offsetX, event.offsetY) : -1;
      if (row >= 0) select(row);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false });
    frame.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
      const zooms = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in steps) {
        view.x += steps[event.key][0];
        view.y += steps[event.key][1];
      } else if (event.key in zooms) zoom(zooms[event.key]);
      else if (event.key === "0") whole();
      else return;
      event.preventDefault();
      soon();
    });
    new ResizeObserver(() => { whole(); soon(); }).observe(frame);
    whole();
    return { draw: soon };
  }

  // ---- the selected network ------------------------------------------------------------------

  function showFigures({ figures, facts }) {
    const rows = [
      ["nodes", number(figures.nodes)], ["edges", number(figures.edges)], ["genus", number(figures.genus)],
      ["bridges", number(figures.bridges)], ["total length", length(figures.length, figures.unit)], ...Object.entries(facts),
    ];
    $("figures").replaceChildren(...rows.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, value))));
  }

  async function card(row, distance) {
    const found = await network(row);
    const text = (kind, part) => element("span", { class: kind, dir: "auto" }, part);
    const far = distance === null ? "∞" : number(distance);
    const button = element("button", { type: "button", class: "card", "data-row": row },
      element("span", { class: "network" }, torelli.thumbnail(found.drawing, 0, { colours: 12 })),
      text("name", found.name), text("meta", found.facts.label ?? `genus ${number(found.figures.genus)}`), text("meta", `d = ${far}`));
    return element("li", {}, button);
  }

  async function select(row) {
    state.selected = row;
    state.near = [];
    charts.forEach((chart) => chart.draw());
    history.replaceState(null, "", `#row=${row}`);
    try {
      const found = await network(row);
      if (state.selected !== row) return;
      $("name").textContent = found.name;
      $("network").replaceChildren(torelli.thumbnail(found.drawing, 0, { label: `Drawing of ${found.name}` }));
      showFigures(found);
      $("live").textContent = `${found.name} selected, genus ${found.figures.genus}`;
      $("near-note").textContent = "searching …";
      const near = await ask(`near/${row}`);
      const cards = await Promise.all(near.rows.map((other, at) => card(other, near.distances[at])));
      if (state.selected !== row) return;
      state.near = near.rows;
      $("near").replaceChildren(...cards);
      $("near-note").textContent = `${number(near.computed)} of ${number(near.distinct)} distances computed`;
      charts.forEach((chart) => chart.draw());
    } catch (error) {
      $("near-note").textContent = `The server did not answer: ${error.message}`;
    }
  }

  const charts = data.charts.map(makeChart);
  torelli.onTheme(() => { charts.forEach((chart) => chart.draw()); showLegend(); });

  function showLegend() {
    const c = torelli.colours();
    $("legend").replaceChildren(...data.classes.map((name, kind) => {
      const dot = element("i");
      dot.style.background = c.classes[kind % 8];
      return element("li", {}, dot, element("bdi", {}, name));
    }));
  }

  // ---- search by name ------------------------------------------------------------------------

  let asked = 0;
  $("find").addEventListener("input", async () => {
    const turn = (asked += 1);
    const found = await ask(`find?text=${encodeURIComponent($("find").value)}`);
    if (turn !== asked) return;
    $("found").replaceChildren(...found.map(({ row, name }) => element("li", {}, element("button", { type: "button", "data-row": row }, name))));
  });
  $("toolbar").addEventListener("submit", (event) => {
    event.preventDefault();
    $("found").querySelector("button")?.click();
  });
  for (const list of [$("near"), $("found")]) {
    list.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) select(Number(button.dataset.row));
    });
  }

  showLegend();
  const wanted = Number(new URLSearchParams(window.location.hash.slice(1)).get("row") ?? 0);
  await select(Number.isInteger(wanted) && wanted >= 0 && wanted < data.n ? wanted : 0);
  document.documentElement.dataset.ready = "true";
})();
