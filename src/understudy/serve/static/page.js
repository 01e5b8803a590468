// The page works without this file. It adds: progress while a command runs, the check while a form is filled in, and
// buttons that copy. It talks to its own origin only.
"use strict";

function follow(section) {
  const part = (name) => section.querySelector(`[data-${name}]`);
  const source = new EventSource(section.dataset.events);
  source.onmessage = (message) => {
    const now = JSON.parse(message.data);
    if (now.state !== "running" && now.state !== "stopping") {
      source.close();
      location.reload();
      return;
    }
    // Screen readers repeat what changes here, so only a new stage is written.
    if (part("stage").textContent !== now.stage) part("stage").textContent = now.stage;
    if (now.total) {
      part("bar").max = now.total;
      part("bar").value = now.done;
    } else {
      part("bar").removeAttribute("value");
    }
    if (part("spent")) {
      part("spent").textContent = now.spent;
      part("planned").textContent = now.planned ? `of ${now.planned}` : "";
    }
    part("seconds").textContent = now.seconds;
  };
}

function check(form) {
  const place = document.getElementById("judgement");
  const text = document.querySelector("[data-text]");
  let waiting = 0;
  let asked = 0;
  const ask = async () => {
    const turn = ++asked;
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.dataset.check, { method: "POST", body }).catch(() => null);
    if (!answer || !answer.ok || turn !== asked) return;
    const found = await answer.json();
    place.innerHTML = found.html; // made by our own template, which escapes every value
    text.value = found.text;
    for (const line of form.querySelectorAll("[data-problem]")) {
      line.textContent = found.problems[line.dataset.problem] ?? "";
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 400);
  });
}

function copyable(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
  });
  block.after(button);
}

document.querySelectorAll("[data-events]").forEach(follow);
document.querySelectorAll("form[data-check]").forEach(check);
if (navigator.clipboard) document.querySelectorAll("[data-copy]").forEach(copyable);
