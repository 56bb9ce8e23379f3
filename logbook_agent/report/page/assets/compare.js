// Two entries side by side: the facts in which they differ, and their results. It finds no effect and gives no answer;
// `logbook compare` does.
"use strict";
(() => {
  const GROUPS = [["config", "Config"], ["code", "Code"], ["environment", "Environment"]];
  const PARTS = ["hypothesis", "result", "comparison", "interpretation"];
  const byId = (id) => document.getElementById(id);
  let facts = null;

  function read() {
    facts ??= JSON.parse(byId("facts").textContent);
    return facts;
  }

  function make(tag, text, more = {}) {
    const element = Object.assign(document.createElement(tag), more);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function fill(select, chosen) {
    const { entries } = read();
    select.replaceChildren(...Object.entries(entries).map(([id, one]) => make("option", `${id} ${one.title}`, { value: id })));
    select.value = chosen;
  }

  function differences(a, b, group) {
    const { sets, entries } = read();
    const [mine, theirs] = [sets[entries[a][group]] ?? {}, sets[entries[b][group]] ?? {}];
    const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])];
    const differing = names.filter((name) => mine[name] !== theirs[name]);
    return { mine, theirs, differing, alike: names.length - differing.length };
  }

  // Of a text of several words, those that the other side does not have stand out.
  function told(text, other) {
    const cell = make("td", text ?? "—");
    const words = new Set((other ?? "").split(/\s+/));
    if (!text || !other || !/\s/.test(text)) return cell;
    cell.replaceChildren(...text.split(/(\s+)/).map((word) => (/^\s*$/.test(word) || words.has(word) ? word : make("mark", word))));
    return cell;
  }

  function table(a, b, { mine, theirs, differing }, label) {
    const around = make("div", undefined, { className: "scroll", tabIndex: 0 });
    around.setAttribute("role", "group");
    around.setAttribute("aria-label", `${label}: differences`);
    const whole = document.createElement("table");
    const head = whole.createTHead().insertRow();
    for (const name of ["", a, b]) {
      const cell = make(name ? "th" : "td", name);
      if (name) cell.scope = "col";
      head.append(cell);
    }
    const body = whole.createTBody();
    for (const name of differing) {
      const row = body.insertRow();
      row.append(make("th", name, { scope: "row" }), told(mine[name], theirs[name]), told(theirs[name], mine[name]));
    }
    around.append(whole);
    return around;
  }

  function parts(id) {
    const found = make("div");
    found.append(make("p", id, { className: "heading" }));
    for (const name of PARTS) {
      for (const part of byId(id)?.querySelectorAll(`[data-part="${name}"]`) ?? []) {
        const copy = part.querySelector("dd").cloneNode(true);
        for (const named of copy.querySelectorAll("[id]")) named.removeAttribute("id");
        const held = make("div");
        held.append(make("p", part.querySelector("dt").textContent, { className: "muted" }), ...copy.childNodes);
        found.append(held);
      }
    }
    return found;
  }

  function show() {
    const [a, b] = [byId("compare-a").value, byId("compare-b").value];
    const result = byId("compare-result");
    result.replaceChildren();
    if (!a || !b) return;
    for (const [group, label] of GROUPS) {
      const found = differences(a, b, group);
      result.append(make("h3", label));
      if (found.differing.length) result.append(table(a, b, found, label));
      const known = found.differing.length + found.alike;
      const alike = known ? `${found.alike} of ${known} are the same` : "nothing recorded for either";
      result.append(make("p", alike, { className: "notes" }));
    }
    result.append(make("h3", "Hypothesis and results"));
    const two = make("div", undefined, { className: "two" });
    two.append(parts(a), parts(b));
    const hint = make("p", "For an answer that accounts for noise: ", { className: "notes" });
    hint.append(make("code", `logbook compare ${a} ${b}`));
    result.append(two, hint);
    document.dispatchEvent(new CustomEvent("report:changed", { detail: { id: "compare-result" } }));
    history.replaceState(null, "", `#diff=${a}..${b}`);
  }

  function open(a, b) {
    const ids = Object.keys(read().entries);
    if (ids.length < 2) return;
    const first = ids.includes(a) ? a : ids.at(-2);
    const second = ids.includes(b) && b !== first ? b : ids.at(ids.indexOf(first) + 1) ?? ids.at(-2);
    fill(byId("compare-a"), first);
    fill(byId("compare-b"), second);
    if (!byId("compare").open) byId("compare").showModal();
    show();
  }

  function fromAddress() {
    const [, a, b] = location.hash.match(/^#diff=([\w-]+)\.\.([\w-]+)$/) ?? [];
    // Of entries that are not here there is no other diff.
    if (a && [a, b].every((id) => Object.hasOwn(read().entries, id))) open(a, b);
  }

  document.addEventListener("report:changed", (event) => {
    if (event.detail.id === "facts") facts = null;
  });
  document.addEventListener("DOMContentLoaded", () => {
    if (!byId("compare")) return;
    byId("compare-open").addEventListener("click", () => open());
    byId("compare-close").addEventListener("click", () => byId("compare").close());
    byId("compare").addEventListener("close", () => {
      if (location.hash.startsWith("#diff=")) history.replaceState(null, "", location.pathname + location.search);
    });
    for (const id of ["compare-a", "compare-b"]) byId(id).addEventListener("change", show);
    document.addEventListener("click", (event) => {
      const button = event.target.closest?.("[data-compare]");
      if (button) {
        const ids = Object.keys(read().entries);
        const at = ids.indexOf(button.dataset.compare);
        open(ids[at ? at - 1 : at], at ? button.dataset.compare : ids[at + 1]);
      }
    });
    addEventListener("hashchange", fromAddress);
    fromAddress();
  });
})();
