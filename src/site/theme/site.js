/** The manual's site: the reader's choice of light and dark, set before anything is drawn; and the search. */

"use strict";

const MOST_RESULTS = 12;

/** A browser may forbid a page of the disk to store anything. */
function stored(value) {
  try {
    if (value !== undefined) {
      localStorage.setItem("theme", value);
    }
    return localStorage.getItem("theme");
  } catch {
    return value ?? null;
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

const chosen = stored();
if (chosen) {
  setTheme(chosen);
}

function script(url) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement("script"), { src: url, onload: resolve, onerror: reject });
    document.head.append(element);
  });
}

let index;

/** Loaded when the search is first used: scripts, because a page of the disk may fetch nothing else. */
function load() {
  index ??= Promise.all(["lunr.min.js", "search-index.js"].map(script)).then(() => {
    lunr.tokenizer.separator = /[\s\-/.,:;()[\]{}<>|=`"'?!…]+/;
    return lunr(function () {
      this.ref("id");
      this.field("page", { boost: 3 });
      this.field("heading", { boost: 4 });
      this.field("text");
      SECTIONS.forEach((section, id) => {
        // Most people search the first parts of the manual; a file that a page links is in none.
        this.add({ id, ...section }, { boost: [1, 1, 0.8, 0.5][section.part] ?? 0.5 });
      });
    });
  });
  return index;
}

function terms(words) {
  return lunr.tokenizer(words).filter((token) => lunr.stopWordFilter(token)).map(String);
}

/** The best section of each page, the best page first. */
function find(built, words) {
  const all = terms(words);
  const found = built.query((query) => {
    all.forEach((term, i) => {
      query.term(term, { boost: 10 });
      if (i === all.length - 1) {
        // It may not be typed to its end yet.
        query.term(term, { boost: 2, usePipeline: false, wildcard: lunr.Query.wildcard.TRAILING });
      }
      if (term.length > 5) {
        query.term(term, { editDistance: 1 });
      }
    });
  });
  const pages = new Map();
  for (const section of found.map(({ ref }) => SECTIONS[ref])) {
    if (!pages.has(section.page)) {
      pages.set(section.page, section);
    }
  }
  return [...pages.values()].slice(0, MOST_RESULTS);
}

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

/** The surroundings of the first word that was searched for, with each marked. */
function excerpt(text, words) {
  const stems = terms(words).map((term) => String(lunr.stemmer(new lunr.Token(term))).replace(/i$/, ""));
  const pattern = new RegExp(`\\b(?:${stems.map((it) => it.replace(/\W/g, "\\$&")).join("|")})\\w*`, "gi");
  const at = Math.max(0, text.search(pattern));
  const start = at < 60 ? 0 : text.indexOf(" ", at - 60) + 1;
  const rest = start + 180 < text.length;
  const part = rest ? text.slice(start, start + 180).replace(/\s\S*$/, "") : text.slice(start);
  const nodes = [start > 0 ? "… " : ""];
  let end = 0;
  for (const match of part.matchAll(pattern)) {
    nodes.push(part.slice(end, match.index), element("mark", match[0]));
    end = match.index + match[0].length;
  }
  return [...nodes, part.slice(end), rest ? " …" : ""];
}

function result(section, words) {
  const { page, heading, text, url } = section;
  const link = element("a", element("b", heading ? `${page} › ${heading}` : page), element("span", ...excerpt(text, words)));
  link.href = url;
  return link;
}

document.addEventListener("DOMContentLoaded", () => {
  const field = document.querySelector("#search");
  const results = document.querySelector("#results");

  async function search() {
    const built = await load();
    const words = field.value;
    results.dataset.words = words;
    results.hidden = terms(words).length === 0;
    if (!results.hidden) {
      const links = find(built, words).map((section) => result(section, words));
      results.replaceChildren(...(links.length > 0 ? links : [element("p", "No page has these words.")]));
    }
  }

  function hide() {
    results.hidden = true;
  }

  field.addEventListener("focus", load);
  field.addEventListener("input", search);
  field.form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await search();
    results.querySelector("a")?.click();
  });
  field.form.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !results.hidden) {
      event.preventDefault();
      const stops = [field, ...results.querySelectorAll("a")];
      stops[Math.max(0, stops.indexOf(document.activeElement) + step)]?.focus();
    } else if (event.key === "Escape") {
      field.focus();
      hide();
    }
  });
  results.addEventListener("click", hide);
  document.addEventListener("click", (event) => {
    if (!field.form.contains(event.target)) {
      hide();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) {
      event.preventDefault();
      field.focus();
    }
  });

  document.querySelector("#theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme;
    const now = dark === "light dark" ? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light") : dark;
    const next = now === "dark" ? "light" : "dark";
    stored(next);
    setTheme(next);
  });
  const pages = document.querySelector("#pages");
  const current = pages.querySelector("[aria-current]");
  pages.scrollTop = (current?.offsetTop ?? 0) - pages.clientHeight / 2;
  if (matchMedia("(max-width: 75rem)").matches) {
    document.querySelector("#headings").open = false;
  }
});
