/** A row for each GPU. */

import { clock, gibibytes, holding, load, now, number, span } from "./data.js";
import { byId, el, fill, stateMark, svg } from "./elements.js";

/** @typedef {import("./data.js").Gpu} Gpu */

const TITLES = ["GPU", "State", "Holder", "Container", "Since", "Left", "Memory", "Last hour", "Note"];

/** @type {Map<string, {row: HTMLTableRowElement, cells: HTMLTableCellElement[], button: HTMLButtonElement, why: HTMLTableRowElement}>} */
const rows = new Map();

/** @type {HTMLTableSectionElement|undefined} */
let body;

/** @type {Map<string, (number|null)[]>} */
let lastHour = new Map();

/** @param {Gpu} gpu */
function key(gpu) {
  return gpu.uuid ?? gpu.pci_address ?? String(gpu.index);
}

/** @param {{uuid: string, percent: (number|null)[]}[]} gpus */
export function setUtilization(gpus) {
  lastHour = new Map(gpus.map((gpu) => [gpu.uuid, gpu.percent]));
}

/** @param {Gpu[]} gpus */
export function showNow(gpus) {
  if (body === undefined) {
    byId("now-rows").append(
      el(
        "table",
        { class: "now", role: "table", "aria-label": "GPUs" },
        el(
          "thead",
          { role: "rowgroup" },
          el("tr", { role: "row" }, ...TITLES.map((title) => el("th", { role: "columnheader", scope: "col" }, title))),
        ),
        (body = el("tbody", { role: "rowgroup" })),
      ),
    );
  }
  const models = new Set(gpus.map((gpu) => gpu.model));
  const present = new Set(gpus.map(key));
  for (const [name, { row, why }] of rows) {
    if (!present.has(name)) {
      row.remove();
      why.remove();
      rows.delete(name);
    }
  }
  gpus.forEach((gpu, i) => {
    const entry = rows.get(key(gpu)) ?? makeRow(gpu);
    if (body !== undefined && body.children[2 * i] !== entry.row) {
      body.insertBefore(entry.row, body.children[2 * i] ?? null);
      body.insertBefore(entry.why, entry.row.nextSibling);
    }
    update(entry, gpu, models.size > 1);
  });
  summarize(gpus, models);
}

/** @param {Gpu} gpu */
function makeRow(gpu) {
  const id = `why-${key(gpu).replace(/[^A-Za-z0-9-]/g, "-")}`;
  const button = el("button", { type: "button", class: "open", "aria-expanded": "false", "aria-controls": id });
  const cells = TITLES.map((title) => el("td", { role: "cell", "data-title": title }));
  cells[0]?.append(button);
  const row = el("tr", { role: "row" }, ...cells);
  const why = el("tr", { role: "row", class: "why", id, hidden: true });
  const entry = { row, cells, button, why };
  row.addEventListener("click", () => {
    // A click that ends a selection of text is none.
    if (document.getSelection()?.isCollapsed ?? true) {
      toggle(entry, gpu);
    }
  });
  rows.set(key(gpu), entry);
  return entry;
}

/**
 * @param {{button: HTMLButtonElement, why: HTMLTableRowElement}} entry
 * @param {Gpu} gpu
 */
async function toggle(entry, gpu) {
  const open = entry.why.hidden;
  entry.why.hidden = !open;
  entry.button.setAttribute("aria-expanded", String(open));
  if (!open) {
    return;
  }
  const cell = el("td", { role: "cell", colspan: TITLES.length, "aria-live": "polite" }, "…");
  entry.why.replaceChildren(cell);
  try {
    const why = await load(`why?gpu=${encodeURIComponent(gpu.uuid ?? "")}`);
    const past = why.past_leases.map((/** @type {import("./data.js").Lease} */ lease) =>
      el(
        "li",
        {},
        `${clock(Date.parse(lease.since))} – ${clock(Date.parse(lease.until ?? ""))}: ${lease.user}, ${holding(lease)}; ended: ${lease.evidence}`,
      ),
    );
    cell.replaceChildren(el("p", {}, why.explanation));
    const { temperature = null, power = null } = why.figures ?? {};
    const heat = [temperature === null ? "" : `${temperature} °C`, power === null ? "" : `${power} W`];
    if (heat.some((figure) => figure !== "")) {
      cell.append(el("p", {}, heat.filter((figure) => figure !== "").join(", ")));
    }
    if (past.length > 0) {
      cell.append(el("h3", {}, "Before"), el("ul", {}, ...past));
    }
  } catch (error) {
    cell.textContent = String(error instanceof Error ? error.message : error);
  }
}

/**
 * @param {{row: HTMLTableRowElement, cells: HTMLTableCellElement[], button: HTMLButtonElement}} entry
 * @param {Gpu} gpu
 * @param {boolean} mixed whether there are several models
 */
function update(entry, gpu, mixed) {
  const held = gpu.lease !== null || gpu.state === "unmanaged";
  const holders = gpu.shares.length > 0 ? gpu.shares : [gpu];
  entry.row.className = gpu.state;
  fill(entry.button, number(gpu), el("span", { class: "hidden" }, ": explain GPU ", number(gpu)));
  const cells = entry.cells.slice(1);
  const contents = [
    [stateMark(gpu.state), mixed && gpu.model !== null && el("span", { class: "model" }, model(gpu.model))],
    [held ? holders.map((holder) => holder.user ?? "–").join(", ") : "–"],
    [held ? el("span", { title: gpu.image ?? "" }, holders.map(holding).join(", ")) : "–"],
    since(gpu),
    left(gpu),
    memory(gpu),
    [spark(gpu)],
    [el("span", { title: gpu.note ?? "" }, gpu.note ?? "")],
  ];
  cells.forEach((cell, i) => {
    fill(cell, ...(contents[i] ?? []));
    cell.classList.toggle("none", cell.textContent === "–" || cell.textContent === "");
  });
}

/** @param {string} name */
function model(name) {
  return name.replace(/^NVIDIA /, "");
}

/** @param {Gpu} gpu */
function since(gpu) {
  // A cordoned GPU has an idle time, too.
  const at = gpu.since ?? gpu.state_since ?? (gpu.state === "free" ? gpu.idle_since : null);
  if (at === null) {
    return ["–"];
  }
  const ago = now() - Date.parse(at);
  return [
    el("time", { datetime: at }, clock(Date.parse(at))),
    el("span", { class: "age" }, ` ${span(ago)}`),
  ];
}

/** @param {Gpu} gpu */
function left(gpu) {
  if (gpu.due === null) {
    return ["–"];
  }
  const time = Date.parse(gpu.due) - now();
  return time >= 0
    ? [el("span", { class: time < 1_800_000 ? "soon" : "" }, `${span(time)} left`)]
    : [el("span", { class: "soon" }, `over by ${span(-time)}`)];
}

/** @param {Gpu} gpu */
function memory(gpu) {
  const used = gpu.figures?.memory_used ?? null;
  const total = gpu.figures?.memory_total ?? null;
  if (used === null || total === null || total === 0) {
    return ["–"];
  }
  const width = Math.round((60 * used) / total);
  return [
    svg(
      "svg",
      { class: "bar", viewBox: "0 0 60 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "all", width: 60, height: 8 }),
      svg("rect", { class: "part", width, height: 8 }),
    ),
    el("span", { class: "figure" }, `${gibibytes(used)}/${gibibytes(total)} GiB`),
  ];
}

/** @param {Gpu} gpu */
function spark(gpu) {
  const percents = lastHour.get(gpu.uuid ?? "") ?? [];
  const latest = gpu.figures?.utilization ?? null;
  const lines = svg("svg", { class: "spark", viewBox: "0 0 60 16", preserveAspectRatio: "none", "aria-hidden": "true" });
  lines.append(svg("line", { x1: 0, y1: 15.5, x2: 60, y2: 15.5 }));
  let points = "";
  const end = () => {
    if (points !== "") {
      const first = points.split(",")[0];
      const last = points.trim().split(" ").at(-1)?.split(",")[0];
      lines.append(svg("polygon", { points: `${first},15 ${points}${last},15` }), svg("polyline", { points }));
      points = "";
    }
  };
  percents.forEach((percent, i) => {
    if (percent === null) {
      end();
    } else {
      points += `${i},${(15 - (14 * percent) / 100).toFixed(1)} `;
    }
  });
  end();
  return el("span", { class: "use" }, lines, el("span", { class: "figure" }, latest === null ? "–" : `${latest}%`));
}

/**
 * @param {Gpu[]} gpus
 * @param {Set<string|null>} models
 */
function summarize(gpus, models) {
  const counts = new Map();
  gpus.forEach((gpu) => counts.set(gpu.state, (counts.get(gpu.state) ?? 0) + 1));
  const [only] = models;
  const kind = models.size === 1 && only ? ` ${model(only)}` : "";
  const states = [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
  const text = gpus.length === 0 ? "no GPUs: the driver shows none" : `${gpus.length}${kind}: ${states}`;
  if (byId("summary").textContent !== text) {
    byId("summary").textContent = text;
  }
}
