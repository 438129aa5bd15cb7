// What a page does beyond being read: it follows the fleet, and changes its theme without being loaded again.
// Without this script every page shows the same, as of the moment it was loaded.
"use strict";
(() => {
  const SOONEST = 1000; // milliseconds between two looks at one page
  const state = document.getElementById("live");
  if (!state) return;
  let loading = false, again = false, next = 0, timer = 0, stream = null, turn = "";

  function say(word, text) {
    if (state.dataset.state === word) return;
    state.dataset.state = word;
    state.querySelector("[data-word]").textContent = text;
    state.className = "state " + (word === "live" ? "ok" : word === "paused" ? "unknown" : "warn");
    if (word === "lost" || word === "ended") document.getElementById("said").textContent = text;
  }

  // Parts of the page with data-live and an id are replaced where they differ; what a person is using stays.
  function take(page) {
    for (const old of document.querySelectorAll("[data-live][id]")) {
      const fresh = page.getElementById(old.id);
      if (!fresh || fresh.outerHTML === old.dataset.was || fresh.isEqualNode(old)) continue;
      const active = document.activeElement;
      if (old.contains(active) && active.matches("input, select, textarea")) continue;
      const focused = old.contains(active) ? active.id || active.getAttribute("href") : "";
      const open = new Map([...old.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
      const scrolled = [...old.querySelectorAll("[data-scrolls]")].map((one) => [one.scrollLeft, one.scrollTop]);
      const rows = new Map([...old.querySelectorAll("[data-key]")].map((one) => [one.dataset.key, one.textContent]));
      const made = document.importNode(fresh, true);
      old.replaceWith(made);
      for (const one of made.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = open.get(one.id);
      made.querySelectorAll("[data-scrolls]").forEach((one, at) => {
        if (scrolled[at]) [one.scrollLeft, one.scrollTop] = scrolled[at];
      });
      for (const one of made.querySelectorAll("[data-key]")) {
        if (rows.has(one.dataset.key) && rows.get(one.dataset.key) !== one.textContent) one.classList.add("fresh");
      }
      if (focused) {
        const same = [...made.querySelectorAll("a, button, summary, [tabindex]")].find(
          (one) => one.id === focused || one.getAttribute("href") === focused);
        if (same) same.focus({ preventScroll: true });
      }
    }
    document.title = page.title;
  }

  function look() {
    if (document.hidden) return;
    if (loading) { again = true; return; }
    const wait = next - Date.now();
    if (wait > 0) { clearTimeout(timer); timer = setTimeout(look, wait); return; }
    loading = true; again = false;
    const began = Date.now();
    const asked = new XMLHttpRequest();
    asked.open("GET", location.href);
    asked.responseType = "document";
    if (turn) asked.setRequestHeader("Gitfed-Turn", turn); // nothing that was formed before that
    asked.onloadend = () => {
      loading = false;
      next = Date.now() + Math.max(SOONEST, 8 * (Date.now() - began)); // a slow page is asked for less often
      if (asked.status === 401) { end(); return; }
      if (asked.status === 200 && asked.response) take(asked.response);
      if (again || document.querySelector("[data-unfinished]")) look();
    };
    asked.send();
  }

  function end() {
    if (stream) stream.close();
    stream = null;
    say("ended", "Signed out: load the page again");
  }

  function follow() {
    if (stream || document.hidden) return;
    stream = new EventSource("/ui/live");
    stream.onopen = () => { say("live", "Live"); };
    stream.addEventListener("changed", (event) => { turn = event.data; look(); });
    stream.addEventListener("ended", end);
    stream.onerror = () => {
      turn = ""; // another process counts anew
      if (stream && stream.readyState === EventSource.CLOSED) { stream = null; say("lost", "No connection"); setTimeout(retry, 3000); }
      else say("lost", "No connection, trying again");
    };
  }

  function retry() {
    if (!stream) { look(); follow(); }
  }

  // A page that nobody looks at asks for nothing, so that it keeps no session alive.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      if (stream) stream.close();
      stream = null;
      if (state.dataset.state === "live") say("paused", "Paused");
    } else { look(); follow(); }
  });
  if (state.dataset.follows === "yes") follow();
  if (document.querySelector("[data-unfinished]")) look(); // the server is still reading a part of it

  const theme = document.getElementById("theme");
  if (theme) theme.addEventListener("submit", (event) => {
    const chosen = event.submitter && event.submitter.value;
    if (!chosen) return;
    event.preventDefault();
    document.documentElement.dataset.theme = chosen;
    for (const one of theme.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one.value === chosen));
    const form = new URLSearchParams(new FormData(theme));
    form.set("theme", chosen);
    fetch(theme.action, { method: "POST", body: form, redirect: "manual" });
  });
})();
