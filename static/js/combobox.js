// Search fields with a list below: arrow keys move through it, Enter takes, Escape closes. Without this script
// the field has a button, and the list is links.
"use strict";

(() => {
  const listOf = (field) => document.getElementById(field.dataset.list);
  const options = (field) => [...listOf(field).querySelectorAll("li > a, li > button")];
  const waiting = new WeakSet();

  // The list is one stop of the tab key: its entries are reached by the arrows.
  const prepare = (field) => {
    const list = listOf(field);
    field.setAttribute("role", "combobox");
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", list.id);
    const entries = list.querySelector("ul");
    if (entries) entries.setAttribute("role", "listbox");
    options(field).forEach((option, place) => {
      option.parentElement.setAttribute("role", "presentation");
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.id = `${list.id}-${place}`;
      option.tabIndex = -1;
    });
    field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-expanded", String(Boolean(entries) && !list.hidden));
  };

  const show = (field, shown) => {
    listOf(field).hidden = !shown;
    prepare(field);
  };

  const mark = (field, place) => {
    const found = options(field);
    if (!found.length) return;
    if (listOf(field).hidden) show(field, true);
    const option = found[(place + found.length) % found.length];
    found.forEach((one) => one.setAttribute("aria-selected", String(one === option)));
    field.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };

  const take = (field, option) => {
    waiting.delete(field);
    option.click();
  };

  const keys = (event) => {
    const field = event.target;
    if (!(field instanceof HTMLInputElement) || !field.dataset.list || event.isComposing) return;
    const found = options(field);
    const place = found.findIndex((one) => one.id === field.getAttribute("aria-activedescendant"));
    if (event.key === "ArrowDown") mark(field, place + 1);
    else if (event.key === "ArrowUp") mark(field, place < 0 ? -1 : place - 1);
    else if (event.key === "Escape") {
      show(field, "stays" in field.dataset);
      field.value = "";
    } else if (event.key === "Enter") {
      if (place >= 0) take(field, found[place]);
      else if (field.value.trim() && field.dataset.answered === field.value && found.length) take(field, found[0]);
      else if (field.value.trim()) waiting.add(field);
    } else return;
    event.preventDefault();
  };

  document.addEventListener("keydown", keys);

  document.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLInputElement && target.dataset.list) prepare(target);
  });

  // A press on an entry leaves the focus in the field; what is taken closes the list.
  document.addEventListener("mousedown", (event) => {
    if (event.target.closest("[role=option]")) event.preventDefault();
  });

  document.addEventListener("click", ({ target }) => {
    const field = document.activeElement;
    const list = field instanceof HTMLInputElement && field.dataset.list ? listOf(field) : null;
    if (!list || !list.contains(target) || "stays" in field.dataset) return;
    field.value = "";
    show(field, false);
  });

  document.addEventListener("focusout", ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.dataset.list) return;
    waiting.delete(target);
    if (!("stays" in target.dataset)) show(target, false);
  });

  document.addEventListener("htmx:after:swap", () => {
    for (const field of document.querySelectorAll("[data-list]")) {
      if (document.activeElement !== field) {
        prepare(field);
        continue;
      }
      field.dataset.answered = field.value;
      show(field, listOf(field).childElementCount > 0);
      const [first] = options(field);
      if (waiting.has(field) && first) take(field, first);
    }
  });

  document.querySelectorAll("[data-list]").forEach(prepare);

  // A file that is chosen is read at once.
  document.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLInputElement && "sends" in target.dataset && target.files.length)
      target.form.requestSubmit();
  });
})();
