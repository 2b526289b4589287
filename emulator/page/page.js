"use strict";
// Shows the emulator's state once a second and sends the commands of the buttons to its control plane.

const KINDS = [
  "latency", "lost-reply", "reset-before-reading", "reset-before-accepting", "reset-after-accepting",
  "server-error", "slow-bytes", "throttle-storm", "message-status", "failed-status", "quality-loss", "events-missing",
  "events-duplicate", "events-late", "events-reordered",
];
const REFRESH_MS = 1000;
const byId = (id) => document.getElementById(id);
let statusesOn = true;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function row(cells) {
  const made = element("tr");
  for (const cell of cells) {
    const place = element("td");
    place.append(cell);
    made.append(place);
  }
  return made;
}

function numberRow(number) {
  const rate = element("meter");
  rate.max = number.rate_per_s;
  rate.value = number.in_window;
  const live = element("span", `${number.in_window} `);
  live.append(rate);
  const errors = Object.entries(number.errors).map(([code, count]) => `${code} × ${count}`).join(", ");
  return row([
    number.display_phone_number, number.account_id, live, `${number.rate_per_s}/s`, number.quality_rating,
    number.messaging_limit_tier, String(number.accepted), errors,
  ]);
}

function templateRow(template) {
  const decisions = element("span");
  for (const status of ["APPROVED", "REJECTED", "PAUSED"]) {
    const button = element("button", status.toLowerCase());
    button.disabled = template.status === status;
    button.addEventListener("click", () => control(
      `templates/${encodeURIComponent(template.name)}/status`, { status, language: template.language }));
    decisions.append(button, " ");
  }
  return row([template.name, template.language, template.status, decisions]);
}

function bubble(message) {
  const item = element("li");
  const body = element("div", undefined, "bubble");
  if (message.header) body.append(element("div", message.header, "head"));
  body.append(element("div", message.body || message.type));
  if (message.footer) body.append(element("div", message.footer, "foot"));
  for (const button of message.buttons) body.append(element("span", button, "choice"));
  const time = new Date(message.at_s * 1000).toLocaleTimeString();
  item.append(body, element("div", `to ${message.to}, ${time}`, "to"));
  return item;
}

function faultItem(fault) {
  return element("li", `${fault.kind}, probability ${fault.probability}, occurred ${fault.occurred} times`);
}

function show(state) {
  statusesOn = state.statuses_on;
  byId("accepted").textContent = state.accepted;
  byId("delivered").textContent = state.events.delivered;
  byId("pending").textContent = state.events.pending;
  byId("clock").textContent = new Date(state.unix_s * 1000).toLocaleString();
  byId("statuses").textContent = statusesOn ? "Stop statuses" : "Send statuses";
  byId("numbers").replaceChildren(...state.numbers.map(numberRow));
  byId("messages").replaceChildren(...state.messages.map(bubble));
  byId("faults").replaceChildren(...state.faults.map(faultItem));
  const templates = state.accounts.flatMap((account) => account.templates);
  if (!byId("templates").matches(":focus-within")) {
    byId("templates").replaceChildren(...templates.map(templateRow));
  }
}

async function refresh() {
  try {
    const reply = await fetch("/_emulator/overview");
    show(await reply.json());
    document.body.dataset.state = "live";
  } catch {
    document.body.dataset.state = "away";
    byId("said").textContent = "The emulator does not answer.";
  }
}

async function control(path, content, method = "POST") {
  const reply = await fetch(`/_emulator/${path}`, { method, body: content && JSON.stringify(content) });
  const answer = await reply.json();
  byId("said").textContent = reply.ok ? "Done." : answer.error.error_data.details;
  document.activeElement?.blur();
  await refresh();
}

function start() {
  byId("fault-kind").append(...KINDS.map((kind) => element("option", kind)));
  byId("fault-form").addEventListener("submit", (event) => {
    event.preventDefault();
    control("faults", { kind: byId("fault-kind").value, probability: Number(byId("fault-probability").value) });
  });
  byId("clear-faults").addEventListener("click", () => control("faults", undefined, "DELETE"));
  byId("incoming-form").addEventListener("submit", (event) => {
    event.preventDefault();
    control("incoming", { from: byId("incoming-from").value, text: byId("incoming-text").value });
  });
  byId("advance-hour").addEventListener("click", () => control("clock", { seconds: 3600 }));
  byId("advance-day").addEventListener("click", () => control("clock", { seconds: 86400 }));
  byId("statuses").addEventListener("click", () => control("statuses", { on: !statusesOn }));
  byId("reset").addEventListener("click", () => control("reset", {}));
  refresh();
  setInterval(refresh, REFRESH_MS);
}

start();
