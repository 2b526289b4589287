// Shows how much of a file has arrived. Without this script, or if it fails, the browser sends the form itself.
"use strict";

for (const form of document.querySelectorAll("[data-upload]")) {
  const words = JSON.parse(form.dataset.upload);
  const field = form.querySelector("input[type=file]");
  const bar = form.querySelector("progress");
  const line = form.querySelector("[role=status]");

  function say(text, shown) {
    bar.hidden = !shown;
    line.textContent = text;
  }

  // The page that the file led to; of a refusal, what it says, above the form that can be sent again.
  function arrive(request) {
    if (request.status < 400 && request.response) { location.assign(request.responseURL); return; }
    say("", false);
    field.value = "";
    for (const old of document.querySelectorAll("main > [role=alert]")) old.remove();
    const said = request.response && request.response.querySelector("main [role=alert]");
    if (!said) { say(words.lost, false); return; }
    const notice = document.createElement("div");
    notice.className = "notice warn";
    notice.setAttribute("role", "alert");
    notice.append(...said.childNodes);
    form.before(notice);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.files[0].size > words.most) { say(words.large, false); return; }
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.upload.addEventListener("progress", (sent) => {
      bar.value = sent.loaded / sent.total;
      say(words.sent.replace("{percent}", Math.floor(100 * bar.value)), true);
    });
    request.upload.addEventListener("load", () => { bar.removeAttribute("value"); say(words.read, true); });
    request.addEventListener("load", () => arrive(request));
    request.addEventListener("error", () => say(words.lost, false));
    request.open("POST", form.action);
    request.send(new FormData(form));
    say(words.sent.replace("{percent}", 0), true);
  });
}
