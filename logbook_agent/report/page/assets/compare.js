// Two entries, or two rows of the table of results, side by side: in what they differ, their results, and the verdict of
// the comparison that has runs of both. It judges nothing: the page brings all verdicts.
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

  // -- verdicts: what the comparison of both says, or why there is none -----------------------------
  const ALONE = "These numbers settle nothing, because the order of the runs was not drawn by chance.";

  function verdict(found, why) {
    const around = make("div");
    around.append(make("h3", "Verdict"));
    if (found.length) {
      const list = make("ul", undefined, { className: "verdicts" });
      list.append(...found.map((one) => one.cloneNode(true)));
      around.append(list);
    } else {
      around.append(make("p", `There is none. ${why}`));
    }
    return around;
  }

  const all = () => [...document.querySelectorAll("#verdicts > li")];

  function ofEntries(a, b) {
    const has = (one, id) => one.dataset.entries.split(" ").includes(id);
    const [mine, theirs] = [a, b].map((id) => all().filter((one) => has(one, id)));
    const alone = [a, b].filter((id) => !all().some((one) => has(one, id)));
    const asked = (list) => [...new Set(list.map((one) => one.dataset.asked))].join("; ");
    const why = alone.length
      ? `${alone.join(" and ")}: ${ALONE}`
      : `They answer different questions: ${a} ${asked(mine)}; ${b} ${asked(theirs)}.`;
    return verdict(mine.filter((one) => has(one, b)), why);
  }

  function ofRows(a, b, named) {
    const [mine, theirs] = [a, b].map((row) => row.dataset);
    const alone = [mine, theirs].flatMap((one, at) => (one.answer === undefined ? [named[at]] : []));
    if (alone.length) return verdict([], `${alone.join(" and ")}: ${ALONE}`);
    const listed = (one) => one.verdicts.split(" ").filter(Boolean);
    const asked = (one) => all()[listed(one)[0]]?.dataset.asked ?? "none";
    if (mine.answer !== theirs.answer)
      return verdict([], `They belong to different comparisons: ${asked(mine)}; ${asked(theirs)}.`);
    if (mine.side === theirs.side) return verdict([], `Both rows are runs of ${mine.side}, one side of ${asked(mine)}.`);
    const shared = listed(mine).filter((place) => listed(theirs).includes(place)).map((place) => all()[place]);
    return verdict(shared, "A comparison judges each side against its base, in one case at a time; these rows are two sides or two cases.");
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

  // -- two rows of the table of results ---------------------------------------------------------------
  function openRows({ rows: [a, b], headings }) {
    const ids = [a.dataset.of, b.dataset.of];
    const text = (row, at) => row.cells[at].textContent.trim() || "—";
    const facts = (role) => {
      const at = headings.flatMap((one, place) => (one.dataset.role === role ? [place] : []));
      const of = (row) => Object.fromEntries(at.map((place) => [headings[place].textContent.trim(), text(row, place)]));
      const [mine, theirs] = [of(a), of(b)];
      return { mine, theirs, differing: Object.keys(mine).filter((name) => mine[name] !== theirs[name]), all: Object.keys(mine) };
    };
    const config = facts("axis");
    const named = ids.map((id, at) => {
      const own = config.differing.slice(0, 3).map((name) => [config.mine, config.theirs][at][name]);
      return [id, ...own].join(" ");
    });
    const result = byId("compare-result");
    const metrics = facts("metric");
    result.replaceChildren(ofRows(a, b, named), make("h3", "Results"), table(...named, { ...metrics, differing: metrics.all }, "Results"), make("h3", "Config"));
    if (config.differing.length) result.append(table(...named, config, "Config"));
    result.append(make("p", `${config.all.length - config.differing.length} of ${config.all.length} columns are the same`, { className: "notes" }));
    if (ids[0] !== ids[1]) for (const [group, label] of GROUPS.slice(1)) result.append(...differing(...ids, group, label));
    opened("Two rows side by side", true);
  }

  function opened(title, isRows) {
    byId("compare-title").textContent = title;
    byId("compare").querySelector(".chosen").hidden = isRows;
    if (!byId("compare").open) byId("compare").showModal();
    document.dispatchEvent(new CustomEvent("report:changed", { detail: { id: "compare-result" } }));
  }

  function differing(a, b, group, label) {
    const found = differences(a, b, group);
    const known = found.differing.length + found.alike;
    const alike = known ? `${found.alike} of ${known} are the same` : "nothing recorded for either";
    return [
      make("h3", label),
      ...(found.differing.length ? [table(a, b, found, label)] : []),
      make("p", alike, { className: "notes" }),
    ];
  }

  async function show() {
    const [a, b] = [byId("compare-a").value, byId("compare-b").value];
    const result = byId("compare-result");
    result.replaceChildren();
    if (!a || !b) return;
    await Promise.all([report.parts.show(a), report.parts.show(b)]);
    result.replaceChildren(ofEntries(a, b));
    for (const [group, label] of GROUPS) result.append(...differing(a, b, group, label));
    result.append(make("h3", "Hypothesis and results"));
    const two = make("div", undefined, { className: "two" });
    two.append(parts(a), parts(b));
    const hint = make("p", "The numbers of both, with what would settle them: ", { className: "notes" });
    hint.append(make("code", `logbook compare ${a} ${b}`));
    result.append(two, hint);
    opened("Two entries side by side", false);
    history.replaceState(null, "", `#diff=${a}..${b}`);
  }

  function open(a, b) {
    const ids = Object.keys(read().entries);
    if (ids.length < 2) return;
    const first = ids.includes(a) ? a : ids.at(-2);
    const second = ids.includes(b) && b !== first ? b : ids.at(ids.indexOf(first) + 1) ?? ids.at(-2);
    fill(byId("compare-a"), first);
    fill(byId("compare-b"), second);
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
    byId("compare").addEventListener("click", (event) => {
      // What a link leads to lies behind the dialog.
      if (event.target.closest("a[href^='#']")) byId("compare").close();
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
    document.addEventListener("report:compare", (event) => openRows(event.detail));
    addEventListener("hashchange", fromAddress);
    fromAddress();
  });
})();
