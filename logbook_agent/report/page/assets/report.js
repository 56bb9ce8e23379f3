// Theme, search, permalinks, printing. Everything that changes is found again by its place, so that sections may be
// replaced while the page is open: whoever does sends `report:changed`.
"use strict";
(() => {
  const root = document.documentElement;
  const store = {
    get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
    set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* kept for this page alone */ } },
  };
  const known = store.get("logbook-theme");
  if (known === "light" || known === "dark") root.dataset.theme = known;

  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  function switchTheme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    store.set("logbook-theme", root.dataset.theme);
  }

  // -- search: entries in which every word occurs, and what the page says of them elsewhere -------
  const texts = new WeakMap();
  const textOf = (element) => {
    if (!texts.has(element)) texts.set(element, element.textContent.toLowerCase());
    return texts.get(element);
  };

  function search() {
    const words = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (text) => words.every((word) => text.includes(word));
    const entries = document.querySelectorAll("article");
    const shown = new Set();
    for (const entry of entries) {
      entry.hidden = !fits(textOf(entry));
      if (!entry.hidden) shown.add(entry.id);
    }
    for (const line of document.querySelectorAll(".moment, .lines > li, #results tbody tr")) {
      line.dataset.of ??= line.querySelector("a")?.hash.slice(1) ?? "";
      line.toggleAttribute("data-missed", words.length > 0 && line.dataset.of !== "" && !shown.has(line.dataset.of));
    }
    for (const fold of document.querySelectorAll("details.earlier")) fold.open = words.length > 0 && Boolean(fold.querySelector("li:not([data-missed])"));
    for (const group of document.querySelectorAll("#open .group")) group.hidden = !group.querySelector("li:not([data-missed])");
    for (const day of document.querySelectorAll(".day")) {
      let next = day.nextElementSibling;
      while (next?.classList.contains("moment") && next.hasAttribute("data-missed")) next = next.nextElementSibling;
      day.hidden = !next?.classList.contains("moment");
    }
    document.getElementById("found").textContent = words.length ? `${shown.size} of ${entries.length}` : "";
    return shown;
  }

  function clearSearch() {
    const field = document.getElementById("search");
    if (field.value) {
      field.value = "";
      search();
    }
  }

  // -- permalinks ---------------------------------------------------------------------------------
  // An address that somebody cut or typed may be none.
  function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }

  function toTarget() {
    const id = decoded(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (target.hidden || target.closest("[hidden]")) clearSearch();
    // What comes near is laid out only then, and pushes the target away.
    const settle = (frames) => {
      target.scrollIntoView();
      if (frames) requestAnimationFrame(() => settle(frames - 1));
    };
    settle(10);
    const entry = target.closest("#entries > article");
    if (entry) {
      entry.tabIndex = -1;
      entry.focus({ preventScroll: true });
    }
  }

  // -- commands can be copied ---------------------------------------------------------------------
  function offerCopies(scope) {
    if (!navigator.clipboard) return;
    for (const code of scope.querySelectorAll("pre > code.language-bash, .note > code, li > code:only-child")) {
      if (code.closest("li") && !code.closest("dd")?.previousElementSibling.textContent.startsWith("Command")) continue;
      const block = code.parentElement.matches("pre") ? code.parentElement : code;
      if (block.parentElement.classList.contains("copied")) continue;
      const around = document.createElement(block === code ? "span" : "div");
      const button = document.createElement("button");
      around.className = "copied";
      button.type = "button";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy this command");
      block.replaceWith(around);
      around.append(block, button);
    }
  }

  async function copy(button) {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  // -- which section is read, for the list beside it ----------------------------------------------
  function followSections() {
    const links = [...document.querySelectorAll(".side a")];
    const mark = () => {
      const at = links.findLast((link) => {
        const section = document.getElementById(link.hash.slice(1));
        return section && !section.hidden && section.getBoundingClientRect().top < innerHeight / 3;
      });
      for (const link of links) {
        if (link === (at ?? links[0])) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    };
    let due = 0;
    addEventListener("scroll", () => { due ||= requestAnimationFrame(() => { due = 0; mark(); }); }, { passive: true });
    mark();
  }

  // -- printing: everything, with what is folded, or the summary on one page ------------------------
  // What a page of A4 or letter paper has room for, in CSS pixels.
  const PAPER = { width: 690, height: 940 };
  let unfolded = [];
  addEventListener("beforeprint", () => {
    if (root.dataset.print === "summary") return fitSummary();
    // Not the data of plots: their points are there.
    unfolded = [...document.querySelectorAll("details:not([open])")].filter((fold) => !fold.closest(".chart, .tools"));
    for (const fold of unfolded) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of unfolded) fold.open = false;
    unfolded = [];
    root.style.removeProperty("--fit");
    if (location.hash !== "#print=summary") delete root.dataset.print;
  });

  function fitSummary() {
    const summary = document.getElementById("summary");
    root.style.setProperty("--fit", 1);
    summary.classList.add("measured");
    const height = summary.scrollHeight;
    summary.classList.remove("measured");
    root.style.setProperty("--fit", Math.min(1, PAPER.height / height));
  }

  function print(what) {
    document.getElementById("print").close();
    if (what === "summary") root.dataset.print = what;
    globalThis.print();
  }

  addEventListener("keydown", (event) => {
    const field = document.getElementById("search");
    const typing = event.target.closest?.("input, select, textarea, dialog[open]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape" && event.target === field) {
      clearSearch();
    } else if (event.key === "Enter" && event.target === field) {
      const [first] = search();
      if (first && !document.getElementById(first).classList.contains("card")) location.hash = first;
    }
  });

  document.addEventListener("report:changed", (event) => {
    const changed = document.getElementById(event.detail.id);
    if (changed) offerCopies(changed);
    const link = document.querySelector(`.side a[href="#${CSS.escape(event.detail.id)}"]`);
    if (link && changed) link.parentElement.hidden = changed.hidden;
    if (document.getElementById("search").value) search();
  });

  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", switchTheme);
    document.getElementById("search").addEventListener("input", search);
    document.addEventListener("click", (event) => {
      const button = event.target.closest?.(".copied > button");
      if (button) copy(button);
      const printing = event.target.closest?.("[data-prints]");
      if (printing) print(printing.dataset.prints);
    });
    document.getElementById("print-open")?.addEventListener("click", () => document.getElementById("print").showModal());
    if (location.hash === "#print=summary") root.dataset.print = "summary";
    offerCopies(document);
    followSections();
    addEventListener("hashchange", toTarget);
    toTarget();
  });
})();
