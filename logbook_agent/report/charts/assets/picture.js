// A chart as SVG, as it is shown: for paper, and to keep.
"use strict";
const chartPicture = (() => {
  const LINE = 18, SMALL = 12;
  const { places, shift, outline } = chartDrawing;
  const escaped = (value) => String(value).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const short = (number) => Number(number.toFixed(2));

  function tag(name, values, inner = "") {
    const attributes = Object.entries(values).map(([key, value]) => ` ${key}="${escaped(typeof value === "number" ? short(value) : value)}"`);
    return `<${name}${attributes.join("")}>${inner}</${name}>`;
  }

  const text = (words, x, y, more) => tag("text", { x, y, ...more }, escaped(words));
  const stroke = (one, ink) => ({ stroke: ink(one.look.colour), fill: "none", "stroke-width": 1.6, ...(one.look.dash.length && { "stroke-dasharray": one.look.dash.map((n) => n * 2).join(" ") }) });

  // What is drawn with the words of a canvas, as the data of a path.
  function path(draw) {
    const parts = [];
    const to = (x, y) => parts.push(`${parts.length ? "L" : "M"}${short(x)} ${short(y)}`);
    draw({ beginPath() {}, lineTo: to, closePath: () => parts.push("Z"), arc: (x, y, r) => parts.push(`M${short(x - r)} ${short(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`) });
    return parts.join("");
  }

  function axis(u, one, box, ink) {
    const below = one.side === 2, parts = [];
    one._splits.forEach((value, at) => {
      const pos = u.valToPos(value, one.scale), [x, y] = below ? [box.left + pos, box.top + box.height] : [box.left, box.top + pos];
      const line = below ? { x1: x, x2: x, y1: box.top, y2: y } : { x1: x, x2: box.left + box.width, y1: y, y2: y };
      parts.push(tag("line", { ...line, stroke: ink("grid") }));
      const words = one._values[at];
      if (!words) return;
      if (!below) parts.push(text(words, x - 8, y + 4, { "text-anchor": "end" }));
      else if (one._rotate) parts.push(text(words, 0, 0, { "text-anchor": "end", transform: `translate(${short(x + 4)} ${short(y + 16)}) rotate(-45)` }));
      else parts.push(text(words, x, y + 18, { "text-anchor": "middle" }));
    });
    if (one.label) {
      const middle = below ? `translate(${short(box.left + box.width / 2)} ${short(box.bottom - 6)})` : `translate(14 ${short(box.top + box.height / 2)}) rotate(-90)`;
      parts.push(text(one.label, 0, 0, { "text-anchor": "middle", transform: middle }));
    }
    return parts.join("");
  }

  function band(u, model, one, box, ink) {
    const [a, b] = [one.from, one.to].map((v) => u.valToPos(model.log.y ? Math.max(v, u.scales.y.min) : v, "y"));
    const [low, size] = [Math.min(a, b), Math.abs(a - b)];
    if (!size) return tag("line", { ...(model.turned ? { x1: low, x2: low, y1: 0, y2: box.height } : { x1: 0, x2: box.width, y1: low, y2: low }), ...stroke(one, ink) });
    const place = model.turned ? { x: low, y: 0, width: size, height: box.height } : { x: 0, y: low, width: box.width, height: size };
    return tag("rect", { ...place, ...(one.look.filled ? { fill: ink(one.look.colour), "fill-opacity": 0.16 } : { ...stroke(one, ink), "stroke-dasharray": "2 3" }) });
  }

  function lines(u, model, one, ink) {
    if (one.shape === "points") return "";
    const by = shift(u, model, one), parts = [];
    let [broken, level] = [true, 0];
    one.x.forEach((x, at) => {
      const gone = one.y[at] === null || (model.log.y && one.y[at] <= 0);
      if (!gone) {
        const spot = [short(u.valToPos(x, "x") + by), short(u.valToPos(one.y[at], "y"))];
        if (one.shape === "steps" && !broken) parts.push(`L${spot[0]} ${level}`);
        parts.push(`${broken ? "M" : "L"}${spot[0]} ${spot[1]}`);
        level = spot[1];
      }
      broken = gone;
    });
    return tag("path", { d: parts.join(""), ...stroke(one, ink) });
  }

  function marks(u, model, one, ink) {
    if (one.shape === "curve") return "";
    const size = one.shape === "steps" ? 2.2 : one.x.length <= 40 ? 4 : 2.5, colour = ink(one.look.colour);
    const found = places(u, model, one).map((place, at) => {
      if (!place) return "";
      const ends = [one.low?.[at] ?? null, one.high?.[at] ?? null], parts = [tag("title", {}, escaped(one.text?.[at] ?? ""))];
      if (!ends.includes(null)) {
        const [low, high] = ends.map((v) => short(u.valToPos(v, "y"))), along = model.turned ? place[1] : place[0];
        const at2 = (level, by) => (model.turned ? `${level} ${short(along + by)}` : `${short(along + by)} ${level}`);
        parts.push(tag("path", { d: `M${at2(low, 0)}L${at2(high, 0)}M${at2(low, -4)}L${at2(low, 4)}M${at2(high, -4)}L${at2(high, 4)}` }));
      }
      parts.push(tag("path", { d: path((ctx) => outline(ctx, one.look.marker, ...place, size)), fill: one.look.filled ? colour : ink("paper") }));
      return tag("g", {}, parts.join(""));
    });
    return tag("g", { stroke: colour, "stroke-width": 1.4 }, found.join(""));
  }

  function wrapped(words, characters) {
    const rows = [""];
    for (const word of words.split(" ")) {
      if (rows.at(-1) && rows.at(-1).length + word.length >= characters) rows.push(word);
      else rows[rows.length - 1] = `${rows.at(-1)} ${word}`.trim();
    }
    return rows;
  }

  // `titled`: with the title above it.
  function svg(u, model, hidden, ink, titled) {
    const ratio = uPlot.pxRatio, shown = (all) => all.filter((one) => !hidden.has(one.label));
    const titles = titled ? wrapped(model.title, u.width / 8) : [], named = shown([...model.series, ...model.bands]).filter((one) => one.label);
    const legend = model.series.length + model.bands.length > 1 ? named : [], head = LINE * (titles.length + legend.length) + 10;
    const [left, top, width, height] = [u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height].map((v) => v / ratio);
    const box = { left, top: head + top, width, height, bottom: head + u.height };
    const inside = [
      ...shown(model.bands).map((one) => band(u, model, one, box, ink)),
      ...shown(model.series).flatMap((one) => [lines(u, model, one, ink), marks(u, model, one, ink)]),
    ];
    const parts = [
      tag("title", {}, escaped(model.title)),
      tag("rect", { width: u.width, height: box.bottom, fill: ink("paper") }),
      ...titles.map((words, at) => text(words, 8, LINE * (at + 1), { "font-size": 14, "font-weight": 600 })),
      ...legend.flatMap((one, at) => {
        const y = LINE * (titles.length + at + 1);
        return [tag("path", { d: `M8 ${y - 4}h22`, ...stroke(one, ink) }), text(one.label, 36, y)];
      }),
      ...u.axes.map((one) => axis(u, one, box, ink)),
      tag("svg", { x: left, y: box.top, width, height, overflow: "hidden" }, inside.join("")),
    ];
    const about = { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${u.width} ${short(box.bottom)}`, width: u.width, height: box.bottom };
    return tag("svg", { ...about, role: "img", fill: ink("ink"), "font-family": "system-ui, sans-serif", "font-size": SMALL }, parts.join(""));
  }

  return { svg };
})();
