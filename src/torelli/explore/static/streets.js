"use strict";
// The streets under the markers of the map, drawn for the part that is shown, and scale bars.

// the longest of 1, 2, 5, 10, ... that is not above a length
torelli.roundLength = (most) => {
  const power = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].map((digit) => digit * power).find((length) => length <= most);
};

// A scale bar for a picture whose side is `side` long, and that takes at most `part` of it. In the style sheet,
// --part is the part that it takes.
torelli.scaleBar = (side, unit, part = 0.3) => {
  const length = torelli.roundLength(side * part);
  const bar = document.createElement("span");
  bar.className = "bar";
  const line = document.createElement("i");
  line.style.setProperty("--part", String(length / side));
  bar.append(torelli.length(length, unit), line);
  return bar;
};

torelli.streetMap = (data, arrays, frame, chart) => {
  const [under, above, bars] = ["under", "above", "bars"].map((name) => {
    const made = document.createElement(name === "bars" ? "div" : "canvas");
    made.className = `streets ${name}`;
    return made;
  });
  frame.prepend(under, above);
  frame.append(bars);
  let drawn = "";

  // pixels of map coordinates: x * scale + left, top - y * scale
  function view() {
    const { xaxis, yaxis } = chart._fullLayout;
    const scale = xaxis._length / (xaxis.range[1] - xaxis.range[0]);
    return {
      scale, left: xaxis._offset - xaxis.range[0] * scale,
      top: yaxis._offset + yaxis._length + yaxis.range[0] * (yaxis._length / (yaxis.range[1] - yaxis.range[0])),
      box: [xaxis._offset, yaxis._offset, xaxis._offset + xaxis._length, yaxis._offset + yaxis._length],
    };
  }

  function pen(canvas, { box }) {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [frame.clientWidth, frame.clientHeight];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const found = canvas.getContext("2d");
    found.scale(ratio, ratio);
    found.beginPath();
    found.rect(box[0], box[1], box[2] - box[0], box[3] - box[1]);
    found.clip();
    found.lineCap = "round";
    return found;
  }

  function drawPanels(now, panels, c) {
    const on = pen(under, now);
    on.strokeStyle = c.dark ? "#66758a" : "#8794a5";
    on.lineWidth = Math.min(1.6, Math.max(0.7, now.scale / 400));
    on.beginPath();
    for (const panel of panels) {
      const lines = arrays[`streets.${data.panels.indexOf(panel)}`];
      const step = now.scale / data.grid;
      const [left, top] = [now.left + panel.corner[0] * now.scale, now.top - panel.corner[1] * now.scale];
      for (let k = 0; k < lines.length; k += 4) {
        on.moveTo(left + lines[k] * step, top - lines[k + 1] * step);
        on.lineTo(left + lines[k + 2] * step, top - lines[k + 3] * step);
      }
    }
    on.stroke();
  }

  function drawBars(now, panels) {
    bars.replaceChildren();
    for (const panel of panels) {
      const [left, bottom] = [now.left + panel.corner[0] * now.scale, now.top - panel.corner[1] * now.scale];
      const [low, high] = [Math.max(left, now.box[0]), Math.min(left + now.scale, now.box[2])];
      const [upper, lower] = [Math.max(bottom - now.scale, now.box[1]), Math.min(bottom, now.box[3])];
      if (high - low < 40 || lower - upper < 30) continue;
      const shownSide = (panel.side * (high - low)) / now.scale;
      const bar = torelli.scaleBar(shownSide, panel.unit, Math.min(0.4, 110 / (high - low)));
      bar.style.width = `${high - low}px`;
      bar.style.right = `${frame.clientWidth - high}px`;
      bar.style.bottom = `${frame.clientHeight - lower}px`;
      bars.append(bar);
    }
  }

  // draws again what has changed since the last time: the part that is shown, the theme, the selected network
  function draw(panels, selected) {
    const c = torelli.colours();
    const now = view();
    const key = [now.scale, now.left, now.top, frame.clientWidth, frame.clientHeight, c.dark, panels.map(({ corner }) => corner)].join();
    if (key !== drawn) {
      drawPanels(now, panels, c);
      drawBars(now, panels);
      drawn = key;
    }
    const on = pen(above, now);
    const [west, south, east, north] = arrays.frame.subarray(4 * selected, 4 * selected + 4);
    if (!Number.isFinite(west)) return;
    const part = (name) => arrays[`thumbnail.${name}`];
    const [x, y, first] = [part("x"), part("y"), part("points")[selected]];
    const across = (at) => now.left + (west + ((east - west) * x[at]) / torelli.SIDE) * now.scale;
    const down = (at) => now.top - (north - ((north - south) * y[at]) / torelli.SIDE) * now.scale;
    on.strokeStyle = c.ink;
    on.lineWidth = 1.8;
    on.beginPath();
    for (let k = part("segments")[selected]; k < part("segments")[selected + 1]; k++) {
      const [a, b] = [first + part("tail")[k], first + part("head")[k]];
      on.moveTo(across(a), down(a));
      on.lineTo(across(b), down(b));
    }
    on.stroke();
  }

  return { draw, scale: () => view().scale };
};
