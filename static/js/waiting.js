// What takes longer than half a second says what is being done, and can be cancelled.
"use strict";

(() => {
  const LATE = 500;
  const box = document.getElementById("waiting");
  if (!box) return;
  let timer = 0;
  let source = null;

  const done = () => {
    clearTimeout(timer);
    source = null;
    box.hidden = true;
  };
  const begin = (element) => {
    done();
    source = element;
    const doing = element.closest?.("[data-doing]")?.dataset.doing ?? box.dataset.doing;
    timer = setTimeout(() => {
      box.querySelector("span").textContent = doing;
      box.hidden = false;
    }, LATE);
  };

  document.addEventListener("htmx:before:request", (event) => {
    if (event.target.id !== "waiting") begin(event.target);
  });
  for (const name of ["htmx:after:request", "htmx:finally:request", "htmx:error"]) document.addEventListener(name, done);
  // A request of a panel that was closed reports its end nowhere.
  document.addEventListener("close", done, true);
  // Uploads show their own progress, and files that are saved leave the page as it is.
  document.addEventListener("submit", (event) => {
    if (!event.defaultPrevented && !event.target.matches("[hx-get], [enctype]")) begin(event.target);
  });
  addEventListener("pagehide", done);
  box.querySelector("button").addEventListener("click", () => {
    source?.dispatchEvent(new Event("htmx:abort", { bubbles: true }));
    stop();
    done();
  });
})();
