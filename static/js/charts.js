// Draws the charts of a page from the figures embedded in it. A page without this script shows the
// same numbers as tables.
"use strict";

(() => {
  const CONFIG = {
    showSendToCloud: false,
    plotlyServerURL: "",
    displaylogo: false,
    responsive: true,
    displayModeBar: "hover",
  };
  const NARROW = 520;
  const SHORT_LEGEND = 4;

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
      legend: { ...layout.legend, font: { size: narrow ? 11 : 12.5, color: ink("--ink") } },
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

  // The one button a chart has: a picture for a slide, made here and sent nowhere.
  const saving = (box) => ({
    name: "save",
    title: box.dataset.save,
    icon: Plotly.Icons.camera,
    click: (drawn) => Plotly.downloadImage(drawn, { format: "png", scale: 2, filename: box.id }),
  });

  const draw = (box) => {
    const source = document.getElementById(box.dataset.figure);
    if (!source || !window.Plotly) return;
    const figure = JSON.parse(source.textContent);
    const names = figure.data.filter((trace) => trace.showlegend !== false).length;
    const layout = inked(figure.layout, box.clientWidth < NARROW, names);
    Plotly.react(box, traces(figure.data), layout, { ...CONFIG, modeBarButtons: [[saving(box)]] });
    box.dataset.drawn = "yes";
  };

  const drawAll = (again) => {
    for (const box of document.querySelectorAll("[data-figure]")) {
      if (again || !box.dataset.drawn) draw(box);
    }
  };

  // Text is measured while drawing: the font has to be there first.
  const whenLettersAreThere = (work) => document.fonts.load('13px "Rackline Sans"').then(work, work);

  const start = () => {
    whenLettersAreThere(() => drawAll(false));
    document.addEventListener("htmx:after:swap", () => drawAll(false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
    addEventListener("beforeprint", () => drawAll(true));
  };

  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();
