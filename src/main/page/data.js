/** The daemon's documents, and words for times and sizes. */

/**
 * @typedef {{utilization: number|null, memory_used: number|null, memory_total: number|null,
 *   temperature: number|null, power: number|null}} Figures
 * @typedef {{since: string, at_least: boolean, source: string, memory: number|null}} Idle
 * @typedef {{index: number, instance: number|null, uuid: string|null, parent: string|null,
 *   model: string|null, node: string|null, pci_address: string|null, state: string,
 *   idle_since: string|null, state_since: string|null, lease: number|null, since: string|null, due: string|null,
 *   overdue: boolean, claim: string|null, user: string|null, uid: number|null,
 *   container_id: string|null, container_name: string|null, image: string|null,
 *   command: string|null, pod: string|null, pid: number|null, figures: Figures|null,
 *   idle: Idle|null, note: string|null, shares: Lease[]}} Gpu
 * @typedef {{lease: number|null, state: string, since: string, until: string|null,
 *   evidence: string|null, user: string, container_name: string|null, container_id: string|null,
 *   image: string|null, command: string|null, pod: string|null,
 *   gpus: {index: number, instance: number|null, uuid: string}[]}} Lease
 * @typedef {{place: number, user: string, uid: number|null, request: string,
 *   container_name: string|null, image: string|null, command: string|null, task: string|null, since: string, pid: number,
 *   obstacle: string|null}} Waiter
 * @typedef {{at: string, user: string, purpose: string, why: string}} Refusal
 * @typedef {{from: string, until: string, kept_since: string|null, by: string,
 *   gpu_hours: number, idle_hours: number, users: {user: string, uid: number|null,
 *   gpu_hours: number, share: number|null, idle_hours: number, idle_share: number|null,
 *   leases: number, containers: number, gpus_now: number, last: string}[]}} History
 * @typedef {[lease: number, gpu: number, user: number|null, name: number|null, begin: number,
 *   end: number|null, idle: [number, number][]]} Bar
 * @typedef {[gpu: number, state: string, user: string|null, begin: number, end: number]} Trouble
 * @typedef {[gpu: number, user: string|null, begin: number, end: number]} Booking
 * @typedef {{from: string, until: string, complete: boolean, gpus: string[],
 *   users: {user: string, uid: number|null}[], names: string[], leases: Bar[],
 *   troubles: Trouble[], bookings: Booking[]}} Chart
 * @typedef {{host: string, now: string, names: boolean}} Host
 */

/** How far the host's clock is before this computer's, in milliseconds. */
let ahead = 0;

/** @param {string} now the host's time */
export function setClock(now) {
  ahead = Date.parse(now) - Date.now();
}

/** The host's time, in milliseconds. */
export function now() {
  return Date.now() + ahead;
}

/**
 * Loads a document; fails with the daemon's own words.
 *
 * @param {string} path
 * @returns {Promise<any>}
 */
export async function load(path) {
  const answer = await fetch(`/v2/${path}`, { signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) {
    throw new Error((await answer.text()).trim() || `error ${answer.status}`);
  }
  return answer.json();
}

/**
 * In two units at most, as the commands write it.
 *
 * @param {number} milliseconds
 */
export function span(milliseconds) {
  const minutes = Math.max(0, Math.floor(milliseconds / 60_000));
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) {
    const rest = hours % 24;
    return `${Math.floor(hours / 24)}d${rest > 0 && hours < 240 ? `${rest}h` : ""}`;
  }
  if (hours > 0) {
    return `${hours}h${minutes % 60 > 0 ? `${minutes % 60}m` : ""}`;
  }
  return minutes > 0 ? `${minutes}m` : `${Math.max(0, Math.floor(milliseconds / 1000))}s`;
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const WEEKDAY = new Intl.DateTimeFormat("en-GB", { weekday: "short" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/**
 * The time of today, else with the day.
 *
 * @param {number} at in milliseconds
 */
export function clock(at) {
  const date = new Date(at);
  const today = new Date(now()).toDateString() === date.toDateString();
  return today ? TIME.format(date) : `${day(at)} ${TIME.format(date)}`;
}

/** @param {number} at in milliseconds */
export function day(at) {
  return now() - at < 6 * 86_400_000 ? WEEKDAY.format(new Date(at)) : DAY.format(new Date(at));
}

/** @param {number} bytes */
export function gibibytes(bytes) {
  const size = bytes / 2 ** 30;
  return size >= 10 || size < 0.05 ? String(Math.round(size)) : size.toFixed(1);
}

/** @param {number|null} part */
export function percent(part) {
  if (part === null) {
    return "–";
  }
  return part > 0 && part < 0.01 ? "<1%" : `${Math.round(part * 100)}%`;
}

/** @param {{index: number, instance: number|null}} gpu */
export function number(gpu) {
  return gpu.instance === null ? String(gpu.index) : `${gpu.index}:${gpu.instance}`;
}

/**
 * What has the GPU, in one word or two.
 *
 * @param {{container_name: string|null, container_id: string|null, image?: string|null,
 *   command: string|null, pod: string|null, pid?: number|null}} holder
 */
export function holding(holder) {
  return (
    holder.pod ??
    holder.container_name ??
    holder.command ??
    holder.container_id?.slice(0, 12) ??
    holder.image ??
    (holder.pid ? `process ${holder.pid}` : null) ??
    "–"
  );
}
