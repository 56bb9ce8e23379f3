// Replaces the sections that changed, as the server sends them.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const state = document.getElementById("live-state");
  const clock = document.getElementById("live-heard");
  const AGAIN_MS = 5000, LATE_MS = 20000;
  // What changes more often than this is replaced once in the time.
  const PACE_MS = 1000;
  let heard = Date.now();
  // How far the server's clock, which has begun the runs, is ahead of this one (ms).
  let ahead = 0;
  let since = live.dataset.since;
  let source = null;

  const length = (s) => {
    s = Math.max(0, Math.round(s));
    return s < 120 ? `${s} s` : s < 7200 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  };
  const tell = (text) => { if (state.textContent !== text) state.textContent = text; };
  const tick = () => {
    const now = Date.now();
    const past = (moment) => (now + ahead - Date.parse(moment)) / 1000;
    for (const one of document.querySelectorAll("#live [data-since]")) one.textContent = length(past(one.dataset.since));
    for (const one of document.querySelectorAll("#live [data-expected]")) {
      const left = Number(one.dataset.expected) - past(one.dataset.begun);
      one.textContent = left > 0 ? `, about ${length(left)} left` : `, ${length(-left)} longer than usual`;
    }
    clock.textContent = `last heard from ${length((now - heard) / 1000)} ago`;
    if (now - heard > LATE_MS && source?.readyState !== EventSource.CLOSED) tell("no answer from the server");
  };
  const hear = (event) => {
    heard = Date.now();
    since = event.lastEventId || since;
    tell("live");
  };

  // -- what the reader has opened, sorted, filtered, scrolled and reached stays as it is -----------
  const FOCUSABLE = "a[href], button, input, summary, [tabindex]";
  const within = (part, selector) => [...part.querySelectorAll(selector)];
  const reached = (part) => {
    const at = document.activeElement;
    return at === part ? -1 : part.contains(at) ? within(part, FOCUSABLE).indexOf(at) : null;
  };

  function keep(part) {
    return {
      open: within(part, "details").map((one) => one.open),
      sorts: within(part, "thead").map((head) => head.querySelector("[aria-sort]")).map((cell) => [cell?.textContent, cell?.getAttribute("aria-sort")]),
      filters: within(part, ".filter input").map((field) => field.value),
      scrolled: within(part, ".scroll, pre").map((one) => [one.scrollLeft, one.scrollTop]),
      focus: reached(part),
    };
  }

  function restore(part, kept) {
    within(part, "details").forEach((one, at) => { one.open = kept.open[at] ?? one.open; });
    within(part, "thead").forEach((head, at) => {
      const [name, direction] = kept.sorts[at] ?? [];
      const cell = within(head, "th").find((one) => direction && one.textContent === name);
      for (let tries = 0; cell?.querySelector("button") && cell.getAttribute("aria-sort") !== direction && tries < 2; tries++) cell.click();
    });
    within(part, ".filter input").forEach((field, at) => {
      if (!kept.filters[at]) return;
      field.value = kept.filters[at];
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    within(part, ".scroll, pre").forEach((one, at) => { [one.scrollLeft, one.scrollTop] = kept.scrolled[at] ?? [0, 0]; });
    if (kept.focus === null) return;
    if (kept.focus < 0) part.tabIndex = -1;
    (kept.focus < 0 ? part : within(part, FOCUSABLE)[kept.focus])?.focus({ preventScroll: true });
  }

  function replace(id, html) {
    const name = id === "now" ? "live-now" : id;
    const old = document.getElementById(name);
    if (html === null) old?.remove();
    else if (old) {
      const kept = keep(old);
      old.outerHTML = html;
      changed(id);
      restore(document.getElementById(name), kept);
      return;
    } else document.querySelector("#entries, #cards").insertAdjacentHTML("beforeend", html);
    changed(id);
  }

  const replaced = new Map(), waiting = new Map();
  function pace(id, html) {
    const wait = PACE_MS - (Date.now() - (replaced.get(id) ?? 0));
    const now = () => {
      const newest = waiting.get(id);
      waiting.delete(id);
      replaced.set(id, Date.now());
      replace(id, newest);
      tick();
    };
    const isDue = waiting.has(id);
    waiting.set(id, html);
    if (wait <= 0 && !isDue) now();
    else if (!isDue) setTimeout(now, wait);
  }

  const changed = (id) => document.dispatchEvent(new CustomEvent("report:changed", { detail: { id } }));

  // -- the server --------------------------------------------------------------------------------
  function connect() {
    source?.close();
    source = new EventSource(`${live.dataset.events}?since=${since}`);
    source.addEventListener("beat", (event) => {
      hear(event);
      ahead = Number(event.data) - heard;
    });
    source.addEventListener("part", (event) => {
      hear(event);
      const { id, html } = JSON.parse(event.data);
      pace(id, html);
    });
    // Another server than the one that made this page: what it says is of another page.
    source.addEventListener("reload", () => location.reload());
    source.addEventListener("error", (event) => {
      if (event.target !== source) return;
      if (source.readyState !== EventSource.CLOSED) return tell("no answer from the server");
      tell("the server has stopped or was restarted: open the address that it prints");
      setTimeout(() => { if (source?.readyState === EventSource.CLOSED) connect(); }, AGAIN_MS);
    });
  }

  // A browser has six connections to a server: a page that nobody sees gives its own back.
  function follow() {
    if (!document.hidden) return connect();
    source?.close();
    source = null;
  }
  document.addEventListener("visibilitychange", follow);
  follow();
  setInterval(tick, 1000);
  tick();
});
