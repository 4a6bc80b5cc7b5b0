// Copies a secret that is shown once. A page without this script shows it in a field to be selected.
"use strict";

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      // Not allowed, or not offered outside https: what is selected can be copied the older way.
      document.execCommand("copy");
    }
    document.getElementById(`${button.dataset.copy}-said`).textContent = button.dataset.done;
  });
}
