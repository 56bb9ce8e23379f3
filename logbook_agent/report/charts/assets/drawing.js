// A chart on a canvas, by uPlot: it has scales, axes and lines; marks with their intervals and bands are drawn here.
"use strict";
const chartDrawing = (() => {
  const { rangeX, rangeY, splits, logSplits, tick, label } = chartScales;
  const FONT = 12, ROW = 26, LEAST = 44, SIDE_SHARE = 0.42;
  const WHOLE = [1, 2, 5].flatMap((n) => [...Array(15).keys()].map((e) => n * 10 ** e)).sort((a, b) => a - b);
  const measure = document.createElement("canvas").getContext("2d");

  function height(model, width) {
    if (model.turned) return Math.max(150, model.ticks.length * ROW + 70);
    const slant = model.ticks ? 40 : 0;
    return Math.round(Math.min(340, Math.max(230, width * 0.46))) + slant;
  }

  const widest = (texts, font) => {
    measure.font = font;
    return Math.max(0, ...texts.map((text) => measure.measureText(text ?? "").width));
  };

  // As much of a name as there is room for; its end says more than its middle.
  function cut(name, room, font) {
    measure.font = font;
    if (measure.measureText(name).width <= room) return name;
    for (let keep = name.length - 1; keep > 3; keep--) {
      const end = Math.floor(keep / 3);
      const text = `${name.slice(0, keep - end)}…${name.slice(name.length - end)}`;
      if (measure.measureText(text).width <= room) return text;
    }
    return "…";
  }

  // Every n-th value, so that what is written along an axis does not overlap.
  function thinned(u, values, room) {
    const shown = [];
    for (const value of values) {
      const at = u.valToPos(value, "x");
      if (!shown.length || Math.abs(at - u.valToPos(shown.at(-1), "x")) >= room) shown.push(value);
    }
    return shown;
  }

  const byDecades = { splits: (_u, _axis, low, high) => logSplits(low, high), filter: (_, found) => found };

  function axisX(model, width, font, style) {
    const fixed = splits(model);
    const named = model.ticks?.map((name) => cut(name, model.turned ? width * SIDE_SHARE - 24 : 110, font));
    const long = named && !model.turned && widest(named, font) + 10 > (width - 80) / named.length;
    const room = model.turned || long ? FONT + 6 : fixed ? widest((named ?? fixed.map(tick)), font) + 8 : 0;
    return {
      ...style, scale: "x", side: model.turned ? 3 : 2, label: model.turned ? undefined : label(model.x),
      ...(fixed && { splits: (u, _, low, high) => thinned(u, fixed.filter((v) => v >= low && v <= high), room), filter: (_, found) => found }),
      ...(!fixed && model.log.x && byDecades),
      ...(!fixed && model.whole && !model.log.x && { incrs: WHOLE }),
      values: (_, found) => found.map((v) => (v === null ? "" : named ? named[v] ?? "" : tick(v))),
      size: model.turned ? Math.min(width * SIDE_SHARE, Math.max(LEAST, widest(named, font) + 20)) : long ? Math.min(96, widest(named, font) * 0.72 + 24) : 30,
      rotate: long ? 45 : 0,
    };
  }

  function axisY(model, width, font, style) {
    return {
      ...style, scale: "y", side: model.turned ? 2 : 3, label: label(model.y), ...(model.log.y && byDecades),
      values: (_, found) => found.map((v) => (v === null ? "" : tick(v))),
      size: model.turned ? 30 : (_, values) => Math.max(LEAST, widest(values ?? [], font) + 18),
      space: model.turned ? (width < 500 ? 64 : 96) : 40,
    };
  }

  function lines(model, one, ink) {
    const paths = { points: () => null, steps: uPlot.paths.stepped({ align: 1 }), line: (u) => joined(u, model, one) }[one.shape] ?? uPlot.paths.linear();
    return {
      label: one.label, facets: [{ scale: "x", auto: true }, { scale: "y", auto: true }], paths,
      stroke: () => ink(one.look.colour), width: 1.6, dash: one.look.dash.map((n) => n * 2), points: { show: false },
    };
  }

  // Through the marks, where they are drawn.
  function joined(u, model, one) {
    const path = new Path2D(), { left, top } = u.bbox, by = shift(u, model, one);
    let broken = true;
    one.x.forEach((x, at) => {
      const gone = one.y[at] === null || (model.log.y && one.y[at] <= 0);
      if (!gone) path[broken ? "moveTo" : "lineTo"](left + (u.valToPos(x, "x") + by) * uPlot.pxRatio, top + u.valToPos(one.y[at], "y") * uPlot.pxRatio);
      broken = gone;
    });
    return { stroke: path, fill: null, clip: null, band: null, gaps: null, flags: 0 };
  }

  const dataOf = (model) => [null, ...model.series.map((one) => [one.x, model.log.y ? one.y.map((v) => (v > 0 ? v : null)) : one.y])];

  // `state` has what the reader chose: `hidden` labels and `zoom`, a range of x or null. `ink` gives a colour by name.
  function make(holder, model, state, ink, listen) {
    const width = Math.max(200, holder.clientWidth), family = getComputedStyle(holder).fontFamily;
    const font = `${FONT}px ${family}`;
    const line = { show: true, stroke: () => ink("grid"), width: 1 };
    const style = { font, labelFont: font, labelSize: 20, gap: 4, stroke: () => ink("ink"), grid: line, ticks: { ...line, size: 4 } };
    const options = {
      mode: 2, width, height: height(model, width), padding: [10, 30, 0, 0], legend: { show: false },
      series: [null, ...model.series.map((one) => lines(model, one, ink))],
      scales: {
        x: { time: false, distr: model.log.x ? 3 : 1, range: () => state.zoom ?? rangeX(model, state.hidden), ...(model.turned && { ori: 1, dir: -1 }) },
        y: { distr: model.log.y ? 3 : 1, range: () => rangeY(model, state.hidden, state.zoom), ...(model.turned && { ori: 0 }) },
      },
      axes: [axisX(model, width, font, style), axisY(model, width, font, style)],
      cursor: { x: false, y: false, points: { show: false }, dataIdx: () => null, drag: { x: !model.turned, y: false, setScale: false } },
      hooks: {
        drawAxes: [(u) => within(u, () => bands(u, model, state, ink))],
        drawSeries: [(u, at) => marks(u, model, model.series[at - 1], ink)],
        setSelect: [(u) => listen.select(u)],
        draw: [(u) => listen.drawn(u)],
      },
    };
    options.series.forEach((one, at) => { if (at) one.show = !state.hidden.has(one.label); });
    return new uPlot(options, dataOf(model), holder);
  }

  function within(u, draw) {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    draw();
    u.ctx.restore();
  }

  function bands(u, model, state, ink) {
    const { left, top, width, height } = u.bbox, ctx = u.ctx;
    for (const one of model.bands) {
      if (state.hidden.has(one.label)) continue;
      const [a, b] = [one.from, one.to].map((v) => u.valToPos(model.log.y ? Math.max(v, u.scales.y.min) : v, "y", true));
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      const box = model.turned ? [low, top, high - low, height] : [left, low, width, high - low];
      ctx.strokeStyle = ctx.fillStyle = ink(one.look.colour);
      ctx.lineWidth = 1.3 * uPlot.pxRatio;
      ctx.setLineDash((one.from === one.to ? one.look.dash : [2, 3]).map((n) => n * uPlot.pxRatio));
      if (one.from === one.to) {
        ctx.beginPath();
        ctx.moveTo(box[0], box[1]);
        ctx.lineTo(box[0] + box[2], box[1] + box[3]);
        ctx.stroke();
      } else if (one.look.filled) {
        ctx.globalAlpha = 0.16;
        ctx.fillRect(...box);
        ctx.globalAlpha = 1;
      } else ctx.strokeRect(...box);
    }
  }

  // By how many pixels marks of different series at one place are moved apart: all together by less than half of the
  // way to the next place, so that none is read as one of that.
  function shift(u, model, one) {
    const curves = model.series.filter((other) => (other.shape === "line" || other.shape === "points") && u.series[model.series.indexOf(other) + 1].show);
    const count = curves.reduce((sum, other) => sum + other.x.length, 0);
    if (curves.length < 2 || !curves.includes(one) || count === new Set(curves.flatMap((other) => other.x)).size) return 0;
    const at = model.places.map((v) => u.valToPos(v, "x"));
    const room = Math.min(Infinity, ...at.slice(1).map((v, n) => Math.abs(v - at[n])));
    const step = Math.min(5, 22 / curves.length, room / 2 / (curves.length - 1));
    return (curves.indexOf(one) - (curves.length - 1) / 2) * step;
  }

  // The places of a series' marks in pixels of the page within the axes: [across, down] or null, as drawn.
  function places(u, model, one) {
    const by = shift(u, model, one), { x, y } = u.scales;
    return one.x.map((v, at) => {
      const value = one.y[at];
      if (value === null || (model.log.y && value <= 0) || v < x.min || v > x.max || value < y.min || value > y.max) return null;
      const along = u.valToPos(v, "x") + by, level = u.valToPos(value, "y");
      return model.turned ? [level, along] : [along, level];
    });
  }

  function marks(u, model, one, ink) {
    if (one.shape === "curve") return;
    const ctx = u.ctx, ratio = uPlot.pxRatio, count = one.x.length;
    const size = ratio * (one.shape === "steps" ? 2.2 : count <= 40 ? 4 : count <= 200 ? 3 : 2);
    const [left, top] = [u.bbox.left, u.bbox.top], by = ratio;
    ctx.save();
    ctx.setLineDash([]);
    ctx.lineWidth = 1.4 * ratio;
    ctx.strokeStyle = ink(one.look.colour);
    ctx.fillStyle = ink(one.look.filled ? one.look.colour : "paper");
    places(u, model, one).forEach((place, at) => {
      if (!place) return;
      const [across, down] = [left + place[0] * by, top + place[1] * by];
      const [low, high] = [one.low?.[at] ?? null, one.high?.[at] ?? null];
      if (low !== null && high !== null) interval(u, model, low, high, model.turned ? down : across, ratio);
      outline(ctx, one.look.marker, across, down, size);
      ctx.fill();
      ctx.stroke();
    });
    ctx.restore();
  }

  function interval(u, model, low, high, along, ratio) {
    const ctx = u.ctx, ends = [low, high].map((v) => u.valToPos(v, "y", true)), cap = 4 * ratio;
    const go = (name, level, by) => (model.turned ? ctx[name](level, along + by) : ctx[name](along + by, level));
    ctx.beginPath();
    go("moveTo", ends[0], 0);
    go("lineTo", ends[1], 0);
    for (const end of ends) {
      go("moveTo", end, -cap);
      go("lineTo", end, cap);
    }
    ctx.stroke();
  }

  function outline(ctx, marker, across, down, size) {
    ctx.beginPath();
    if (!marker) return ctx.arc(across, down, size, 0, 2 * Math.PI);
    const [corners, turn, inner] = marker, steps = inner < 1 ? corners * 2 : corners;
    for (let n = 0; n < steps; n++) {
      const angle = (turn * Math.PI) / 4 + (n * 2 * Math.PI) / steps, reach = 1.15 * size * (inner < 1 && n % 2 ? inner : 1);
      ctx.lineTo(across + reach * Math.cos(angle), down + reach * Math.sin(angle));
    }
    ctx.closePath();
  }

  return { make, places, shift, outline, height, dataOf };
})();
