// Curves, drawn by uPlot over the still picture: drag to zoom, double-click to see all, click a name to hide its line.
"use strict";
(() => {
  const plots = new Map();
  const figures = (scope) => scope.querySelectorAll("figure.curves");
  const dataOf = (figure) => JSON.parse(figure.querySelector("script").textContent);
  const element = (name, values) => Object.assign(document.createElement(name), values);

  // The present colour of a name such as `series-1`.
  function ink(name) {
    const probe = document.body.appendChild(element("i"));
    probe.style.color = `var(--${name})`;
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }

  const joined = ({ series }) => uPlot.join(series.map((one) => [one.x, one.y]));
  const named = ({ label, unit }) => (unit ? `${label} (${unit})` : label);
  const widthOf = (figure) => figure.querySelector("figcaption").clientWidth;

  function draw(figure) {
    const data = dataOf(figure), holder = element("div", { className: "canvas" });
    const [text, grid] = [ink("ink"), { stroke: ink("grid"), width: 1 }];
    const axis = (of) => ({ label: named(of), stroke: text, grid, ticks: grid, font: "12px system-ui", labelFont: "12px system-ui" });
    plots.get(figure.id)?.plot.destroy();
    figure.querySelector(".canvas")?.remove();
    figure.querySelector(".still").before(holder);
    const plot = new uPlot({
      width: widthOf(figure), height: 260,
      scales: { x: { time: false }, y: { distr: data.y.log ? 3 : 1 } },
      axes: [axis(data.x), { ...axis(data.y), size: 64 }],
      series: [{ label: data.x.label }, ...data.series.map((one, at) => ({ label: one.label, stroke: ink(`series-${at % 8 + 1}`), width: 1.6 }))],
    }, joined(data), holder);
    // The names in the legend work by the keyboard, too.
    for (const name of holder.querySelectorAll(".u-series:not(:first-child) th")) name.tabIndex = 0;
    plots.set(figure.id, { plot, figure, names: JSON.stringify(data.series.map((one) => one.label)) });
    sizes.observe(figure);
  }

  // The figure in a new section goes on with the drawing of the one before: its zoom, and the lines that are hidden.
  function adopt(figure) {
    const known = plots.get(figure.id), data = dataOf(figure);
    if (!known || known.names !== JSON.stringify(data.series.map((one) => one.label))) return near.observe(figure);
    if (known.figure === figure) return;
    const { plot } = known, { min, max } = plot.scales.x, steps = plot.data[0];
    figure.querySelector(".still").before(plot.root.parentElement);
    plots.set(figure.id, { ...known, figure });
    plot.setData(joined(data), min <= steps[0] && max >= steps.at(-1));
    sizes.observe(figure);
  }

  function save(figure) {
    const { x, y, series } = dataOf(figure);
    const text = (word) => `"${(/^[=+\-@]/.test(word) ? `'${word}` : word).replaceAll('"', '""')}"`;
    const rows = series.flatMap((one) => one.x.map((step, at) => [text(one.label), step, one.y[at] ?? ""].join(",")));
    const blob = new Blob([["curve", text(x.label), text(y.label)].join(","), "\r\n", rows.join("\r\n"), "\r\n"], { type: "text/csv" });
    const link = element("a", { href: URL.createObjectURL(blob), download: `${figure.id}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  const near = new IntersectionObserver((seen) => {
    for (const one of seen) {
      if (!one.isIntersecting) continue;
      near.unobserve(one.target);
      draw(one.target);
    }
  }, { rootMargin: "300px" });
  const sizes = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const plot = plots.get(target.id)?.plot, width = widthOf(target);
      if (plot && width && width !== plot.width) plot.setSize({ width, height: plot.height });
    }
  });
  const redraw = () => { for (const { figure } of plots.values()) draw(figure); };

  document.addEventListener("report:changed", (event) => {
    figures(document.getElementById(event.detail.id) ?? document.createElement("p")).forEach(adopt);
    for (const [id, { plot }] of plots) {
      if (plot.root.isConnected) continue;
      plot.destroy();
      plots.delete(id);
    }
  });
  document.addEventListener("click", (event) => {
    if (event.target.matches?.(".curves .save")) save(event.target.closest("figure"));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches?.(".u-legend th")) event.target.click();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    figures(document).forEach((figure) => near.observe(figure));
  });
})();
