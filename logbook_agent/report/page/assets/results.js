// The table of all results: filters by the value of an axis, and a choice of columns.
"use strict";
(() => {
  const MOST_VALUES = 30;
  // What the reader chose, by the names of columns, so that it stays when the table is replaced.
  const values = new Map(), hidden = new Set();

  const table = () => document.querySelector("#results .scroll > table");
  const headings = () => [...table().tHead.rows[0].cells];
  const rows = () => [...table().tBodies[0].rows];
  const nameOf = (heading) => heading.textContent.trim();
  const textOf = (row, at) => row.cells[at].textContent.trim();

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
    table().parentElement.before(line);
    // The field that a longer table has.
    const field = section.querySelector(".filter");
    if (field) line.prepend(field);
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
    }
  });
  document.addEventListener("report:changed", (event) => {
    if (event.detail.id === "results") prepare();
  });
  document.addEventListener("DOMContentLoaded", prepare);
})();
