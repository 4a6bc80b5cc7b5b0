// Letters that are still being put together, as Korean and Chinese ones are, are not sent: what listens to
// typing hears of them once they stand.
"use strict";

(() => {
  let composing = false;

  const hold = (event) => {
    if (composing || event.isComposing) event.stopImmediatePropagation();
  };

  addEventListener("compositionstart", () => (composing = true), true);
  addEventListener("input", hold, true);
  addEventListener("keyup", hold, true);
  addEventListener(
    "compositionend",
    (event) => {
      composing = false;
      event.target.dispatchEvent(new InputEvent("input", { bubbles: true, data: event.data }));
    },
    true,
  );
  // A field that is left, or taken away, ends what was being put together there.
  addEventListener("focusout", () => (composing = false), true);
  // A question that was on its way when the next letter was begun waits for it.
  document.addEventListener("htmx:before:request", (event) => {
    if (composing) event.preventDefault();
  });
})();
