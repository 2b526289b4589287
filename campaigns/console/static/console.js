// Keeps the live part of a page as the server has it. Every event is the whole part, so nothing is lost when a
// connection breaks. Without this script the page is as it was when it was opened.
"use strict";

const QUIET_MS = 10000; // a proxy holds events back if none came for so long
const SILENT_MS = 40000; // the server sends an event every 15 s: the connection is lost without a sign
const POLL_MS = 2000, POLL_MAX_MS = 30000;
const PREVIEW_MS = 300; // after the last key

const live = document.querySelector("[data-stream]");
const line = document.querySelector("[data-live]");
const words = line ? JSON.parse(line.dataset.words) : {};

// Times are shown on the clock of the browser, in the forms of the page.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const DAY = { year: "numeric", month: "2-digit", day: "2-digit" };
const CLOCK = { hour: "2-digit", minute: "2-digit", timeZone: zone };
const TIMES = { clock: CLOCK, minute: { ...DAY, ...CLOCK }, second: { ...DAY, ...CLOCK, second: "2-digit" } };

function showTimes(root) {
  for (const time of root.querySelectorAll("[data-time]")) {
    time.textContent = new Date(time.dateTime).toLocaleString(document.documentElement.dataset.times, TIMES[time.dataset.time]);
  }
}

if (zone) {
  showTimes(document);
  for (const name of document.querySelectorAll("[data-zone-name]")) name.textContent = zone;
}

function say(state) {
  if (!line || line.dataset.said === state) return;
  line.dataset.live = line.dataset.said = state;
  line.textContent = words[state];
}

// A click counts only if the button is released on the element on which it was pressed. So a part with a pressed
// element is replaced later.
let pressed = null, waiting = null;

function press(event) {
  pressed = event.target;
}

function release() {
  pressed = null;
  setTimeout(() => { // after the click
    if (!waiting || pressed) return;
    const [html, root] = waiting;
    waiting = null;
    show(html, root);
  });
}

addEventListener("pointerdown", press);
addEventListener("keydown", (event) => { if (event.key === " ") press(event); });
for (const name of ["pointerup", "pointercancel", "keyup", "blur"]) addEventListener(name, release);

// Replaces the parts that changed, so that focus, open tables and what a screen reader reads stay.
function show(html, root = live) {
  const next = new DOMParser().parseFromString(html, "text/html");
  if (root === live) waiting = null; // this is newer
  if (zone) showTimes(next);
  for (const part of next.querySelectorAll("[data-part]")) {
    const old = root.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!old) continue;
    for (const details of old.querySelectorAll("details[open]")) {
      const same = part.querySelector(`#${details.id}`);
      if (same) same.open = true;
    }
    if (old.outerHTML === part.outerHTML) continue;
    if (pressed && old.contains(pressed)) { waiting = [html, root]; continue; }
    const inside = old.contains(document.activeElement);
    const key = inside ? document.activeElement.dataset.focus : null;
    if ("done" in part.dataset) { location.reload(); return; } // what was waited for is a page of its own
    old.replaceWith(document.adoptNode(part));
    if (!inside) continue;
    const again = key && part.querySelector(`[data-focus="${key}"]`);
    const first = part.querySelector("[data-focus]");
    if (again || first) (again || first).focus();
  }
}

// On a phone one button opens the menu. Without this script the menu is open.
const menu = document.querySelector("[data-menu]");
if (menu) {
  document.documentElement.classList.add("scripted");
  menu.addEventListener("click", () => {
    const isOpen = document.getElementById(menu.getAttribute("aria-controls")).classList.toggle("open");
    menu.setAttribute("aria-expanded", isOpen);
  });
}

let source = null, timer = null, pollMs = POLL_MS, heard = false;

// Called for each event. If no other event comes in time, it connects again.
function hear() {
  heard = true;
  clearTimeout(timer);
  timer = setTimeout(() => { say("lost"); listen(); }, SILENT_MS);
}

function stop() {
  if (source) source.close();
  source = null;
  clearTimeout(timer);
}

function listen() {
  stop();
  heard = false;
  source = new EventSource(live.dataset.stream);
  source.addEventListener("view", (event) => {
    hear();
    say("on");
    show(event.data);
  });
  source.addEventListener("beat", hear);
  source.addEventListener("away", () => { hear(); say("away"); });
  source.addEventListener("error", () => {
    say("lost");
    if (source && source.readyState === EventSource.CLOSED) poll(); // the server refused: perhaps the session has ended
  });
  timer = setTimeout(() => { if (!heard) poll(); }, QUIET_MS);
}

// Asks for the page itself if a proxy holds events back. The longer nothing works, the less often it asks.
async function poll() {
  stop();
  try {
    const reply = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (reply.redirected) { location.reload(); return; } // to sign in, or to what was waited for
    if (!reply.ok) throw new Error(reply.status);
    const html = await reply.text();
    if (!html.includes("data-stream=")) { location.reload(); return; } // nothing goes on any more
    show(html);
    say("polling");
    pollMs = POLL_MS;
  } catch {
    say("lost");
    pollMs = Math.min(2 * pollMs, POLL_MAX_MS);
  }
  timer = setTimeout(document.hidden ? () => {} : poll, pollMs);
}

if (live) {
  listen();
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : listen()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
}

for (const field of document.querySelectorAll("[data-submit]")) {
  field.addEventListener("change", () => field.form.requestSubmit());
}

// A file that is dropped anywhere on the form counts as chosen.
for (const form of document.querySelectorAll("[data-drop]")) {
  const field = form.querySelector("input[type=file]");
  for (const name of ["dragover", "dragleave", "drop"]) {
    form.addEventListener(name, (event) => {
      event.preventDefault();
      form.classList.toggle("over", name === "dragover");
      if (name === "drop" && event.dataTransfer.files.length) {
        field.files = event.dataTransfer.files;
        form.requestSubmit();
      }
    });
  }
  field.addEventListener("change", () => form.requestSubmit());
}

// Shows at once how a typed text will be read. A part of the page that somebody types in is not replaced.
for (const form of document.querySelectorAll("[data-typed]")) {
  let later = null, asked = 0;
  form.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(async () => {
      const turn = ++asked;
      const reply = await fetch(form.dataset.typed, { method: "POST", body: new URLSearchParams(new FormData(form)) }).catch(() => null);
      if (!reply || !reply.ok || turn !== asked) return;
      const next = new DOMParser().parseFromString(await reply.text(), "text/html");
      const typed = document.activeElement.closest("[data-part]");
      if (typed) next.querySelector(`[data-part="${typed.dataset.part}"]`).remove();
      show(next.documentElement.outerHTML, document);
    }, PREVIEW_MS);
  });
}
// A form with a preview is kept whenever a field changes, and the preview shows what people will read then. One
// request at a time, so that what was chosen last is kept last.
for (const form of document.querySelectorAll("[data-preview]")) {
  let asked = 0, before = Promise.resolve();
  const keep = async () => {
    const fields = new URLSearchParams([...new FormData(form)].filter(([, value]) => typeof value === "string"));
    fields.set("go", form.dataset.preview);
    try {
      const reply = await fetch(form.action, { method: "POST", body: fields });
      const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("preview");
      if (fresh) document.getElementById("preview").replaceWith(document.adoptNode(fresh));
    } catch { /* the form can still be sent */ }
  };
  form.addEventListener("change", () => {
    const mine = ++asked;
    before = before.then(() => mine === asked && keep());
  });
}

// Times are chosen on the clock of the person's browser, unless another clock was chosen.
for (const field of document.querySelectorAll("[data-zone]")) {
  if ([...field.options].some((option) => option.value === zone)) field.value = zone;
}
