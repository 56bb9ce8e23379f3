// Asks every two seconds for the sections that changed, and replaces them.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const state = document.getElementById("live-state");
  const clock = document.getElementById("live-heard");
  const EVERY_MS = 2000, LATE_MS = 20000;
  let heard = Date.now();
  // How far the server's clock, which has begun the runs, is ahead of this one (ms).
  let ahead = 0;
  let version = `"${live.dataset.version}"`;
  let next = 0;

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

  const changed = (id) => document.dispatchEvent(new CustomEvent("report:changed", { detail: { id } }));

  // -- the server --------------------------------------------------------------------------------
  async function ask() {
    const answer = await fetch(live.dataset.parts, { headers: { "If-None-Match": version }, signal: AbortSignal.timeout(LATE_MS) });
    if (answer.status === 401) return tell("the server was restarted: open the address that it prints");
    // Another server than the one that made this page: what it says is of another page.
    if (answer.status === 205) return location.reload();
    if (!answer.ok && answer.status !== 304) return tell((await answer.text()).trim());
    const parts = answer.ok ? await answer.json() : [];
    heard = Date.now();
    ahead = Date.parse(answer.headers.get("date")) - heard;
    version = answer.headers.get("etag");
    for (const { id, html } of parts) replace(id, html);
    tell("live");
    tick();
  }

  // A page that nobody sees asks for nothing.
  async function follow() {
    clearTimeout(next);
    if (document.hidden) return;
    await ask().catch(() => tell("no answer from the server"));
    clearTimeout(next);
    next = setTimeout(follow, EVERY_MS);
  }
  document.addEventListener("visibilitychange", follow);
  next = setTimeout(follow, EVERY_MS);
  setInterval(tick, 1000);
  tick();
});
