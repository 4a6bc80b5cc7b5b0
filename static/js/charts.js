// Draws the charts of a page from the figures embedded in it, each when the reader comes near it, and emphasises
// in all of them what is pointed at in one. A page without this script shows pictures and the same tables.
"use strict";

(() => {
  const CONFIG = {
    showSendToCloud: false,
    plotlyServerURL: "",
    displaylogo: false,
    responsive: true,
    displayModeBar: false,
  };
  const NEAR = "400px 0px";
  const NARROW = 520;

  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The figure has no ink: axis, grid and text take the colours of the reader's scheme. Its legend is the page's.
  const inked = (layout, narrow) => {
    const axis = (given) => ({
      ...given,
      color: ink("--ink-soft"),
      gridcolor: ink("--rule"),
      linecolor: ink("--rule-strong"),
      tickcolor: ink("--rule-strong"),
      zerolinecolor: ink("--ink-soft"),
      title: { ...given.title, font: { size: narrow ? 11.5 : 12.5, color: ink("--ink-soft") } },
      tickfont: { size: narrow ? 11 : 12.5, color: ink("--ink-soft") },
    });
    return {
      ...layout,
      showlegend: false,
      font: { ...layout.font, color: ink("--ink"), size: narrow ? 12 : 13 },
      xaxis: axis(layout.xaxis),
      yaxis: axis(layout.yaxis),
    };
  };

  const traces = (data) =>
    data.map((trace) => {
      const drawn = { ...trace };
      for (const bars of ["error_x", "error_y"]) {
        if (drawn[bars]) drawn[bars] = { color: ink("--ink"), ...drawn[bars] };
      }
      return drawn;
    });

  const boxes = (which = "[data-figure]") => [...document.querySelectorAll(which)];

  // What a point belongs to: the option of its row, else that of its line.
  const optionOf = (box, { curveNumber, pointNumber }) => {
    const trace = box.data[curveNumber];
    const rows = box.layout.meta.rows;
    return rows ? rows[Math.round(trace.y[pointNumber])] : trace.meta || trace.name;
  };

  // What a mouse finds by pointing the arrow keys find one by one; Tab goes on as everywhere.
  const values = (box) =>
    (box.data || []).flatMap((trace, curveNumber) =>
      (trace.customdata || [])
        .map((said, pointNumber) => ({ curveNumber, pointNumber, said, x: trace.x[pointNumber], y: trace.y[pointNumber] }))
        .filter((point) => point.x !== null && point.y !== null),
    );

  const told = (box, point) => {
    const { rows, columns } = box.layout.meta;
    const { name, customdata } = box.data[point.curveNumber];
    const said = customdata[point.pointNumber];
    const several = new Set(box.data.map((trace) => trace.customdata && trace.name)).size > 1;
    if (rows) return [optionOf(box, point), several && name, said[0]].filter(Boolean).join(": ");
    const cells = said.map((cell, place) => (cell === "–" ? "" : `${columns[place]} ${cell}`));
    return [name, ...cells].filter(Boolean).join(" · ");
  };

  const saying = (box) => document.getElementById(`${box.id}-value`);

  // Every piece of a drawn chart with the names it answers to. Plotly binds its data to what it draws.
  const pieces = (box) =>
    [...box.querySelectorAll(".cartesianlayer .trace")].flatMap((group) => {
      const { index } = group.__data__[0].trace;
      const trace = box.data[index];
      const names = [trace.meta || trace.name];
      if (!box.layout.meta.rows) return trace.customdata || trace.meta ? [{ node: group, names }] : [];
      return [...group.querySelectorAll(".point, .errorbar")].map((node) => ({
        node,
        names: [...names, optionOf(box, { curveNumber: index, pointNumber: node.__data__.i })],
      }));
    });

  const emphasise = (option) => {
    for (const box of boxes("[data-drawn]")) {
      const found = pieces(box);
      const known = option && found.some(({ names }) => names.includes(option));
      for (const { node, names } of found) node.classList.toggle("faded", Boolean(known) && !names.includes(option));
    }
  };

  const leave = () => {
    emphasise(null);
    for (const box of boxes("[data-drawn]")) saying(box).textContent = "";
  };

  // The other charts tell what they know of the same option, at the same place where they have several of it.
  const point = (box, at) => {
    const option = optionOf(box, at);
    const x = box.data[at.curveNumber].x[at.pointNumber];
    emphasise(option);
    for (const other of boxes("[data-drawn]")) {
      const same = other === box ? [at] : values(other).filter((one) => optionOf(other, one) === option);
      const one = same.length === 1 ? same[0] : same.find((one) => !other.layout.meta.rows && one.x === x);
      saying(other).textContent = one ? told(other, one) : "";
    }
  };

  const stepped = (keys, at, points) => {
    const series = points[Math.max(at, 0)].curveNumber;
    const others = points.map((point) => point.curveNumber);
    const last = points.length - 1;
    if (keys === "ArrowRight") return Math.min(at + 1, last);
    if (keys === "ArrowLeft") return Math.max(at - 1, 0);
    if (keys === "Home") return 0;
    if (keys === "End") return last;
    if (keys === "ArrowDown") return Math.max(others.findIndex((one) => one > series), 0);
    if (keys === "ArrowUp") return others.indexOf(Math.max(...others.filter((one) => one < series), others[0]));
    return -1;
  };

  const walkable = (box) => {
    box.tabIndex = 0;
    box.setAttribute("role", "application");
    let at = -1;
    const stop = () => {
      if (at < 0) return;
      at = -1;
      leave();
    };
    box.addEventListener("blur", stop);
    box.addEventListener("keydown", (event) => {
      if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") stop();
      draw(box);
      const points = values(box);
      const next = points.length ? stepped(event.key, at, points) : -1;
      if (next < 0) return;
      event.preventDefault();
      at = next;
      emphasise(optionOf(box, points[at]));
      saying(box).textContent = `${at + 1} / ${points.length}: ${told(box, points[at])}`;
    });
    for (const key of box.closest(".chart-box").querySelectorAll("[data-key]")) {
      key.addEventListener("pointerenter", () => emphasise(key.dataset.key));
      key.addEventListener("pointerleave", leave);
    }
  };

  // Thousands of values are no part of the page: they come when the chart is first seen.
  const read = async (source) => {
    const address = source.dataset.address;
    delete source.dataset.address;
    source.textContent = await (await fetch(address)).text();
  };

  // A limit that is dragged is typed into its field, which asks anew.
  const dragged = (box, change) => {
    for (const [name, [place, unit]] of Object.entries(box.layout.meta.limits || {})) {
      const at = change[`shapes[${place}].${name === "budget" ? "y0" : "x0"}`];
      const field = document.getElementById(`knob-${name}`);
      if (at === undefined || !field) continue;
      field.value = Number((at * unit).toPrecision(3));
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }
  };

  const draw = (box, again = false) => {
    const source = document.getElementById(box.dataset.figure);
    if (!source || !window.Plotly || (box.dataset.drawn && !again)) return;
    if (source.dataset.address) return read(source).then(() => draw(box));
    if (!source.textContent) return;
    const figure = JSON.parse(source.textContent);
    Plotly.react(box, traces(figure.data), inked(figure.layout, box.clientWidth < NARROW), CONFIG);
    if (!box.dataset.drawn) {
      box.on("plotly_hover", ({ points }) => point(box, points[0]));
      box.on("plotly_unhover", leave);
      box.on("plotly_relayout", (change) => dragged(box, change));
    }
    box.dataset.drawn = "yes";
  };

  // Each in a task of its own: the page, then the first chart, is seen while the next is drawn.
  const drawSoon = (box) => setTimeout(() => draw(box));

  const near = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        drawSoon(target);
      }
    },
    { rootMargin: NEAR },
  );

  const inSight = (box) => {
    const { top, bottom } = box.getBoundingClientRect();
    return top < innerHeight && bottom > 0;
  };

  // Of what is in sight the observer would tell some frames later.
  const watch = () => {
    for (const box of boxes("[data-figure]:not([tabindex])")) {
      walkable(box);
      inSight(box) ? drawSoon(box) : near.observe(box);
    }
  };

  // Text is measured while drawing: the font has to be there first.
  const whenLettersAreThere = (work) => document.fonts.load('13px "Rackline Sans"').then(work, work);

  const start = () => {
    whenLettersAreThere(watch);
    document.addEventListener("htmx:after:swap", watch);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
      boxes("[data-drawn]").forEach((box) => draw(box, true)),
    );
    addEventListener("beforeprint", () => boxes().forEach((box) => draw(box, true)));
  };

  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();
