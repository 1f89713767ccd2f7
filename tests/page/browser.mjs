/** A headless Chromium, and the pictures of the four variants of the page. */

import puppeteer from "puppeteer-core";

/** The laptop and the phone that everything must fit. */
export const WIDE = { width: 1366, height: 768, deviceScaleFactor: 1 };
export const PHONE = { width: 390, height: 844, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

/** Milliseconds for what a browser does beside three other tests on two cores. */
const PATIENCE = 120_000;

export async function launch() {
  return puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    timeout: PATIENCE,
    args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--lang=en"],
  });
}

/**
 * Opens the page and waits until everything is there.
 *
 * @param {import("puppeteer-core").Browser} browser
 * @param {string} url
 * @param {import("puppeteer-core").Viewport} size
 * @param {"light"|"dark"} scheme
 * @param {Record<string, (document: any) => any>} answers in place of the daemon's, by path
 */
export async function open(browser, url, size = WIDE, scheme = "light", answers = {}) {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.setRequestInterception(Object.keys(answers).length > 0);
  page.on("request", async (request) => {
    const answer = answers[new URL(request.url()).pathname];
    if (answer === null) {
      request.abort();
    } else if (answer !== undefined) {
      const real = await (await fetch(request.url())).json();
      request.respond({ contentType: "application/json", body: JSON.stringify(answer(real)) });
    } else if (Object.keys(answers).length > 0) {
      request.continue();
    }
  });
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") {
      page.faults.push(message.text());
    }
  });
  page.on("dialog", (dialog) => {
    page.faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.setViewport(size);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url, { waitUntil: "domcontentloaded" });
  await page.waitForSelector(".now tbody tr:nth-child(16)");
  await page.waitForSelector(".legend li");
  await page.waitForSelector(".events tbody tr, #events-rows .none");
  return page;
}

/** The daemon has not run for an hour: for pictures, each GPU has a line that is made up. */
const lastHour = {
  /** @param {any[]} gpus */
  "/v2/utilization": (gpus) =>
    gpus.map((gpu, i) => ({
      ...gpu,
      percent: Array.from({ length: 60 }, (_, minute) => {
        const busy = [90, 0, 0, 55, 95, 0, 75, 0][i % 8];
        const wave = Math.sin(minute / (2 + (i % 3))) * 12 + Math.sin(minute * 1.7 + i) * 6;
        return busy === 0 || (i % 4 === 2 && minute < 25) ? 0 : Math.round(Math.min(100, Math.max(0, busy + wave)));
      }),
    })),
};

const NAMES = [
  [/<img[^"]*>/g, "frank"],
  [/\\"><script>[^"]*<\/script>/g, "sweep"],
];

/** Names that are markup are for the checks. */
function renamed(document) {
  return JSON.parse(NAMES.reduce((text, [name, other]) => text.replace(name, other), JSON.stringify(document)));
}

/** The tests' own processes are root's, and all are the same. */
const HOLDERS = [["alice", "train-31"], ["erin", "llama-sft"], ["carol", "jupyter"], ["bob", "eval-24"]];

const MADE_UP = {
  ...lastHour,
  "/v2/host": (host) => ({ ...host, host: "labhost" }),
  "/v2/gpus": (gpus) =>
    gpus.map((gpu) => {
      const [user, name] = HOLDERS[gpu.index % HOLDERS.length];
      const busy = lastHour["/v2/utilization"]([{}, {}, {}, {}, {}, {}, {}, {}])[gpu.index % 8].percent.at(-1);
      const figures =
        gpu.lease === null
          ? { ...gpu.figures, utilization: 0, memory_used: 0 }
          : { ...gpu.figures, utilization: busy, memory_used: (busy / 100) * 38e9 };
      return gpu.lease === null ? { ...gpu, figures } : { ...gpu, figures, user, container_name: name };
    }),
  // They have the real names.
  "/v2/events": null,
  "/v2/queue": (queue) => JSON.parse(JSON.stringify(queue).replaceAll("root", "bob").replaceAll("sleep", "train-40")),
  "/v2/chart": renamed,
  "/v2/history": renamed,
  "/v2/leases": renamed,
};

/** Pictures of the page, in light and dark, wide and narrow: its beginning, and all of it. */
export async function pictures(browser, url, directory) {
  for (const [name, size] of [["wide", WIDE], ["phone", PHONE]]) {
    for (const scheme of ["light", "dark"]) {
      const page = await open(browser, url, { ...size, deviceScaleFactor: 1 }, scheme, MADE_UP);
      await new Promise((resolve) => setTimeout(resolve, 500));
      await page.screenshot({ path: `${directory}/page-${name}-${scheme}.png` });
      await page.screenshot({ path: `${directory}/all-${name}-${scheme}.png`, fullPage: true });
      await page.close();
    }
  }
}
