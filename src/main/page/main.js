/**
 * Loads the documents of the daemon, and loads them again when its events say so. Without names,
 * over TCP, there are no events: then it loads them every few seconds.
 */

import { advanceChart, chartHours, makeChart, showChart } from "./chart.js";
import { clock, load, now, setClock } from "./data.js";
import { byId, el, fill } from "./elements.js";
import { makeEvents, makeUsers, showEvents, showQueue, showUsers } from "./lists.js";
import { setUtilization, showNow } from "./now.js";

const FIGURES = 5_000;
const MINUTE = 60_000;
const RETRY = 2_000;

/** @type {import("./data.js").Gpu[]} */
let gpus = [];
let names = true;

/** When the daemon answered last, by the host's clock. */
let answered = 0;
let gone = false;

/** @param {Promise<any>} work */
async function watched(work) {
  try {
    await work;
    answered = now();
    fill(byId("updated"), `Updated ${clock(answered)}.`);
    if (gone) {
      gone = false;
      fill(byId("connection"));
      await start();
    }
  } catch (error) {
    if (!gone && !document.hidden) {
      gone = true;
      fill(
        byId("connection"),
        `The daemon does not answer${answered > 0 ? `; what is shown is of ${clock(answered)}` : ""}. Trying again…`,
      );
    }
    console.debug(error);
  }
}

/** @type {Map<() => Promise<void>, number>} */
const due = new Map();

/**
 * Does something soon, once for all that request it meanwhile.
 *
 * @param {() => Promise<void>} work
 * @param {number} delay in milliseconds
 */
function soon(work, delay) {
  if (!due.has(work)) {
    due.set(
      work,
      window.setTimeout(() => {
        due.delete(work);
        watched(work());
      }, delay),
    );
  }
}

async function loadHost() {
  /** @type {import("./data.js").Host} */
  const host = await load("host");
  setClock(host.now);
  names = host.names;
  document.title = `GPUs of ${host.host}`;
  fill(byId("host"), host.host);
}

/**
 * The tabs of several hosts, each at a port of the reader's computer: `?hosts=lab1:8080,lab2:8081`,
 * as 'gpu page --on' prints it.
 */
function showHosts() {
  const hosts = (new URLSearchParams(location.search).get("hosts") ?? "")
    .split(",")
    .map((host) => ({ name: host.slice(0, host.lastIndexOf(":")), port: host.slice(host.lastIndexOf(":") + 1) }))
    .filter(({ name, port }) => name !== "" && /^\d+$/.test(port));
  byId("hosts").hidden = hosts.length === 0;
  fill(
    byId("hosts"),
    ...hosts.map(({ name, port }) =>
      el(
        "a",
        {
          href: `http://${location.hostname}:${port}/${location.search}`,
          "aria-current": port === location.port ? "page" : null,
        },
        name,
      ),
    ),
  );
}

async function loadGpus() {
  gpus = await load("gpus");
  showNow(gpus);
}

async function loadUtilization() {
  setUtilization(await load("utilization"));
  showNow(gpus);
}

async function loadChart() {
  const hours = chartHours();
  const chart = await load(`chart?hours=${hours}`);
  if (hours === chartHours()) {
    showChart(chart, gpus);
  }
}

async function loadQueue() {
  showQueue(await load("queue"));
}

/** @type {EventSource|undefined} */
let stream;

function listen() {
  stream?.close();
  stream = new EventSource("/v2/events");
  const on = (/** @type {string} */ kind, /** @type {(data: any) => void} */ handle) =>
    stream?.addEventListener(kind, (event) => handle(JSON.parse(event.data)));
  on("state", (state) => {
    gpus = state.gpus;
    showNow(gpus);
    showQueue(state.queue);
    if (gone) {
      watched(Promise.resolve());
    }
  });
  on("gpu", (gpu) => {
    gpus = gpus.map((other) => (other.uuid === gpu.uuid ? gpu : other));
    showNow(gpus);
  });
  on("queue", showQueue);
  for (const kind of ["granted", "recovered", "released"]) {
    on(kind, () => {
      soon(showEvents, 500);
      soon(loadChart, 3_000);
    });
  }
  // The list of refusals shows what this user may see.
  on("refused", () => soon(showEvents, 500));
  stream.addEventListener("error", () => {
    watched(loadGpus());
    if (stream?.readyState === EventSource.CLOSED) {
      window.setTimeout(() => document.hidden || listen(), RETRY);
    }
  });
}

async function start() {
  await loadHost();
  await loadGpus();
  const hidden = ["queue", "users", "events"];
  if (!names) {
    hidden.forEach((part) =>
      fill(
        byId(`${part}-rows`),
        el(
          "p",
          { class: "none" },
          "Not shown here: every user of the host can read this address, and this part names users. ",
          el("code", {}, "jnvdocker gpu page"),
          " prints how to open the page with names.",
        ),
      ),
    );
  }
  await Promise.all([
    loadUtilization(),
    loadChart(),
    ...(names ? [loadQueue(), showUsers(), showEvents()] : []),
  ]);
}

showHosts();
makeChart(() => watched(loadChart()));
makeUsers();
makeEvents();
await watched(start());
if (names) {
  listen();
}
window.setInterval(() => {
  if (!document.hidden) {
    watched(loadGpus());
  }
}, FIGURES);
window.setInterval(() => {
  if (!document.hidden && !gone) {
    watched(Promise.all([loadUtilization(), ...(names ? [showUsers()] : [loadChart()])]));
    advanceChart();
  }
}, MINUTE);
// A browser has few connections to a host, and all of its tabs share them.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stream?.close();
  } else {
    watched(start());
    if (names) {
      listen();
    }
  }
});
