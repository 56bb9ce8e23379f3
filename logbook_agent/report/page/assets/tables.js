// Tables of measured rows sort by a click on a heading, and filter by words, where they have more than a few rows.
"use strict";
(() => {
  const FEW = 2, FILTERED = 8;

  // "3,934 [3,297, 4,418]" sorts as 3934; what begins with no number, as text behind all numbers.
  function valueOf(cell) {
    const text = cell?.textContent.trim() ?? "";
    const number = text.replace(/\u2212/g, "-").match(/^[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?/i);
    return { text, number: number ? Number(number[0].replaceAll(",", "")) : NaN };
  }

  function compare(a, b) {
    const numbers = !Number.isNaN(a.number) - !Number.isNaN(b.number);
    if (numbers) return -numbers;
    if (!Number.isNaN(a.number) && a.number !== b.number) return a.number - b.number;
    return a.text.localeCompare(b.text, undefined, { numeric: true });
  }

  function sort(heading) {
    const table = heading.closest("table");
    const column = [...heading.parentElement.children].indexOf(heading);
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row, at) => ({ row, at, value: valueOf(row.cells[column]) }));
    rows.sort((a, b) => {
      const empty = (a.value.text === "" || a.value.text === "—") - (b.value.text === "" || b.value.text === "—");
      return empty || (down ? -1 : 1) * compare(a.value, b.value) || a.at - b.at;
    });
    table.tBodies[0].append(...rows.map((one) => one.row));
  }

  function filter(field) {
    const around = field.closest(".tools") ?? field.closest(".filter");
    const table = around.nextElementSibling.querySelector("table");
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    field.nextElementSibling.textContent = words.length ? `${shown} of ${table.tBodies[0].rows.length} rows` : "";
  }

  // A wide table scrolls by itself; without a mouse, when it has the focus.
  function makeReachable(table) {
    const box = table.closest(".scroll") ?? document.createElement("div");
    if (!box.contains(table)) {
      box.className = "scroll";
      table.replaceWith(box);
      box.append(table);
    }
    const title = box.closest("dd")?.previousElementSibling ?? box.closest("section")?.querySelector("h2");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", title?.textContent ?? "Table");
  }

  // -- the data of a plot, which the page has as CSV ------------------------------------------------
  function rowsOf(link) {
    const text = decodeURIComponent(link.getAttribute("href").replace(/^[^,]*,/, "")), rows = [[]];
    for (const [, cell, end] of text.matchAll(/("(?:[^"]|"")*"|[^,\r]*)(,|\r\n)/g)) {
      rows.at(-1).push(cell.replace(/^"|"$/g, "").replaceAll('""', '"'));
      if (end !== ",") rows.push([]);
    }
    return rows.slice(0, -1);
  }

  function showData(link) {
    const table = document.createElement("table");
    const [names, ...rows] = rowsOf(link);
    const fill = (row, tag, cells) => cells.forEach((text, at) => {
      const cell = row.appendChild(document.createElement(tag));
      const isEntry = tag === "td" && names[at] === "entry" && document.getElementById(text);
      const link = { href: `#${text}`, className: "id" };
      (isEntry ? cell.appendChild(Object.assign(document.createElement("a"), link)) : cell).textContent = text;
      if (/^(x|y|low|high|n)$/.test(names[at])) cell.className = "num";
    });
    fill(table.createTHead().insertRow(), "th", names);
    const body = table.createTBody();
    for (const row of rows) fill(body.insertRow(), "td", row);
    link.parentElement.before(table);
  }

  function prepare(scope) {
    for (const link of scope.querySelectorAll(".chart a[download]")) showData(link);
    for (const table of scope.querySelectorAll("main table:not(.u-legend)")) {
      if (!table.tHead) table.createTHead().append(table.rows[0]);
      makeReachable(table);
      const rows = table.tBodies[0]?.rows.length ?? 0;
      if (rows < FEW || table.dataset.ready) continue;
      table.dataset.ready = "yes";
      for (const heading of table.tHead?.querySelectorAll("th") ?? []) {
        const button = document.createElement("button");
        button.type = "button";
        button.append(...heading.childNodes);
        heading.append(button);
      }
      if (rows < FILTERED) continue;
      const line = document.createElement("div");
      const field = document.createElement("input");
      const count = document.createElement("output");
      line.className = "filter";
      field.type = "search";
      field.placeholder = "Filter rows";
      field.setAttribute("aria-label", "Filter this table: rows that contain all words");
      line.append(field, count);
      table.parentElement.before(line);
    }
  }

  document.addEventListener("click", (event) => {
    const heading = event.target.closest?.("thead th");
    if (heading?.querySelector("button")) sort(heading);
  });
  document.addEventListener("input", (event) => {
    if (event.target.closest?.(".filter")) filter(event.target);
  });
  document.addEventListener("report:changed", (event) => {
    const changed = document.getElementById(event.detail.id);
    if (changed) prepare(changed);
  });
  document.addEventListener("DOMContentLoaded", () => prepare(document));
})();
