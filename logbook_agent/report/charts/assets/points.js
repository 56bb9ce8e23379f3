// The points of a chart: which is near, which comes next, what is said of one, and where it leads.
"use strict";
const chartPoints = (() => {
  const REACH = 28;
  const { places } = chartDrawing;
  const drawn = (u, model, one) => places(u, model, one).flatMap((place, index) => (place ? [{ one, index, place }] : []));

  function said(model, { one, index }) {
    if (one.text?.[index]) return one.text[index];
    const x = model.ticks?.[one.x[index]] ?? chartScales.tick(one.x[index]), unit = model.y.unit ? ` ${model.y.unit}` : "";
    return `${one.label ? `${one.label}, ` : ""}${model.x.label} ${x}: ${one.y[index]}${unit}`;
  }

  // Data may come from anywhere: a click leads to a place in this page, and nowhere else.
  function href({ one, index }) {
    const own = one.href?.[index] ?? (one.entry ? `#${one.entry}` : null);
    return own?.startsWith("#") ? own : null;
  }

  function nearest(u, model, series, left, top) {
    let [best, reach] = [null, REACH ** 2];
    for (const one of series) {
      places(u, model, one).forEach((place, index) => {
        const far = place ? (place[0] - left) ** 2 + (place[1] - top) ** 2 : Infinity;
        if (far < reach) [best, reach] = [{ one, index, place }, far];
      });
    }
    return best;
  }

  // From a point to a neighbour in its series (`by`), or in the series before or after it (`across`) at the nearest x.
  function neighbour(u, model, series, from, by, across) {
    const rows = series.map((one) => drawn(u, model, one)).filter((points) => points.length);
    if (!rows.length) return null;
    const now = rows.findIndex((points) => points[0].one === from?.one);
    if (now < 0) return by === -1 || by === Infinity ? rows[0].at(-1) : rows[0][0];
    const row = rows[(now + across + rows.length) % rows.length];
    if (across) {
      const far = (point) => Math.abs(point.one.x[point.index] - from.one.x[from.index]);
      return row.reduce((a, b) => (far(b) < far(a) ? b : a));
    }
    const at = row.findIndex((point) => point.index === from.index);
    return row[Math.min(Math.max(at + by, 0), row.length - 1)];
  }

  return { said, href, nearest, neighbour };
})();
