// Menus close with Escape or a click elsewhere, the panel of a figure holds the focus while it is open, nobody
// loses their place on the page to a part that is swapped, and the address can be copied.
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
  });

  let opener = null;
  let left = null;
  let place = 0;
  const removers = () =>
    [...document.querySelectorAll("[data-removes]")].filter((one) => !one.closest(".chips") === !left.closest(".chips"));

  document.addEventListener("htmx:before:request", ({ target }) => {
    if (target.matches?.(".traced")) opener = target;
    left = document.activeElement;
    place = removers().indexOf(left);
  });

  document.addEventListener("htmx:after:swap", () => {
    const panel = document.querySelector("dialog.study-panel:not([open])");
    if (panel) {
      panel.showModal();
      panel.addEventListener("close", () => {
        panel.remove();
        opener.focus();
      });
    }
    if (!left || left === document.body || document.activeElement !== document.body) return;
    // What was pressed is gone with what it removed, or folded away: its neighbour follows, its fold, what
    // it stands for, the page.
    const same = document.getElementById(left.dataset.removes || left.id);
    const fold = same?.closest("details")?.querySelector("summary");
    const next = place < 0 ? null : removers().at(Math.min(place, removers().length - 1));
    (next ?? fold ?? same ?? document.getElementById("content")).focus();
  });

  // Arrow keys turn a closed list of systems: it adds one with its button.
  document.addEventListener(
    "change",
    (event) => {
      if ("waits" in event.target.dataset) event.stopPropagation();
    },
    true,
  );

  // A default that is typed over is none any more.
  document.addEventListener("input", ({ target }) => {
    const tag = target.closest(".field")?.querySelector("label > .tag.default");
    const was = target.options ? [...target.options].find((one) => one.defaultSelected)?.value : target.defaultValue;
    if (tag) tag.hidden = target.value !== (was ?? "");
  });

  document.addEventListener("click", async (event) => {
    for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
    const copy = event.target.closest("button[data-copy-link]");
    if (!copy) return;
    await navigator.clipboard?.writeText(location.href);
    copy.textContent = copy.dataset.copyLink;
  });

  // Parts that a reader opened stay open in the next state; a link to a part opens it.
  const open = (ids) => ids.forEach((id) => document.getElementById(id)?.closest("details.part")?.setAttribute("open", ""));
  const linked = () => location.hash && open([location.hash.slice(1)]);
  let opened = [];
  document.addEventListener("htmx:before:swap", () => {
    opened = [...document.querySelectorAll("details.part[open] h2")].map((title) => title.id);
  });
  document.addEventListener("htmx:after:swap", () => open(opened));
  addEventListener("hashchange", linked);
  linked();
})();
