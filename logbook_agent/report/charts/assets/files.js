// The data of a chart as a table and as CSV; the chart as it is drawn, to keep.
"use strict";
const chartFiles = (() => {
  const MOST_ROWS = 500;
  const HEADINGS = ["series", "x", "y", "from", "to", "said"];
  const element = (name, text) => Object.assign(document.createElement(name), { textContent: text ?? "" });

  function* rows(model) {
    for (const one of model.series) {
      for (const [at, x] of one.x.entries()) {
        yield [one.label, model.ticks?.[x] ?? x, one.y[at], one.low?.[at], one.high?.[at], one.text?.[at] ?? one.entry];
      }
    }
    for (const one of model.bands) yield [one.label, "", "", one.from, one.to, ""];
  }

  function table(model) {
    const holder = document.createElement("div"), made = document.createElement("table");
    const all = [...rows(model)], head = made.createTHead().insertRow(), body = made.createTBody();
    const isNumber = HEADINGS.map((_, at) => at && at < 5 && all.some((row) => typeof row[at] === "number"));
    const used = HEADINGS.map((_, column) => column).filter((at) => at === 2 || all.some((row) => (row[at] ?? "") !== ""));
    for (const at of used) {
      const heading = element("th", HEADINGS[at]);
      heading.scope = "col";
      heading.classList.toggle("num", isNumber[at]);
      head.append(heading);
    }
    for (const row of all.slice(0, MOST_ROWS)) {
      const line = body.insertRow();
      for (const at of used) {
        const cell = line.insertCell();
        cell.textContent = row[at] ?? "";
        cell.classList.toggle("num", isNumber[at]);
      }
    }
    holder.className = "scroll";
    holder.tabIndex = 0;
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", `Data of ${model.title}`);
    holder.append(made);
    const more = all.length - MOST_ROWS;
    return more > 0 ? [holder, Object.assign(element("p", `${more.toLocaleString("en-US")} more points: all are in the CSV file`), { className: "notes" })] : [holder];
  }

  // A text that a spreadsheet would take for a formula is marked as text.
  function field(value) {
    if (typeof value === "number") return String(value);
    const text = String(value ?? "");
    return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  }

  const csv = (model) => [HEADINGS, ...rows(model)].map((row) => row.map((v) => ((v ?? "") === "" ? "" : field(v))).join(",")).join("\r\n");

  function wrapped(ctx, text, width) {
    const lines = [""];
    for (const word of text.split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (ctx.measureText(longer).width > width && lines.at(-1)) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines;
  }

  // The canvas with its title, and the names of what is shown, on paper.
  function png(u, model, hidden, ink) {
    const from = u.ctx.canvas, made = document.createElement("canvas"), ctx = made.getContext("2d");
    const ratio = uPlot.pxRatio, room = from.width - 20 * ratio, family = getComputedStyle(u.root).fontFamily;
    const title = `600 ${14 * ratio}px ${family}`, small = `${12 * ratio}px ${family}`, line = 19 * ratio;
    const legend = [...model.series, ...model.bands].filter((one) => one.label && !hidden.has(one.label));
    ctx.font = title;
    const lines = wrapped(ctx, model.title, room);
    made.width = from.width;
    made.height = from.height + line * (lines.length + legend.length + 1);
    ctx.fillStyle = ink("paper");
    ctx.fillRect(0, 0, made.width, made.height);
    ctx.textBaseline = "top";
    let top = line / 2;
    const write = (text, font, colour) => {
      ctx.font = font;
      ctx.fillStyle = colour;
      ctx.fillText(text, 10 * ratio, top, room);
      top += line;
    };
    for (const text of lines) write(text, title, ink("ink"));
    for (const one of legend) write(`— ${one.label}`, small, ink(one.look.colour));
    ctx.drawImage(from, 0, top);
    return new Promise((done) => made.toBlob(done, "image/png"));
  }

  function save(blob, name) {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  return { table, csv, png, save };
})();
