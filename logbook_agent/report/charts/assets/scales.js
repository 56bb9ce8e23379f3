// What a chart shows as numbers: its series with their looks, the ranges of its axes, and the values along them.
"use strict";
const chartScales = (() => {
  const SUFFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"]];
  // Numbers of corners, the turn of the first (in eighths of a circle) and the inner radius of stars.
  const MARKERS = [null, [4, 1, 1], [3, -2, 1], [4, 0, 1], [3, 2, 1], [4, 0, 0.4], [4, 1, 0.4], [5, -2, 1]];
  const DASHES = [[], [5, 1.5], [1, 1.2], [5, 1.2, 1, 1.2], [8, 2], [3, 1], [8, 1.2, 1, 1.2, 1, 1.2], [2, 2]];
  const BESIDE = [4, 2];
  const COLOURS = 8, LABELLED = 12;

  const grouped = (value, digits) => Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 20 });

  // A number on an axis: 12.5, 40,000, 1.2G.
  function tick(value) {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 1e-4 || size >= 1e18) return String(Number(value.toPrecision(3)));
    const [least, suffix] = SUFFIXES.find(([from]) => size >= from) ?? [1, ""];
    return grouped(value / least, suffix ? 4 : 6).replace("-", "−") + suffix;
  }

  const label = (axis) => (axis.unit ? `${axis.label} (${axis.unit})` : axis.label);

  // Curves and marks have a colour each; levels and bands share one that follows, or are grey beside what is asked.
  function looks(series, bands) {
    let [number, lines] = [0, 0];
    for (const one of series) {
      const dash = one.shape === "points" ? [] : one.beside ? BESIDE : DASHES[lines++ % DASHES.length];
      const marker = MARKERS[(number + Math.floor(number / COLOURS)) % MARKERS.length];
      one.look = { colour: `series-${number++ % COLOURS + 1}`, dash, marker, filled: !one.beside };
    }
    for (const one of bands) {
      const colour = one.beside ? "muted" : `series-${series.length % COLOURS + 1}`;
      one.look = { colour, dash: one.beside ? BESIDE : [], filled: !one.beside };
    }
  }

  // The JSON of a chart with all that follows from it. `turned`: names of cases stand along the vertical axis.
  function read(json) {
    const series = json.series.map((one) => ({ ...one, shape: one.shape ?? (json.kind === "lines" ? "curve" : "points") }));
    const bands = json.bands ?? [];
    looks(series, bands);
    const ys = series.flatMap((one) => one.y).filter((v) => v !== null);
    const xs = series.flatMap((one) => one.x);
    const ticks = json.x.ticks ?? null;
    const log = { x: Boolean(json.x.log) && !ticks && xs.every((v) => v > 0), y: Boolean(json.y.log) && ys.every((v) => v > 0) };
    if (log.y) for (const one of series) if (one.low) one.low = one.low.map((v) => (v > 0 ? v : null));
    const turned = Boolean(ticks) && series.every((one) => one.shape === "points");
    const places = [...new Set(xs)].sort((a, b) => a - b);
    return { ...json, series, bands, log, ticks, turned, places, whole: places.every(Number.isInteger), marked: json.kind !== "lines" };
  }

  function around(values, log, share) {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) {
      if (value === null || value === undefined || (log && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (low > high) return log ? [1, 10] : [0, 1];
    const [from, to] = log ? [Math.log10(low), Math.log10(high)] : [low, high];
    const pad = (to - from) * share || (log ? 0.1 : Math.abs(from) * 0.1 || 1);
    return log ? [10 ** (from - pad), 10 ** (to + pad)] : [from - pad, to + pad];
  }

  const shown = (model, hidden) => model.series.filter((one) => !hidden.has(one.label));

  function rangeX(model, hidden) {
    if (model.ticks) return [-0.6, model.ticks.length - 0.4];
    return around(shown(model, hidden).flatMap((one) => one.x), model.log.x, model.marked ? 0.05 : 0.01);
  }

  // Around the marks, intervals and bands that are to be seen.
  function rangeY(model, hidden, zoom) {
    const values = model.bands.filter((one) => !hidden.has(one.label)).flatMap((one) => [one.from, one.to]);
    for (const one of shown(model, hidden)) {
      one.x.forEach((x, at) => {
        if (zoom && (x < zoom[0] || x > zoom[1])) return;
        values.push(one.y[at], one.low?.[at], one.high?.[at]);
      });
    }
    return around(values, model.log.y, 0.08);
  }

  // The values of the marks where these are few and lie apart, so that a reader finds them; null elsewhere.
  function splits(model) {
    if (model.ticks) return model.ticks.map((_, at) => at);
    const at = model.places.map((v) => (model.log.x ? Math.log10(v) : v));
    const span = at.at(-1) - at[0];
    const apart = at.every((v, n) => n === 0 || v - at[n - 1] >= 0.05 * span);
    return model.marked && at.length > 0 && at.length <= LABELLED && apart ? model.places : null;
  }

  // Round numbers along a logarithmic axis: more within a decade where there are few decades.
  function logSplits(low, high) {
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    for (const steps of [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9], [...Array(90).keys()].map((n) => 1 + n / 10)]) {
      const found = [];
      for (let power = first; power <= last; power++) {
        // What is written is what the number is: 0.3, not 0.30000000000000004.
        for (const step of steps) found.push(Number(`${Number(step.toFixed(1))}e${power}`));
      }
      const inside = found.filter((v) => v >= low && v <= high);
      if (inside.length >= 4) return inside.filter((_, at) => at % Math.ceil(inside.length / LABELLED) === 0);
    }
    return [low, high];
  }

  return { read, tick, label, rangeX, rangeY, splits, logSplits };
})();
