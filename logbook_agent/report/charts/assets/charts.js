// Charts: each `figure.chart` with its data as JSON gets a drawing, a legend that switches series on and off, and files.
// They are drawn when they come near, and keep what the reader chose when the page replaces its sections.
"use strict";
(() => {
  // Data that come faster than this (ms) are drawn together.
  const PACE = 1000;
  const STEP = 0.6;
  const { make, height, dataOf } = chartDrawing;
  const views = new Map();
  const element = (name, values) => Object.assign(document.createElement(name), values);
  const dataIn = (figure) => chartScales.read(JSON.parse(figure.querySelector("script.chart-data").textContent));
  let printing = false;

  class View {
    constructor(figure) {
      this.state = { hidden: new Set(), zoom: null };
      this.inks = new Map();
      this.root = element("div", { className: "chart-view" });
      this.legend = element("div", { className: "legend" });
      this.canvas = element("div", { className: "canvas", tabIndex: 0 });
      this.lit = element("div", { className: "chart-lit", hidden: true });
      this.probe = element("span", { hidden: true });
      this.data = element("details");
      this.data.append(element("summary", { textContent: "Data of this plot" }));
      this.data.addEventListener("toggle", () => this.tabulate());
      this.tools = element("div", { className: "chart-tools" });
      this.reset = this.button("Reset zoom", () => this.zoomTo(null));
      this.reset.hidden = true;
      this.save = {
        csv: this.button("CSV", () => chartFiles.save(new Blob([chartFiles.csv(this.model)], { type: "text/csv" }), `${this.name}.csv`)),
        png: this.button("PNG", async () => chartFiles.save(await chartFiles.png(this.u, this.model, this.state.hidden, this.ink), `${this.name}.png`)),
        svg: this.button("SVG", () => chartFiles.save(new Blob([this.picture(true)], { type: "image/svg+xml" }), `${this.name}.svg`)),
      };
      this.root.append(this.legend, this.canvas, this.probe, this.tools, this.data);
      this.listen();
      this.adopt(figure);
    }

    button(text, act) {
      const made = element("button", { type: "button", textContent: text, className: "plain" });
      made.addEventListener("click", act);
      this.tools.append(made);
      return made;
    }

    // Take the place in a figure, which another one of the same name may have had before.
    adopt(figure) {
      const known = this.figure;
      this.figure = figure;
      this.name = figure.id.replace(/^plot-/, "") || "chart";
      if (!figure.querySelector("figcaption")) figure.prepend(this.caption ??= element("figcaption", { className: "chart-title" }));
      figure.append(this.root);
      if (!known) this.show();
      else this.due ??= setTimeout(() => { this.due = null; this.show(); }, Math.max(0, PACE - performance.now() + this.when));
    }

    // Show the data of the figure.
    show() {
      const { figure } = this, model = dataIn(figure), same = this.u && this.frame(this.model) === this.frame(model);
      this.when = performance.now();
      // What draws it holds on to the model.
      this.model = same ? Object.assign(this.model, model) : model;
      if (this.caption) this.caption.textContent = model.title;
      this.canvas.setAttribute("role", "group");
      this.canvas.setAttribute("aria-label", `${this.model.title}: chart; arrow keys step through its points, Enter opens the entry of a point, + and - zoom`);
      for (const [name, one] of Object.entries(this.save)) one.setAttribute("aria-label", `Save ${this.model.title} as ${name.toUpperCase()}`);
      if (same) this.u.setData(dataOf(this.model), true);
      else this.explain();
      if (this.u && !same) this.draw();
      if (this.data.open) this.tabulate();
      if (!this.u) near.observe(figure);
    }

    // What the drawing is made for; all else of a model may change in it.
    frame(model) {
      const { kind, x, y, log, ticks, turned, bands } = model;
      return JSON.stringify([kind, x, y, log, ticks, turned, bands, model.marked && model.places, model.series.map((one) => [one.label, one.look])]);
    }

    draw() {
      if (!this.canvas.clientWidth) return;
      this.u?.destroy();
      this.u = make(this.canvas, this.model, this.state, this.ink, {
        select: (u) => this.selected(u),
        drawn: () => { this.canvas.dataset.drawn = performance.now().toFixed(1); },
      });
      this.u.over.append(this.lit);
      this.width = this.canvas.clientWidth;
      near.unobserve(this.figure);
      sizes.observe(this.canvas);
    }

    resize() {
      const width = this.canvas.clientWidth;
      if (!width || width === this.width) return;
      // Names along an axis are cut for the width.
      if (this.model.ticks) return this.draw();
      this.width = width;
      this.u.setSize({ width, height: height(this.model, width) });
    }

    ink = (name) => {
      if (!this.inks.has(name)) {
        this.probe.style.colorScheme = printing ? "light" : "";
        this.probe.style.color = `var(--${name})`;
        this.inks.set(name, getComputedStyle(this.probe).color);
      }
      return this.inks.get(name);
    };

    recolour() {
      this.inks.clear();
      this.u?.redraw(false);
    }

    // -- legend --------------------------------------------------------------------------------------
    explain() {
      const items = [...this.model.series, ...this.model.bands].filter((one) => one.label);
      this.legend.replaceChildren(...(items.length > 1 ? items : []).map((one) => {
        const made = element("button", { type: "button", className: "plain" }), swatch = element("span");
        const kind = "from" in one ? (one.from === one.to ? "rule" : "band") : one.shape;
        swatch.className = `swatch ${kind} ink-${one.look.colour}${one.look.filled ? "" : " beside"}`;
        made.append(swatch, one.label);
        made.setAttribute("aria-pressed", String(!this.state.hidden.has(one.label)));
        made.addEventListener("click", () => this.toggle(one.label, made));
        return made;
      }));
    }

    toggle(label, button) {
      const { hidden } = this.state, shown = hidden.delete(label);
      if (!shown) hidden.add(label);
      button.setAttribute("aria-pressed", String(shown));
      this.light(null);
      this.u?.batch(() => {
        this.model.series.forEach((one, at) => { if (one.label === label) this.u.setSeries(at + 1, { show: shown }); });
        this.refresh();
      });
    }

    // -- zoom ----------------------------------------------------------------------------------------
    selected(u) {
      const { left, width } = u.select;
      if (width > 4) {
        const ends = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
        this.dragged = performance.now();
        this.zoomTo(ends);
      }
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    }

    zoomTo(range) {
      if (range && !(range[1] > range[0])) return;
      this.state.zoom = range;
      this.reset.hidden = !range;
      this.light(null);
      this.refresh();
    }

    refresh() {
      this.u?.setScale("x", { min: null, max: null });
      this.u?.setScale("y", { min: null, max: null });
    }

    // By the keyboard: around the point that is shown, else around the middle.
    zoomBy(factor) {
      const { x } = this.u.scales, on = (v) => (this.model.log.x ? Math.log10(v) : v), off = (v) => (this.model.log.x ? 10 ** v : v);
      const [low, high] = [on(x.min), on(x.max)];
      const middle = this.at ? on(this.at.one.x[this.at.index]) : (low + high) / 2;
      this.zoomTo([off(middle - (middle - low) * factor), off(middle + (high - middle) * factor)]);
    }

    // -- points --------------------------------------------------------------------------------------
    shown() {
      return this.model.series.filter((one) => !this.state.hidden.has(one.label));
    }

    nearest(left, top) {
      return chartPoints.nearest(this.u, this.model, this.shown(), left, top);
    }

    light(found) {
      const tip = document.getElementById("tip");
      this.at = found;
      tip.hidden = this.lit.hidden = !found;
      this.canvas.classList.toggle("leads", Boolean(found && chartPoints.href(found)));
      if (!found) return;
      const [left, top] = found.place, over = this.u.over.getBoundingClientRect();
      this.lit.style.left = `${left}px`;
      this.lit.style.top = `${top}px`;
      tip.textContent = chartPoints.said(this.model, found);
      const across = over.left + left - tip.offsetWidth / 2, above = over.top + top - tip.offsetHeight - 14;
      tip.style.left = `${Math.min(Math.max(8, across), innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${above < 8 ? over.top + top + 14 : above}px`;
    }

    go(found) {
      const href = found && chartPoints.href(found);
      if (href) location.hash = href;
    }

    step(by, across) {
      this.light(chartPoints.neighbour(this.u, this.model, this.shown(), this.at, by, across));
    }

    listen() {
      const { canvas } = this, spot = (event) => {
        const over = this.u.over.getBoundingClientRect();
        return this.nearest(event.clientX - over.left, event.clientY - over.top);
      };
      canvas.addEventListener("pointermove", (event) => { if (this.u) this.light(event.buttons ? null : spot(event)); });
      canvas.addEventListener("pointerleave", () => this.light(null));
      canvas.addEventListener("click", (event) => {
        // What ends a drag is no click.
        if (this.u && !(performance.now() - this.dragged < 300)) this.go(spot(event));
      });
      canvas.addEventListener("dblclick", (event) => { event.stopPropagation(); this.zoomTo(null); }, true);
      canvas.addEventListener("focusout", () => this.light(null));
      const keys = {
        ArrowRight: () => this.step(1, 0), ArrowLeft: () => this.step(-1, 0), ArrowDown: () => this.step(0, 1), ArrowUp: () => this.step(0, -1),
        Home: () => this.step(-Infinity, 0), End: () => this.step(Infinity, 0), Enter: () => this.go(this.at), Escape: () => this.light(null),
        "+": () => this.zoomBy(STEP), "-": () => this.zoomBy(1 / STEP), 0: () => this.zoomTo(null),
      };
      canvas.addEventListener("keydown", (event) => {
        const act = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
        if (!act || !this.u) return;
        event.preventDefault();
        act();
      });
    }

    // -- data ----------------------------------------------------------------------------------------
    tabulate() {
      this.data.replaceChildren(this.data.firstChild, ...(this.data.open ? chartFiles.table(this.model) : []));
    }

    picture(titled) {
      return chartPicture.svg(this.u, this.model, this.state.hidden, this.ink, titled);
    }

    // On paper there is a picture in light colours.
    print(on) {
      this.printed?.remove();
      if (!on) return this.recolour();
      this.inks.clear();
      if (!this.u) this.draw();
      if (!this.u) return;
      this.printed = element("div", { className: "printed" });
      this.root.append(this.printed);
      // What was made just now has a layout only when it was drawn.
      queueMicrotask(() => {
        this.printed.append(document.adoptNode(new DOMParser().parseFromString(this.picture(false), "image/svg+xml").documentElement));
        this.inks.clear();
      });
    }

    destroy() {
      clearTimeout(this.due);
      this.u?.destroy();
      sizes.unobserve(this.canvas);
      near.unobserve(this.figure);
    }
  }

  const near = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) viewIn(one.target)?.draw();
  }, { rootMargin: "300px" });
  const sizes = new ResizeObserver((seen) => { for (const one of seen) viewIn(one.target.closest("figure"))?.resize(); });
  const viewIn = (figure) => [...views.values()].find((view) => view.figure === figure);

  function take(scope) {
    for (const figure of scope.querySelectorAll("figure.chart:has(> script.chart-data)")) {
      const name = figure.id || `chart-${views.size}`;
      figure.id = name;
      const known = views.get(name);
      if (!known) views.set(name, new View(figure));
      else if (known.figure !== figure) known.adopt(figure);
    }
  }

  document.addEventListener("report:changed", (event) => {
    const changed = document.getElementById(event.detail.id);
    if (changed) take(changed);
    for (const [name, view] of views) {
      if (view.figure.isConnected) continue;
      view.destroy();
      views.delete(name);
    }
  });
  const recolour = () => { for (const view of views.values()) view.recolour(); };
  const print = (on) => {
    printing = on;
    for (const view of views.values()) view.print(on);
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  addEventListener("scroll", () => { for (const view of views.values()) if (view.at) view.light(null); }, { passive: true });
  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    take(document);
  });
})();
