/** The GPUs over time: bars on a canvas, which draws twenty thousand in a moment, and a table. */

import { clock, day, number, now, percent, span } from "./data.js";
import { byId, choice, colours, el, fill, table } from "./elements.js";

/**
 * @typedef {import("./data.js").Chart} Chart
 * @typedef {{row: number, begin: number, end: number, live: boolean, user: string|null,
 *   colour: number, name: string, kind: string, idle: [number, number][], lane: number, lanes: number}} Bar
 * a bar or a trouble; times in milliseconds; the lane of several that lie side by side, from above
 */

const ROW = 22;
const BAR = ROW - 4;
const AXIS = 18;
const LISTED = 100;
const HOUR = 3_600_000;

/** @type {Chart|undefined} */
let chart;
/** @type {import("./data.js").Gpu[]} */
let gpus = [];
/** @type {Bar[][]} each row's, the earliest first */
let rows = [];
/** @type {Bar[]} */
let booked = [];
/** @type {string[]} */
let labels = [];
/** @type {Bar|undefined} */
let selected;
let hours = 168;
let asTable = false;
let listed = LISTED;

const canvas = el("canvas", {
  tabindex: "0",
  role: "application",
  "aria-roledescription": "chart",
  "aria-label": "Leases of each GPU over time. Arrow keys go from lease to lease, up and down from GPU to GPU.",
  "aria-describedby": "chart-detail",
});
const detail = el("p", { id: "chart-detail", role: "status" });
const legend = el("ul", { class: "legend", "aria-label": "Colours" });
const list = el("div", { class: "list" });
const HINT = "Select a bar with the mouse, a finger or the arrow keys.";

/** @param {(hours: number) => void} reload loads a chart of so many hours */
export function makeChart(reload) {
  byId("chart").append(
    el(
      "div",
      { class: "controls" },
      choice(
        "Time",
        [
          ["24", "24 h"],
          ["168", "7 d"],
          ["720", "30 d"],
        ],
        String(hours),
        (value) => {
          hours = Number(value);
          reload(hours);
        },
      ),
      choice(
        "Form",
        [
          ["drawing", "Drawing"],
          ["table", "Table"],
        ],
        "drawing",
        (value) => {
          asTable = value === "table";
          show();
        },
      ),
    ),
    legend,
    canvas,
    detail,
    list,
  );
  canvas.addEventListener("keydown", move);
  canvas.addEventListener("pointermove", (event) => event.pointerType === "mouse" && point(event));
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("focus", draw);
  canvas.addEventListener("blur", draw);
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

/** How many hours are shown. */
export function chartHours() {
  return hours;
}

/**
 * @param {Chart} next
 * @param {import("./data.js").Gpu[]} present the GPUs of the host, each of which has a row
 */
export function showChart(next, present) {
  chart = next;
  gpus = present;
  prepare();
  show();
}

/** Moves the end of what lives to the present. */
export function advanceChart() {
  if (chart !== undefined) {
    prepare();
    draw();
  }
}

function prepare() {
  if (chart === undefined) {
    return;
  }
  const from = Date.parse(chart.from);
  const places = new Map(gpus.map((gpu, i) => [gpu.uuid, i]));
  const gone = chart.gpus.filter((uuid) => !places.has(uuid));
  labels = [...gpus.map((gpu) => number(gpu)), ...gone.map((uuid) => uuid.slice(0, 12))];
  gone.forEach((uuid, i) => places.set(uuid, gpus.length + i));
  const row = chart.gpus.map((uuid) => places.get(uuid) ?? 0);
  const names = chart.users.map((user) => user.user);
  const colour = colours(names);
  /** @type {Bar[][]} */
  const next = labels.map(() => []);
  for (const [, gpu, user, name, begin, end, idle] of chart.leases) {
    const who = user === null ? null : (names[user] ?? null);
    next[row[gpu] ?? 0]?.push({
      row: row[gpu] ?? 0,
      begin: from + begin * 1000,
      end: end === null ? now() : from + end * 1000,
      live: end === null,
      user: who,
      colour: who === null ? 0 : (colour.get(who) ?? 0),
      name: name === null ? "" : (chart.names[name] ?? ""),
      kind: "held",
      idle: idle.map(([one, other]) => [from + one * 1000, from + other * 1000]),
      lane: 0,
      lanes: 1,
    });
  }
  for (const [gpu, state, user, begin, end] of chart.troubles) {
    next[row[gpu] ?? 0]?.push({
      row: row[gpu] ?? 0,
      begin: from + begin * 1000,
      // It is looked at once a minute.
      end: from + end * 1000 + 60_000,
      live: false,
      user,
      colour: 0,
      name: "",
      kind: state,
      idle: [],
      lane: 0,
      lanes: 1,
    });
  }
  for (const [gpu, user, begin, end] of chart.bookings) {
    next[row[gpu] ?? 0]?.push({
      row: row[gpu] ?? 0,
      begin: from + begin * 1000,
      end: from + end * 1000,
      live: false,
      user,
      colour: 0,
      name: "",
      kind: "booked",
      idle: [],
      lane: 0,
      lanes: 1,
    });
  }
  for (const bars of next) {
    bars.sort((one, other) => one.begin - other.begin);
    layOut(bars.filter((bar) => bar.kind === "held"));
  }
  const before = selected;
  rows = next;
  booked = rows.flat().filter((bar) => bar.kind === "booked");
  selected =
    before &&
    rows[before.row]?.find(
      (bar) => bar.begin === before.begin && bar.kind === before.kind && bar.lane === before.lane,
    );
}

/**
 * Lays those out side by side that hold a GPU together.
 *
 * @param {Bar[]} bars the earliest first
 */
function layOut(bars) {
  /** @type {Bar[]} */
  let together = [];
  /** @type {number[]} the end of each lane's last bar */
  let ends = [];
  for (const bar of bars) {
    if (bar.begin >= Math.max(...ends)) {
      together = [];
      ends = [];
    }
    const free = ends.findIndex((end) => end <= bar.begin);
    bar.lane = free < 0 ? ends.length : free;
    ends[bar.lane] = bar.end;
    together.push(bar);
    const changed = free < 0 ? together : [bar];
    changed.forEach((each) => (each.lanes = ends.length));
  }
}

/**
 * @param {Bar} bar
 * @returns how far below the edge of its row a bar begins, and its height
 */
function place(bar) {
  return { top: 2 + (BAR / bar.lanes) * bar.lane, height: BAR / bar.lanes };
}

function show() {
  if (chart === undefined) {
    return;
  }
  canvas.hidden = asTable;
  detail.hidden = asTable;
  list.hidden = !asTable;
  showLegend();
  if (asTable) {
    listed = LISTED;
    showList();
  } else {
    list.replaceChildren();
    describe();
    draw();
  }
}

function showLegend() {
  const colour = colours(chart?.users.map((user) => user.user) ?? []);
  const shown = [...colour].slice(0, 12);
  const key = (/** @type {string} */ kind, /** @type {string} */ text) =>
    el("li", {}, el("span", { class: `key ${kind}`, "aria-hidden": "true" }), text);
  fill(
    legend,
    ...(shown.length > 0 ? shown.map(([user, place]) => key(`u${place}`, user)) : [key("u0", "held")]),
    colour.size > shown.length && el("li", {}, `and ${colour.size - shown.length} more`),
    key("idle", "held but idle"),
    key("unmanaged", "used without a lease"),
    key("out", "cordoned or sick"),
    (chart?.bookings.length ?? 0) > 0 && key("booked", "booked"),
    chart?.complete === false && el("li", { class: "soon" }, `only the latest ${chart.leases.length} leases`),
  );
}

/** The beginning and the width of what is shown, in milliseconds: bookings reach into the future. */
function range() {
  const past = hours * HOUR;
  const ahead = Math.max(0, ...booked.map((bar) => bar.end - now()));
  return { from: now() - past, width: past + Math.min(ahead, past / 2) };
}

/** How many columns the labels take. */
function margin() {
  return 8 + 7 * Math.max(...labels.map((label) => label.length), 2);
}

function draw() {
  if (chart === undefined || asTable || canvas.clientWidth === 0) {
    return;
  }
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = AXIS + ROW * rows.length;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  if (context === null) {
    return;
  }
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  context.font = `12px ${style.fontFamily}`;
  context.textBaseline = "middle";
  const { from, width: time } = range();
  const left = margin();
  const x = (/** @type {number} */ at) =>
    left + Math.max(0, Math.min(1, (at - from) / time)) * (width - left - 1);
  drawAxis(context, colour, x, left, width, height);
  const palette = Array.from({ length: 8 }, (_, i) => ({ fill: colour(`u${i}`), text: colour(`u${i}t`) }));
  const hatch = pattern(context, colour("page"), "diagonal");
  const patterns = {
    unmanaged: { fill: colour("bad"), hatch: pattern(context, colour("page"), "cross") },
    out: { fill: colour("out"), hatch: pattern(context, colour("page"), "upright") },
  };
  rows.forEach((bars, i) => {
    /** @type {number[]} up to where each lane is drawn */
    const drawn = [];
    for (const bar of bars.filter((each) => each.kind !== "booked")) {
      const x0 = x(bar.begin);
      const x1 = Math.max(x(bar.end), x0 + 1);
      // Several in one column of points cannot be distinguished.
      const before = drawn[bar.lane] ?? -1;
      if (bar.end < from || x1 <= before) {
        continue;
      }
      drawn[bar.lane] = Math.max(before, Math.floor(x1 * scale) / scale);
      const { top, height: high } = place(bar);
      const y = AXIS + ROW * i + top;
      const isHeld = bar.kind === "held";
      const look = isHeld
        ? { fill: palette[bar.colour]?.fill ?? "", hatch }
        : bar.kind === "unmanaged"
          ? patterns.unmanaged
          : patterns.out;
      const gap = x1 - x0 > 3 ? 0.5 : 0;
      context.fillStyle = look.fill;
      context.fillRect(x0, y, x1 - x0 - gap, high);
      if (look.hatch !== null) {
        context.fillStyle = look.hatch;
        for (const [one, other] of isHeld ? bar.idle : [[bar.begin, bar.end]]) {
          context.fillRect(x(one ?? 0), y, x(other ?? 0) - x(one ?? 0) - gap, high);
        }
      }
      if (bar.lanes === 1 && x1 - x0 > 44 && bar.user !== null) {
        const room = Math.floor((x1 - x0 - 8) / 7);
        const text = bar.user.length > room ? `${bar.user.slice(0, room - 1)}…` : bar.user;
        const plate = context.measureText(text).width + 6;
        context.fillStyle = look.fill;
        context.fillRect(x0, y, plate + 2, high);
        context.fillStyle = isHeld ? (palette[bar.colour]?.text ?? "") : colour("page");
        context.fillText(text, x0 + 5, y + ROW / 2 - 1.5);
      }
    }
  });
  // Around what is held at that time.
  for (const bar of booked.filter((each) => each.begin < from + time)) {
    const x0 = x(bar.begin);
    const x1 = Math.max(x(bar.end), x0 + 4);
    context.strokeStyle = colour("text");
    context.lineWidth = 1;
    context.setLineDash([4, 2]);
    context.strokeRect(x0 + 1, AXIS + ROW * bar.row + 2.5, x1 - x0 - 2, ROW - 5);
    context.setLineDash([]);
    if (bar.begin > now() && x1 - x0 > 44 && bar.user !== null) {
      const room = Math.floor((x1 - x0 - 8) / 7);
      context.fillStyle = colour("text");
      context.fillText(
        bar.user.length > room ? `${bar.user.slice(0, room - 1)}…` : bar.user,
        x0 + 5,
        AXIS + ROW * bar.row + ROW / 2 + 0.5,
      );
    }
  }
  if (selected !== undefined) {
    context.strokeStyle = colour("text");
    context.lineWidth = 2;
    const x0 = x(selected.begin);
    const { top, height: high } = place(selected);
    const y = AXIS + ROW * selected.row + top;
    context.strokeRect(x0 - 1, y - 1, Math.max(4, x(selected.end) - x0 + 2), high + 2);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {(name: string) => string} colour
 * @param {(at: number) => number} x
 * @param {number} left
 * @param {number} width
 * @param {number} height
 */
function drawAxis(context, colour, x, left, width, height) {
  context.fillStyle = colour("muted");
  rows.forEach((_, i) => context.fillText(labels[i] ?? "", 0, AXIS + ROW * i + ROW / 2));
  context.fillStyle = colour("line");
  for (let i = 0; i <= rows.length; i++) {
    context.fillRect(left, AXIS + ROW * i - 0.5, width - left, 1);
  }
  const { from, width: time } = range();
  const tick = new Date(from);
  tick.setMinutes(0, 0, 0);
  const step = hours <= 24 ? 3 : 24;
  tick.setHours(Math.ceil((tick.getHours() + 1) / step) * step);
  let free = left;
  for (; tick.getTime() < from + time; tick.setHours(tick.getHours() + step)) {
    const at = x(tick.getTime());
    context.fillStyle = colour("line");
    context.fillRect(at, AXIS - 4, 1, height);
    const text = hours <= 24 ? clock(tick.getTime()).slice(-5) : day(tick.getTime());
    const size = context.measureText(text).width;
    if (at >= free && at + size < width) {
      context.fillStyle = colour("muted");
      context.fillText(text, at + 3, AXIS / 2);
      free = at + size + 12;
    }
  }
}

/**
 * A pattern of lines, by which a bar is known without its colour.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 * @param {"diagonal"|"cross"|"upright"} kind
 */
function pattern(context, colour, kind) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const lines = tile.getContext("2d");
  if (lines === null) {
    return null;
  }
  lines.strokeStyle = colour;
  lines.lineWidth = kind === "diagonal" ? 2 : 1.2;
  lines.beginPath();
  if (kind === "upright") {
    lines.moveTo(3, 0);
    lines.lineTo(3, 6);
  } else {
    for (const shift of [-6, 0, 6]) {
      lines.moveTo(shift, 6);
      lines.lineTo(shift + 6, 0);
      if (kind === "cross") {
        lines.moveTo(shift, 0);
        lines.lineTo(shift + 6, 6);
      }
    }
  }
  lines.stroke();
  return context.createPattern(tile, "repeat");
}

/** @param {PointerEvent} event */
function point(event) {
  const { from, width: time } = range();
  const left = margin();
  const at = from + ((event.offsetX - left) / (canvas.clientWidth - left)) * time;
  const slack = (time / canvas.clientWidth) * (event.pointerType === "mouse" ? 2 : 10);
  const row = Math.floor((event.offsetY - AXIS) / ROW);
  const there = (rows[row] ?? []).filter((bar) => bar.begin - slack <= at && at <= bar.end + slack);
  const y = event.offsetY - AXIS - ROW * row;
  select(there.findLast((bar) => place(bar).top <= y && y <= place(bar).top + place(bar).height) ?? there.at(-1));
}

/** @param {KeyboardEvent} event */
function move(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const up = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (step === undefined && up === undefined && event.key !== "Escape") {
    return;
  }
  event.preventDefault();
  if (event.key === "Escape") {
    select(undefined);
  } else if (selected === undefined) {
    select(rows.flat().findLast((bar) => bar.live) ?? rows.flat().at(-1));
  } else if (step !== undefined) {
    const bars = shown(selected.row);
    select(bars[bars.indexOf(selected) + step] ?? selected);
  } else if (up !== undefined) {
    const at = selected.begin;
    for (let row = selected.row + up; row >= 0 && row < rows.length; row += up) {
      const bars = shown(row);
      if (bars.length > 0) {
        select(bars.findLast((bar) => bar.begin <= at) ?? bars[0]);
        return;
      }
    }
  }
}

/** @param {number} row */
function shown(row) {
  const { from } = range();
  return (rows[row] ?? []).filter((bar) => bar.end >= from);
}

/** @param {Bar|undefined} bar */
function select(bar) {
  if (bar !== selected) {
    selected = bar;
    describe();
    draw();
  }
}

/** @param {Bar} bar */
function idleTime(bar) {
  return bar.idle.reduce((sum, [one, other]) => sum + other - one, 0);
}

function describe() {
  fill(detail, selected === undefined ? HINT : words(selected));
  detail.classList.toggle("none", selected === undefined);
}

/** @param {Bar} bar */
function words(bar) {
  const gpu = `GPU ${labels[bar.row]}`;
  const time = `${clock(bar.begin)} – ${bar.live ? "now" : clock(bar.end)}, ${span(bar.end - bar.begin)}`;
  if (bar.kind === "booked") {
    return `${gpu}: booked${bar.user === null ? "" : ` for ${bar.user}`}: ${time}`;
  }
  if (bar.kind !== "held") {
    return `${gpu}: ${bar.kind}${bar.user === null ? "" : `, by ${bar.user}`}: ${time}`;
  }
  const idle = idleTime(bar);
  return (
    `${gpu}: ${bar.user ?? "held"}${bar.name === "" ? "" : `, ${bar.name}`}: ${time}` +
    (idle > 0 ? `, idle for ${span(idle)} (${percent(idle / (bar.end - bar.begin))})` : "")
  );
}

function showList() {
  const { from } = range();
  const all = rows
    .flat()
    .filter((bar) => bar.end >= from)
    .sort((one, other) => other.begin - one.begin);
  const more = all.length - listed;
  list.replaceChildren(
    all.length === 0
      ? el("p", { class: "none" }, "No GPU was held in this time.")
      : table(
          "Leases",
          ["GPU", "User", "Container", "From", "Until", "Time", "Idle", "State"],
          all
            .slice(0, listed)
            .map((bar) => [
              labels[bar.row] ?? "",
              bar.user ?? "–",
              bar.name || "–",
              clock(bar.begin),
              bar.live ? "now" : clock(bar.end),
              span(bar.end - bar.begin),
              idleTime(bar) > 0 ? span(idleTime(bar)) : "–",
              bar.kind === "held" ? (bar.live ? "held" : "ended") : bar.kind,
            ]),
          "leases",
        ),
  );
  if (more > 0) {
    list.append(
      el(
        "button",
        {
          type: "button",
          click: () => {
            listed += LISTED;
            showList();
          },
        },
        `Show ${Math.min(more, LISTED)} of ${more} more`,
      ),
    );
  }
}
