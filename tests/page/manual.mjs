/** Checks the manual's site as it lies on the disk: manual.mjs DIRECTORY. Each line of output is a check. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { launch, PHONE } from "./browser.mjs";

const [directory] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const LAPTOP = { width: 1280, height: 900, deviceScaleFactor: 1 };

/** What newcomers type, and the page that answers it. */
const QUESTIONS = {
  "one GPU per student": "guides.html",
  "GPU 0 for the display": "guides.html",
  "GPU-hours of last month by group": "history.html",
  "why was I refused an hour ago": "leases.html",
  "CI that waits for a GPU": "guides.html",
};

/** Opens a page; whatever fails there, or is loaded from elsewhere, is a fault. */
async function open(browser, name, size = LAPTOP, scheme = "light") {
  const page = await browser.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("console", (message) => page.faults.push(message.text()));
  page.on("requestfailed", (request) => page.faults.push(`cannot load ${request.url()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${pathToFileURL(directory)}/`)) {
      page.faults.push(`loads ${request.url()}`);
    }
  });
  await page.setViewport(size);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(`${pathToFileURL(directory)}/${name}`, { waitUntil: "load" });
  return page;
}

async function close(page) {
  assert.deepEqual(page.faults, [], page.url());
  await page.close();
}

async function ask(page, words) {
  await page.$eval("#search", (field) => (field.value = ""));
  await page.type("#search", words);
  // The results of the last letter replace the others in one step.
  await page.waitForFunction((typed) => document.querySelector("#results").dataset.words === typed, {}, words);
  return page.$$eval("#results a", (links) => links.map((link) => link.href.replace(/.*\//, "")));
}

async function questionsLeadToTheirPages(browser) {
  const page = await open(browser, "index.html");
  for (const [words, answer] of Object.entries(QUESTIONS)) {
    const found = await ask(page, words);
    console.log(`${words}: ${found.slice(0, 3).join(", ")}`);
    assert.ok(found.slice(0, 3).some((url) => url.split("#")[0] === answer), `${words}: ${found.join(" ")}`);
  }
  assert.deepEqual(await ask(page, "xyzzyplugh"), []);
  await close(page);
}

async function keysLeadToAResult(browser) {
  const page = await open(browser, "limits.html");
  await page.keyboard.press("/");
  const [first, second] = await ask(page, "queue");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.ok(page.url().endsWith(second), `${page.url()} instead of ${second}, after ${first}`);
  await close(page);
}

async function themeIsChosenAndKept(browser) {
  const page = await open(browser, "leases.html");
  const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await colour();
  await page.click("#theme");
  const dark = await colour();
  assert.notEqual(dark, light);
  await page.goto(page.url().replace("leases", "waiting"));
  assert.equal(await colour(), dark);
  await page.click("#theme");
  assert.equal(await colour(), light);
  await page.evaluate(() => localStorage.clear());
  await close(page);
}

async function pagesAreReachedOnAPhone(browser) {
  const page = await open(browser, "index.html", PHONE);
  const shown = () => page.$eval("#pages", (pages) => pages.getBoundingClientRect().width > 0);
  assert.equal(await shown(), false);
  await page.click("#menu");
  assert.equal(await shown(), true);
  await Promise.all([page.waitForNavigation(), page.click('#pages a[href="waiting.html"]')]);
  await close(page);
}

async function eachPageFitsAPhone(browser) {
  for (const name of readdirSync(directory).filter((it) => it.endsWith(".html"))) {
    const page = await open(browser, name, PHONE);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= PHONE.width, `${name} is ${width} wide`);
    await close(page);
  }
}

/** Of pages that together have all that a page can have. */
async function pagesAreAccessible(browser) {
  for (const name of ["index.html", "leases.html", "json.html", "src-dist-examples-config-ci.toml.html"]) {
    for (const [size, scheme] of [[LAPTOP, "light"], [PHONE, "dark"]]) {
      const page = await open(browser, name, size, scheme);
      await page.evaluate(axe);
      const { violations } = await page.evaluate("axe.run({ preload: false })");
      const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
      assert.deepEqual(
        serious.map((it) => `${name}: ${it.id}: ${it.nodes.slice(0, 3).map((node) => node.html).join(" ")}`),
        [],
      );
      await close(page);
    }
  }
}

const browser = await launch();
try {
  for (const check of [
    questionsLeadToTheirPages,
    keysLeadToAResult,
    themeIsChosenAndKept,
    pagesAreReachedOnAPhone,
    eachPageFitsAPhone,
    pagesAreAccessible,
  ]) {
    await check(browser);
    console.log(`passed: ${check.name}`);
  }
} finally {
  await browser.close();
}
