"use strict";
// What can be taken out of the explorer: networks as GeoJSON or CSV, and the command that makes their page.
torelli.exports = (data, arrays) => {
  const row = (i) => data.rows?.[i] ?? i;
  const named = (kinds, i) => (kinds ? kinds.names[kinds.of[i]] : undefined);

  function properties(i) {
    const f = data.figures;
    const [lon, lat] = data.lonlat?.[i] ?? [undefined, undefined];
    const found = {
      row: row(i), name: data.names[i], class: named(data.classes, i), city: named(data.cities, i), longitude: lon, latitude: lat,
      nodes: f.nodes[i], edges: f.edges[i], genus: f.genus[i], bridges: f.bridges[i], length: f.length[i], unit: f.unit[i] || undefined,
    };
    for (const { key } of data.kernels) found[`cluster_${key}`] = arrays[`${key}.cluster`][i] + 1;
    return found;
  }

  // the streets of a network as its drawing has them, in longitude and latitude
  function lines(i) {
    const frame = data.frames?.[i];
    const part = (name) => arrays[`thumbnail.${name}`];
    const [first, start, end] = [part("points")[i], part("segments")[i], part("segments")[i + 1]];
    if (!frame || start === end) return null;
    const [west, south, east, north] = frame;
    const place = (at) => [west + ((east - west) * part("x")[at]) / torelli.SIDE, north - ((north - south) * part("y")[at]) / torelli.SIDE]
      .map((value) => Number(value.toFixed(7)));
    const coordinates = [];
    for (let k = start; k < end; k++) coordinates.push([place(first + part("tail")[k]), place(first + part("head")[k])]);
    return { type: "MultiLineString", coordinates };
  }

  function geojson(rows) {
    const features = rows.map((i) => {
      const point = data.lonlat?.[i] ? { type: "Point", coordinates: data.lonlat[i] } : null;
      return { type: "Feature", id: row(i), properties: { ...properties(i), simplified: data.simplified.includes(i) }, geometry: lines(i) ?? point };
    });
    return JSON.stringify({ type: "FeatureCollection", features });
  }

  function csv(rows) {
    const records = rows.map(properties);
    const columns = Object.keys(records[0]).filter((name) => records.some((record) => record[name] !== undefined));
    const cell = (value) => {
      const text = String(value ?? "");
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [columns, ...records.map((record) => columns.map((name) => record[name]))]
      .map((values) => `${values.map(cell).join(",")}\r\n`).join("");
  }

  // 0, 1, 2, 7 as 0-2,7
  function ranges(rows) {
    const sorted = rows.map(row).sort((a, b) => a - b);
    const found = [];
    for (const at of sorted) {
      if (found.length && at === found.at(-1)[1] + 1) found.at(-1)[1] = at;
      else found.push([at, at]);
    }
    return found.map(([low, high]) => (low === high ? `${low}` : `${low}-${high}`)).join(",");
  }

  // of an option that is given twice, the last one counts
  function command(rows) {
    if (data.command) return `${data.command} --rows ${ranges(rows)} --out selection.html`;
    return `explorer_page(networks.take([${rows.map(row).sort((a, b) => a - b).join(", ")}]))`;
  }

  function save(name, kind, text) {
    const address = URL.createObjectURL(new Blob([text], { type: kind }));
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  return { geojson, csv, command, save };
};
