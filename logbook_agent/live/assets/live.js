// Puts changed sections in the place of those before, as the server tells of them.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const state = document.getElementById("live-state");
  const clock = document.getElementById("live-heard");
  let heard = Date.now();
  const length = (s) => {
    s = Math.max(0, Math.round(s));
    return s < 120 ? `${s} s` : s < 7200 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  };
  const tell = (text) => { if (state.textContent !== text) state.textContent = text; };
  const tick = () => {
    const now = Date.now();
    for (const one of document.querySelectorAll("#live [data-since]")) one.textContent = length((now - Date.parse(one.dataset.since)) / 1000);
    for (const one of document.querySelectorAll("#live [data-expected]")) {
      const left = Number(one.dataset.expected) - (now - Date.parse(one.dataset.begun)) / 1000;
      one.textContent = left > 0 ? `, about ${length(left)} left` : `, ${length(-left)} longer than usual`;
    }
    clock.textContent = `heard ${length((now - heard) / 1000)} ago`;
    if (now - heard > 20000) tell("no answer from the server");
  };
  const source = new EventSource(live.dataset.events);
  const hear = () => { heard = Date.now(); tell("live"); };
  source.addEventListener("beat", hear);
  source.addEventListener("part", (event) => {
    hear();
    const { id, html } = JSON.parse(event.data);
    if (id === "now") document.getElementById("live-now").outerHTML = html;
    else {
      const old = document.getElementById(id);
      if (html === null) old?.remove();
      else if (old) old.outerHTML = html;
      else document.getElementById("entries").insertAdjacentHTML("beforeend", html);
      document.dispatchEvent(new CustomEvent("report:changed", { detail: { id } }));
    }
    tick();
  });
  source.addEventListener("error", () => tell(source.readyState === EventSource.CLOSED ? "the server has ended" : "no answer from the server"));
  setInterval(tick, 1000);
  tick();
});
