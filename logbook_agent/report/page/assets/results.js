// The table of all results: filters by the value of an axis, a choice of columns, and a comparison of two ticked rows.
"use strict";
(() => {
  const MOST_VALUES = 30;
  // What the reader chose, by the names of columns and rows, so that it stays when the table is replaced.
  const values = new Map(), hidden = new Set();
  let ticked = [];

  const table = () => document.querySelector("#results .scroll > table");
  const headings = () => [...table().tHead.rows[0].cells];
  const rows = () => [...table().tBodies[0].rows];
  const nameOf = (heading) => heading.textContent.trim();
  const textOf = (row, at) => row.cells[at].textContent.trim();
  // What a row is called: its entry and config. Its metrics may change.
  const naming = () => headings().flatMap((one, at) => (one.dataset.role === "metric" ? [] : [at]));
  const keyOf = (row, places = naming()) => {
    const known = places.map((at) => textOf(row, at)).filter((text) => text !== row.dataset.of);
    return [row.dataset.of, ...known].join(" ");
  };

  function make(tag, text, more = {}) {
    const element = Object.assign(document.createElement(tag), more);
    if (text) element.textContent = text;
    return element;
  }

  function panel(label, fields) {
    const fold = make("details", "", { className: "panel" });
    const held = make("div");
    held.append(...fields);
    fold.append(make("summary", label), held);
    return fold;
  }

  function labelled(name, field) {
    const label = make("label");
    if (field.type === "checkbox") label.append(field, ` ${name}`);
    else label.append(`${name} `, field);
    return label;
  }

  // -- filters by value -----------------------------------------------------------------------------
  function filters() {
    return headings().flatMap((heading, at) => {
      if (heading.dataset.role !== "axis") return [];
      const found = [...new Set(rows().map((row) => textOf(row, at)))];
      if (found.length < 2 || found.length > MOST_VALUES) return [];
      found.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
      const name = nameOf(heading);
      const select = make("select");
      select.dataset.column = name;
      select.append(make("option", "all", { value: "all" }));
      found.forEach((text) => select.append(make("option", text || "(none)", { value: `=${text}` })));
      select.value = values.get(name) ?? "all";
      if (select.selectedIndex < 0) select.value = "all";
      return [labelled(name, select)];
    });
  }

  function fit() {
    const wanted = headings().map((heading) => values.get(nameOf(heading)) ?? "all");
    let shown = 0;
    for (const row of rows()) {
      const fits = wanted.every((value, at) => value === "all" || value === `=${textOf(row, at)}`);
      row.toggleAttribute("data-unfit", !fits);
      shown += fits;
    }
    const by = wanted.filter((value) => value !== "all").length;
    const fold = document.querySelector("#results .tools .by-value > summary");
    if (fold) fold.textContent = by ? `Filter: ${shown} of ${rows().length} rows` : "Filter by value";
  }

  // -- columns --------------------------------------------------------------------------------------
  function columns() {
    return headings().flatMap((heading) => {
      if (heading.dataset.role === "lead") return [];
      const name = nameOf(heading);
      const box = make("input", "", { type: "checkbox", checked: !hidden.has(name) });
      box.dataset.show = name;
      return [labelled(name, box)];
    });
  }

  function showColumns() {
    headings().forEach((heading, at) => {
      const isHidden = hidden.has(nameOf(heading));
      if (heading.hidden === isHidden) return;
      heading.hidden = isHidden;
      for (const row of rows()) row.cells[at].hidden = isHidden;
    });
  }

  // -- two rows -------------------------------------------------------------------------------------
  function offerTicks() {
    const places = naming();
    for (const row of rows()) {
      const key = keyOf(row, places);
      const box = make("input", "", { type: "checkbox", className: "tick", checked: ticked.includes(key) });
      box.setAttribute("aria-label", `Compare row ${key}`);
      row.cells[0].prepend(box);
    }
  }

  function sayTicks() {
    const places = naming();
    const there = new Map(rows().map((row) => [keyOf(row, places), row]));
    ticked = ticked.filter((key) => there.has(key)).slice(-2);
    for (const [key, row] of there) {
      row.cells[0].querySelector(".tick").checked = ticked.includes(key);
      row.classList.toggle("ticked", ticked.includes(key));
    }
    const button = document.querySelector("#results .compare-rows");
    button.disabled = ticked.length < 2;
    button.nextElementSibling.textContent = ["tick two rows to compare them", "tick one more row"][ticked.length] ?? "";
  }

  function compare() {
    const found = rows();
    const pair = ticked.map((key) => found.find((row) => keyOf(row) === key));
    document.dispatchEvent(new CustomEvent("report:compare", { detail: { rows: pair, headings: headings() } }));
  }

  function prepare() {
    const section = document.getElementById("results");
    if (!section || !table() || rows().length < 2 || section.querySelector(".tools")) return;
    const line = make("div", "", { className: "tools" });
    const byValue = filters();
    if (byValue.length) {
      const fold = panel("Filter by value", byValue);
      fold.classList.add("by-value");
      line.append(fold);
    }
    line.append(panel("Columns", columns()));
    const button = make("button", "Compare rows", { type: "button", className: "compare-rows" });
    line.append(button, make("output"));
    table().parentElement.before(line);
    // The field that a longer table has.
    const field = section.querySelector(".filter");
    if (field) line.prepend(field);
    offerTicks();
    sayTicks();
    fit();
    showColumns();
  }

  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field.dataset.column) {
      values.set(field.dataset.column, field.value);
      fit();
    } else if (field.dataset.show) {
      if (field.checked) hidden.delete(field.dataset.show);
      else hidden.add(field.dataset.show);
      showColumns();
    } else if (field.classList.contains("tick")) {
      const key = keyOf(field.closest("tr"));
      ticked = ticked.filter((one) => one !== key);
      if (field.checked) ticked.push(key);
      sayTicks();
    }
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.(".compare-rows")) compare();
  });
  document.addEventListener("report:changed", (event) => {
    if (event.detail.id === "results") prepare();
  });
  document.addEventListener("DOMContentLoaded", prepare);
})();
