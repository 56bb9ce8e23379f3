// Older entries lie packed in a large page, in parts, until somebody asks for one of them.
"use strict";
const report = {
  parts: (() => {
    // Of each part: the promise of its HTML; then the text of each of its entries, as the search reads it.
    const held = new WeakMap(), texts = new WeakMap(), shown = new WeakMap();
    const all = () => [...document.querySelectorAll(".packed")];
    const idsOf = (part) => part.dataset.ids.split(" ");

    function unpack(part) {
      if (!held.has(part)) {
        const bytes = Uint8Array.from(atob(part.querySelector("script").textContent), (sign) => sign.charCodeAt(0));
        const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
        held.set(part, new Response(stream).text());
      }
      return held.get(part);
    }

    async function put(part) {
      part.insertAdjacentHTML("beforebegin", await unpack(part));
      part.remove();
      document.dispatchEvent(new CustomEvent("report:changed", { detail: { id: "entries" } }));
    }

    function open(part) {
      if (!shown.has(part)) shown.set(part, put(part));
      return shown.get(part);
    }

    // The part that holds an entry, by its ID or an earlier one, is unpacked.
    async function show(id) {
      const part = document.getElementById(id) ? null : all().find((one) => idsOf(one).includes(id));
      if (part) await open(part);
    }

    // As text: nothing of it goes into the page. (To parse it would take many times as long.)
    const SIGNS = { amp: "&", lt: "<", gt: ">", quot: '"', "#34": '"', "#39": "'" };
    const plain = (html) => html.replace(/<[^>]*>/g, "").replace(/&(\w+|#\d+);/g, (all, name) => SIGNS[name] ?? all).toLowerCase();

    async function readTexts(part) {
      const entries = (await unpack(part)).split(/(?=<article id=")/).filter((html) => html.startsWith("<article"));
      texts.set(part, new Map(entries.map((html) => [html.match(/^<article id="([^"]*)"/)[1], plain(html)])));
    }

    const isRead = () => all().every((part) => texts.has(part));
    const read = () => Promise.all(all().map((part) => texts.has(part) || readTexts(part)));

    // The IDs of the packed entries that fit, by part.
    const matching = (fits) => new Map(all().map((part) => [part, [...(texts.get(part) ?? [])].filter(([, text]) => fits(text)).map(([id]) => id)]));

    function offer() {
      for (const part of all()) {
        const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Show" });
        part.querySelector(".unscripted").remove();
        button.setAttribute("aria-label", `Show ${part.querySelector(".which").textContent}`);
        part.querySelector("p").append(" ", button, " ", Object.assign(document.createElement("output"), { className: "muted" }));
      }
    }

    document.addEventListener("click", async (event) => {
      const part = event.target.closest?.(".packed button")?.closest(".packed");
      if (!part) return;
      const [first] = idsOf(part);
      await open(part);
      const entry = document.getElementById(first);
      if (entry) Object.assign(entry, { tabIndex: -1 }).focus();
    });
    document.addEventListener("DOMContentLoaded", offer);
    return { all, open, show, read, isRead, matching };
  })(),
};
