// Draws the charts of a page from the figures embedded in it, each when the reader comes near it. A page
// without this script shows the same numbers as tables.
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
  const SHORT_LEGEND = 4;
  const LONG_LEGEND = 8;

  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The figure has no ink: axis, grid and text take the colours of the reader's scheme.
  const inked = (layout, narrow, names) => {
    const axis = (given) => ({
      ...given,
      color: ink("--ink-soft"),
      gridcolor: ink("--rule"),
      linecolor: ink("--rule-strong"),
      tickcolor: ink("--rule-strong"),
      title: { ...given.title, font: { size: narrow ? 11.5 : 12.5, color: ink("--ink-soft") } },
      tickfont: { size: narrow ? 11 : 12.5, color: ink("--ink-soft") },
    });
    return {
      ...layout,
      font: { ...layout.font, color: ink("--ink"), size: narrow ? 12 : 13 },
      // On a phone a long legend would take the plot's place; the table beside it has the names.
      showlegend: layout.showlegend && !(narrow && names > SHORT_LEGEND),
      // Many names stand in two columns, whole, if they are a little smaller.
      legend: {
        ...layout.legend,
        font: { size: narrow ? 11 : names > LONG_LEGEND ? 11.5 : 12.5, color: ink("--ink") },
      },
      hoverlabel: {
        ...layout.hoverlabel,
        bgcolor: ink("--panel"),
        bordercolor: ink("--rule-strong"),
        font: { ...layout.hoverlabel.font, color: ink("--ink") },
      },
      xaxis: axis(layout.xaxis),
      yaxis: axis(layout.yaxis),
    };
  };

  const traces = (data) =>
    data.map((trace) => {
      const drawn = { ...trace };
      for (const bars of ["error_x", "error_y"]) {
        if (drawn[bars]) drawn[bars] = { ...drawn[bars], color: ink("--ink") };
      }
      return drawn;
    });

  // What a mouse finds by pointing the arrow keys find one by one; Tab goes on as everywhere.
  const values = (box) =>
    box.data.flatMap((trace, curveNumber) =>
      trace.hoverinfo === "skip" || trace.visible === false
        ? []
        : Array.from(trace.x, (x, pointNumber) => ({ curveNumber, pointNumber, x, y: trace.y[pointNumber] })).filter(
            (point) => point.x !== null && point.y !== null,
          ),
    );

  const told = (box, point) => {
    const trace = box.data[point.curveNumber];
    const text = (Array.isArray(trace.hovertext) && trace.hovertext[point.pointNumber]) || `${point.x}, ${point.y}`;
    const rows = box.layout.yaxis.ticktext;
    const row = trace.orientation === "h" && rows ? rows[point.y] : "";
    return [row, trace.name, text].filter(Boolean).join(": ").replace(/<br>/g, " ");
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
    const live = document.getElementById(`${box.id}-value`);
    let at = -1;
    const leave = () => {
      if (at < 0) return;
      at = -1;
      Plotly.Fx.unhover(box);
      live.textContent = "";
    };
    box.addEventListener("blur", leave);
    box.addEventListener("keydown", (event) => {
      if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") leave();
      draw(box);
      const points = values(box);
      const next = points.length ? stepped(event.key, at, points) : -1;
      if (next < 0) return;
      event.preventDefault();
      at = next;
      const { curveNumber, pointNumber } = points[at];
      Plotly.Fx.hover(box, [{ curveNumber, pointNumber }]);
      live.textContent = `${at + 1} / ${points.length}: ${told(box, points[at])}`;
    });
  };

  const draw = (box, again = false) => {
    const source = document.getElementById(box.dataset.figure);
    if (!source || !window.Plotly || (box.dataset.drawn && !again)) return;
    const figure = JSON.parse(source.textContent);
    const names = figure.data.filter((trace) => trace.showlegend !== false).length;
    Plotly.react(box, traces(figure.data), inked(figure.layout, box.clientWidth < NARROW, names), CONFIG);
    box.dataset.drawn = "yes";
  };

  const boxes = (which = "[data-figure]") => document.querySelectorAll(which);

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
