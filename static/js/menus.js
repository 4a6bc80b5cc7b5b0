// Menus and the panel beside a study close with Escape or a click elsewhere, and the address can be copied.
"use strict";

(() => {
  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  const menus = () => document.querySelectorAll("details:is(.menu-button, .chart-files)[open]");

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of menus()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
    document.querySelector("dialog.study-panel[open]")?.close();
  });

  document.addEventListener("click", async (event) => {
    for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
    const copy = event.target.closest("button[data-copy-link]");
    if (!copy) return;
    await navigator.clipboard?.writeText(location.href);
    copy.textContent = copy.dataset.copyLink;
  });
})();
