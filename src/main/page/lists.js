/** The queue, the users and the events. */

import { clock, day, holding, load, now, number, percent, span } from "./data.js";
import { byId, choice, el, fill, svg, table } from "./elements.js";

/** @param {import("./data.js").Waiter[]} waiters */
export function showQueue(waiters) {
  fill(
    byId("queue-rows"),
    waiters.length === 0
      ? el("p", { class: "none" }, "Nobody waits for GPUs.")
      : table(
          "Clients that wait",
          ["Place", "User", "Waits for", "For", "Since", "Why"],
          waiters.map((waiter) => [
            String(waiter.place),
            waiter.user,
            waiter.request,
            waiter.container_name ?? waiter.image ?? waiter.command ?? waiter.task ?? "–",
            `${clock(Date.parse(waiter.since))} (${span(now() - Date.parse(waiter.since))})`,
            waiter.obstacle === null
              ? waiter.place === 1
                ? "next: gets the first GPUs that fit"
                : `behind ${waiter.place - 1} that came before`
              : `others are served first: ${waiter.obstacle}`,
          ]),
          "queue",
        ),
  );
}

let days = "7";
let by = "user";
const sums = el("div", {});

export function makeUsers() {
  const reload = () => showUsers().catch((error) => fill(sums, String(error.message)));
  byId("users-rows").append(
    el(
      "div",
      { class: "controls" },
      choice(
        "Days",
        [
          ["7", "7 d"],
          ["30", "30 d"],
          ["90", "90 d"],
        ],
        days,
        (value) => {
          days = value;
          reload();
        },
      ),
      choice(
        "Rows",
        [
          ["user", "Users"],
          ["group", "Groups"],
        ],
        by,
        (value) => {
          by = value;
          reload();
        },
      ),
    ),
    sums,
  );
}

export async function showUsers() {
  /** @type {import("./data.js").History} */
  const history = await load(`history?days=${days}&by=${by}`);
  const most = Math.max(...history.users.map((user) => user.gpu_hours), 1e-9);
  fill(
    sums,
    history.users.length === 0
      ? el("p", { class: "none" }, "Nobody has held a GPU in this time.")
      : table(
          "GPU-hours",
          [by === "user" ? "User" : "Group", "GPU-hours", "", "Share", "Idle", "Leases", "Now", "Last"],
          history.users.map((user) => [
            user.user,
            user.gpu_hours.toFixed(1),
            hours(user, most),
            percent(user.share),
            percent(user.idle_share),
            String(user.leases),
            String(Number(user.gpus_now.toFixed(2))),
            user.gpus_now > 0 ? "now" : clock(Date.parse(user.last)),
          ]),
          "users",
        ),
    el(
      "p",
      { class: "none" },
      `${history.gpu_hours.toFixed(1)} GPU-hours, ${history.idle_hours.toFixed(1)} of them idle`,
      history.kept_since !== null && `; what ended before ${day(Date.parse(history.kept_since))} is not kept`,
    ),
  );
}

/**
 * @param {{gpu_hours: number, idle_hours: number}} user
 * @param {number} most
 */
function hours(user, most) {
  const width = (/** @type {number} */ part) => Math.max(0.5, (100 * part) / most);
  return svg(
    "svg",
    { class: "bar long", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "part", width: width(user.gpu_hours), height: 8 }),
    svg("rect", {
      class: "idle",
      x: width(user.gpu_hours) - (100 * user.idle_hours) / most,
      width: (100 * user.idle_hours) / most,
      height: 8,
    }),
  );
}

/** @typedef {{at: number, kind: string, user: string, gpus: string, text: string}} Event */

const LISTED = 30;
/** @type {Event[]} */
let events = [];
let listed = LISTED;
let kind = "all";
let words = "";
const eventList = el("div", {});

export function makeEvents() {
  byId("events-rows").append(
    el(
      "div",
      { class: "controls" },
      choice(
        "Kinds",
        [
          ["all", "All"],
          ["granted", "Granted"],
          ["refused", "Refused"],
          ["ended", "Ended"],
        ],
        kind,
        (value) => {
          kind = value;
          listed = LISTED;
          listEvents();
        },
      ),
      el(
        "label",
        {},
        "Filter ",
        el("input", {
          type: "search",
          placeholder: "user, container, GPU",
          input: (/** @type {any} */ event) => {
            words = event.target.value.toLowerCase();
            listed = LISTED;
            listEvents();
          },
        }),
      ),
    ),
    eventList,
  );
}

export async function showEvents() {
  const [leases, refusals] = await Promise.all([load("leases?ended=300"), load("refusals")]);
  /** @type {Event[]} */
  const next = [];
  for (const lease of /** @type {import("./data.js").Lease[]} */ (leases)) {
    if (lease.lease === null) {
      continue; // It observes the GPUs.
    }
    const gpus = lease.gpus.map(number).join(",");
    const its = { user: lease.user, gpus };
    next.push({ ...its, at: Date.parse(lease.since), kind: "granted", text: holding(lease) });
    if (lease.until !== null) {
      next.push({ ...its, at: Date.parse(lease.until), kind: "ended", text: `${holding(lease)}: ${lease.evidence}` });
    }
  }
  for (const refusal of /** @type {import("./data.js").Refusal[]} */ (refusals)) {
    next.push({
      at: Date.parse(refusal.at),
      kind: "refused",
      user: refusal.user,
      gpus: "–",
      text: `${refusal.purpose}: ${refusal.why}`,
    });
  }
  events = next.sort((one, other) => other.at - one.at);
  listEvents();
}

function listEvents() {
  const all = events.filter(
    (event) =>
      (kind === "all" || event.kind === kind) &&
      (words === "" || `${event.user} ${event.text} gpu ${event.gpus}`.toLowerCase().includes(words)),
  );
  const more = all.length - listed;
  fill(
    eventList,
    all.length === 0
      ? el("p", { class: "none" }, "No such event.")
      : table(
          "Events",
          ["When", "What", "User", "GPU", "Text"],
          all
            .slice(0, listed)
            .map((event) => [
              clock(event.at),
              el("span", { class: `event ${event.kind}` }, event.kind),
              event.user,
              event.gpus,
              event.text,
            ]),
          "events",
        ),
    more > 0 && el("button", { type: "button", class: "more" }, `Show ${Math.min(more, LISTED)} of ${more} more`),
  );
}

eventList.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.matches("button.more")) {
    listed += LISTED;
    listEvents();
  }
});
