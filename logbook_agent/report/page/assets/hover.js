// What a mark of a plot says, beside the pointer; with the keyboard, a plot that has the focus goes through its marks
// by the arrow keys.
"use strict";
(() => {
  const said = (mark) => mark.querySelector(":scope > title")?.textContent ?? mark.dataset.said ?? "";
  let lit = null;

  function show(mark) {
    const tip = document.getElementById("tip");
    lit?.classList.remove("lit");
    lit = mark;
    tip.hidden = !mark || !said(mark);
    if (tip.hidden) return;
    mark.classList.add("lit");
    tip.textContent = said(mark);
    const at = mark.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left + at.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
    const above = at.top - tip.offsetHeight - 10;
    tip.style.left = `${left}px`;
    tip.style.top = `${above < 8 ? at.bottom + 10 : above}px`;
  }

  function step(plot, by) {
    const marks = [...plot.querySelectorAll(".mark")].filter(said);
    if (!marks.length) return;
    const at = marks.indexOf(lit);
    const next = marks[at < 0 ? (by > 0 ? 0 : marks.length - 1) : Math.min(Math.max(at + by, 0), marks.length - 1)];
    const [its, seen] = [next.getBoundingClientRect(), plot.getBoundingClientRect()];
    if (its.left < seen.left || its.right > seen.right) plot.scrollLeft += its.left - seen.left - seen.width / 2;
    show(next);
  }

  // The browser would show the same words once more.
  const titles = new WeakMap();
  function quiet(mark) {
    const title = mark.querySelector(":scope > title");
    if (title && !titles.has(mark)) {
      titles.set(mark, true);
      mark.dataset.said = title.textContent;
      title.remove();
    }
  }

  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest?.(".picture .mark");
    if (mark) quiet(mark);
    if (mark || lit) show(mark);
  });
  document.addEventListener("keydown", (event) => {
    const plot = event.target.closest?.(".picture .canvas");
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (plot && by) {
      event.preventDefault();
      step(plot, by);
    } else if (event.key === "Escape" && lit) {
      show(null);
    }
  });
  document.addEventListener("focusout", () => { if (lit) show(null); });
  addEventListener("scroll", () => { if (lit) show(null); }, { passive: true });
})();
