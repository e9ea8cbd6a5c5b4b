"use strict";
// The page holds the weights as square roots in 8 bits, compressed; `about` says how to read them.
const about = JSON.parse(document.getElementById("about").textContent);
const rows = about.queries.length, columns = about.keys.length;
const $ = (id) => document.getElementById(id);
const state = { layer: 0, head: 0, query: rows - 1, key: 0 };
let data = null;

// Two maps of one hue each. Lightness runs evenly from paper to ink, so they read the same to every kind of colour vision.
const STOPS = {
  light: [[255, 255, 255], [198, 219, 239], [107, 174, 214], [33, 113, 181], [8, 38, 90]],
  dark: [[20, 22, 27], [70, 55, 20], [140, 105, 20], [215, 165, 50], [255, 240, 190]],
};
let colours = [];

function makeColours(theme) {
  const stops = STOPS[theme];
  colours = Array.from({ length: 256 }, (_, step) => {
    const place = (step / 255) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((from, band) => Math.round(from + (stops[low + 1][band] - from) * (place - low)));
  });
}

async function inflate(text) {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function root(layer, head, query, key) {
  // Where every map is a lower triangle, only that is stored.
  if (about.triangular && key > query) return 0;
  const size = about.triangular ? (rows * (rows + 1)) / 2 : rows * columns;
  const start = (about.layers[layer].first + head) * size + (about.triangular ? (query * (query + 1)) / 2 : query * columns);
  return data[start + key] / about.levels;
}
const weight = (layer, head, query, key) => root(layer, head, query, key) ** 2;
const shown = (number) => number.toFixed(3);
const colour = (part) => colours[Math.max(0, Math.min(255, Math.round(part * 255)))];
const css = (part) => `rgb(${colour(part).join(" ")})`;

function inkOn(part) {
  const [red, green, blue] = colour(part).map((band) => ((band /= 255) <= 0.04045 ? band / 12.92 : ((band + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
}

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text !== null) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

// ## Thumbnails
function drawThumb(canvas, layer, head) {
  const wide = Math.min(64, columns), high = Math.min(64, rows);
  canvas.width = wide; canvas.height = high;
  const picture = new ImageData(wide, high);
  // A thumbnail shows the largest weight of each of its places: a thin line must not vanish.
  const largest = new Float32Array(wide * high);
  for (let query = 0; query < rows; query++) {
    const line = Math.floor((query * high) / rows) * wide;
    for (let key = 0; key < columns; key++) {
      const place = line + Math.floor((key * wide) / columns), value = root(layer, head, query, key);
      if (value > largest[place]) largest[place] = value;
    }
  }
  largest.forEach((value, place) => picture.data.set([...colour(value), 255], place * 4));
  canvas.getContext("2d").putImageData(picture, 0, 0);
}

function makeThumbs() {
  about.layers.forEach((layer, index) => {
    const group = element("div", null, $("thumbs"));
    group.className = "layer";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", `Layer ${index}, ${layer.name}`);
    const label = element("span", String(index), group);
    label.title = layer.name;
    for (let head = 0; head < layer.heads; head++) {
      const button = element("button", null, group);
      button.type = "button";
      button.setAttribute("aria-label", `Layer ${index}, head ${head}`);
      button.title = `Layer ${index}, head ${head}`;
      Object.assign(button.dataset, { layer: index, head });
      element("canvas", null, button);
      button.addEventListener("click", () => choose({ layer: index, head }));
    }
  });
  $("thumbs").addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const layer = clamp(state.layer + step[0], about.layers.length);
    choose({ layer, head: clamp(state.head + step[1], about.layers[layer].heads) });
    thumb().focus();
  });
}
const clamp = (number, size) => Math.max(0, Math.min(size - 1, number));
const thumb = () => document.querySelector(`[data-layer="${state.layer}"][data-head="${state.head}"]`);

// ## The large map
function drawMap() {
  const canvas = $("cells"), scale = window.devicePixelRatio || 1;
  const wide = Math.round($("map").clientWidth * scale), labels = columns <= 48 && rows <= 48 ? Math.round(56 * scale) : 0;
  const cell = (wide - labels) / columns;
  canvas.width = wide; canvas.height = Math.round(labels + cell * rows);
  const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  pen.clearRect(0, 0, wide, canvas.height);
  for (let query = 0; query < rows; query++) for (let key = 0; key < columns; key++) {
    const part = root(state.layer, state.head, query, key), [left, top] = [labels + key * cell, labels + query * cell];
    pen.fillStyle = css(part);
    pen.fillRect(left, top, cell + 0.5, cell + 0.5);
    if (cell > 28 * scale && part > 0) write(pen, weight(state.layer, state.head, query, key).toFixed(2).replace(/^0/, ""), left + cell / 2, top + cell / 2, inkOn(part), "center", cell * 0.34);
  }
  const ink = style.getPropertyValue("--ink"), size = Math.min(cell * 0.8, 14 * scale);
  if (labels) about.queries.forEach((text, query) => write(pen, text, labels - 4, labels + (query + 0.5) * cell, ink, "right", size, labels - 6));
  if (labels) about.keys.forEach((text, key) => {
    pen.save(); pen.translate(labels + (key + 0.5) * cell, labels - 4); pen.rotate(-Math.PI / 2);
    write(pen, text, 0, 0, ink, "left", size, labels - 6); pen.restore();
  });
  pen.strokeStyle = style.getPropertyValue("--mark"); pen.lineWidth = 2 * scale;
  pen.strokeRect(labels + 1, labels + state.query * cell, columns * cell - 2, cell);
  pen.strokeRect(labels + state.key * cell, labels + state.query * cell, cell, cell);
  $("map").dataset.geometry = JSON.stringify([labels / scale, cell / scale]);
}

function write(pen, text, left, top, ink, align, size, most) {
  pen.fillStyle = ink; pen.textAlign = align; pen.textBaseline = "middle"; pen.direction = "ltr";
  pen.font = `${size}px ui-monospace, monospace`;
  pen.fillText(text, left, top, most);
}

function listenToMap() {
  const map = $("map");
  const at = (event) => {
    const [labels, cell] = JSON.parse(map.dataset.geometry), box = map.getBoundingClientRect();
    const query = Math.floor((event.clientY - box.top - labels) / cell), key = Math.floor((event.clientX - box.left - labels) / cell);
    if (query >= 0 && query < rows && key >= 0 && key < columns) choose({ query, key });
  };
  map.addEventListener("pointermove", at);
  map.addEventListener("pointerdown", at);
  map.addEventListener("keydown", (event) => move(event, { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }));
  $("queries").addEventListener("keydown", (event) => move(event, { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [-rows, 0], End: [rows, 0] }));
  window.addEventListener("resize", drawMap);
}

function move(event, steps) {
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  choose({ query: clamp(state.query + step[0], rows), key: clamp(state.key + step[1], columns) });
}

// ## Text and tables
function makeStrips() {
  about.queries.forEach((text, query) => {
    const option = element("span", text, $("queries"));
    Object.assign(option, { id: `query-${query}`, dir: "auto", title: `query ${query}` });
    option.setAttribute("role", "option");
    option.setAttribute("aria-label", `${query}: ${text}`);
    option.addEventListener("click", () => choose({ query }));
  });
  about.keys.forEach((text) => {
    const item = element("span", text, $("keys"));
    item.dir = "auto";
    item.setAttribute("role", "listitem");
  });
}

function best(query, count) {
  const found = about.keys.map((text, key) => ({ key, text, weight: weight(state.layer, state.head, query, key) }));
  return found.filter((each) => each.weight > 0).sort((one, other) => other.weight - one.weight).slice(0, count);
}

function fill(table, titles, lines) {
  table.replaceChildren();
  const head = element("tr", null, element("thead", null, table)), body = element("tbody", null, table);
  titles.forEach((title) => { element("th", title, head).scope = "col"; });
  lines.forEach((line) => {
    const row = element("tr", null, body);
    titles.forEach((title, column) => {
      const entry = line[column] ?? "";
      if (typeof entry === "string") element("bdi", entry, element("td", null, row)).dir = "auto";
      else element("td", typeof entry === "number" ? String(entry) : shown(entry.weight), row).className = "number";
    });
  });
}

function drawText() {
  const { layer, head, query, key } = state;
  document.querySelectorAll("#queries > *").forEach((option, index) => option.setAttribute("aria-selected", String(index === query)));
  $("queries").setAttribute("aria-activedescendant", `query-${query}`);
  document.querySelectorAll("#keys > *").forEach((item, index) => {
    const part = root(layer, head, query, index);
    Object.assign(item.style, { background: css(part), color: inkOn(part) });
    item.title = `key ${index}: ${shown(part ** 2)}`;
  });
  $("keys-title").textContent = `Keys, coloured by the weight that query ${query} gives them`;
  // Isolating characters keep a word that runs from right to left from turning the rest of the sentence.
  $("status").textContent = `Query ${query} “\u2068${about.queries[query]}\u2069” gives key ${key} “\u2068${about.keys[key]}\u2069” the weight ${shown(weight(layer, head, query, key))}.`;
  fill($("top"), ["key", "token", "weight"], best(query, 8).map((each) => [each.key, each.text, each]));
}

function drawTable() {
  if (!$("all").open) return;
  const lines = about.queries.map((text, query) => [query, text, ...best(query, 3).flatMap((each) => [each.text, each])]);
  fill($("all").querySelector("table"), ["query", "token", "1st key", "weight", "2nd key", "weight", "3rd key", "weight"], lines);
}

// ## Everything together
function choose(change) {
  const other = "layer" in change && (change.layer !== state.layer || change.head !== state.head);
  Object.assign(state, change);
  show(other);
}

function show(all) {
  if (all) {
    document.querySelectorAll("#thumbs button").forEach((button) => {
      const chosen = Number(button.dataset.layer) === state.layer && Number(button.dataset.head) === state.head;
      button.setAttribute("aria-pressed", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    });
    $("map-title").textContent = `Layer ${state.layer}, head ${state.head}`;
    drawTable();
  }
  drawMap();
  drawText();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = theme === "dark" ? "Switch to light" : "Switch to dark";
  makeColours(theme);
  document.querySelectorAll("#thumbs button").forEach((button) => drawThumb(button.firstChild, Number(button.dataset.layer), Number(button.dataset.head)));
  const bar = document.querySelector("#legend canvas").getContext("2d");
  for (let step = 0; step < 256; step++) { bar.fillStyle = css(Math.sqrt(step / 255)); bar.fillRect(step, 0, 1, 1); }
  show(true);
}

async function start() {
  if (!("DecompressionStream" in window)) throw new Error("this browser cannot decompress the maps; a browser from 2023 or later can");
  data = await inflate($("weights").textContent);
  makeThumbs();
  makeStrips();
  listenToMap();
  $("all").addEventListener("toggle", drawTable);
  $("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  performance.mark("ready");
  document.body.dataset.ready = "true";
}
start().catch((error) => { $("status").textContent = `The maps cannot be shown: ${error.message}.`; });
