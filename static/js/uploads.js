// Sends forms with large files so that the reader sees how far it is and can stop it. Without this script
// the forms post as they are.
"use strict";

(() => {
  // Smaller ones are there before anyone could read a number.
  const LARGE = 1_000_000;
  const MB = 1_000_000;

  const bytesOf = (form) =>
    [...form.querySelectorAll('input[type="file"]')]
      .flatMap((input) => [...input.files])
      .reduce((sum, file) => sum + file.size, 0);

  // The answer is a page: what it says takes the place of what is shown, with the files still chosen.
  const showAnswer = (form, text) => {
    const answer = new DOMParser().parseFromString(text, "text/html").getElementById("content");
    const content = document.getElementById("content");
    if (!answer || !content) return false;
    const chosen = [...form.querySelectorAll('input[type="file"]')].filter((input) => input.files.length);
    content.replaceWith(document.adoptNode(answer));
    for (const input of chosen) {
      const fresh = document.querySelector(`input[type="file"][name="${CSS.escape(input.name)}"]`);
      if (!fresh) continue;
      for (const name of ["aria-invalid", "aria-describedby"]) {
        const value = fresh.getAttribute(name);
        value === null ? input.removeAttribute(name) : input.setAttribute(name, value);
      }
      fresh.replaceWith(input);
    }
    const first = document.querySelector("#content [role=alert], #content [aria-invalid=true]");
    if (first) {
      if (!first.hasAttribute("tabindex") && !first.matches("input, select, textarea")) first.tabIndex = -1;
      first.focus();
    }
    return true;
  };

  const send = (form, button) => {
    const box = form.querySelector(".upload");
    const bar = box.querySelector("progress");
    const said = box.querySelector("[role=status]");
    const cancel = box.querySelector("button");
    const words = box.dataset;
    const data = button && button.name ? new FormData(form, button) : new FormData(form);
    const address = (button && button.getAttribute("formaction")) || form.action;
    const request = new XMLHttpRequest();

    const end = (text) => {
      form.removeAttribute("aria-busy");
      cancel.hidden = true;
      bar.hidden = true;
      said.textContent = text;
      box.classList.toggle("failed", Boolean(text));
      delete form.dataset.sending;
    };

    form.dataset.sending = "yes";
    form.setAttribute("aria-busy", "true");
    box.classList.remove("failed");
    box.hidden = bar.hidden = cancel.hidden = false;
    bar.value = 0;
    said.textContent = "";
    cancel.onclick = () => request.abort();

    request.upload.onprogress = ({ loaded, total }) => {
      bar.value = loaded / total;
      const [done, whole] = [loaded, total].map((bytes) => (bytes / MB).toFixed(1));
      said.textContent = words.progress.replace("{done}", done).replace("{whole}", whole);
    };
    request.upload.onload = () => {
      bar.removeAttribute("value");
      said.textContent = words.reading;
    };
    request.onabort = () => end(words.cancelled);
    request.onerror = () => end(words.failed);
    request.onload = () => {
      if (request.status < 400) {
        // The answer of a form leads to another page; an answer in place is shown in place.
        if (request.responseURL !== address) location.assign(request.responseURL);
        else if (!showAnswer(form, request.responseText)) end(words.failed);
      } else if (!showAnswer(form, request.responseText)) {
        end(words.failed);
      }
    };
    request.open("POST", address);
    request.setRequestHeader("Accept", "text/html");
    request.send(data);
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.querySelector(".upload")) return;
    if (form.dataset.sending) {
      event.preventDefault();
    } else if (bytesOf(form) >= LARGE) {
      event.preventDefault();
      send(form, event.submitter);
    }
  });
})();
