"""From answers of studies to what their pages show; no number is made here."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from app.errors import FieldError
from app.estimating.documents import Text
from app.features.catalogue.views import statement_view
from app.features.studies import charts as drawn
from app.features.studies.forms import (
    OPTION_ROWS,
    SHARED,
    AssumedLine,
    ChangeView,
    ClaimView,
    Clash,
    Matrix,
    OptionColumn,
    PartLine,
    StudyAssumptionsPage,
    StudyPage,
    StudyTracePage,
    TornadoView,
    add_view,
    address_query,
    option_views,
    shared_views,
    with_knob,
)
from app.features.studies.model import (
    Change,
    Metric,
    StudyAnswer,
    StudyAssumptions,
    StudyOptionAnswer,
    Tornado,
)
from app.features.studies.trace import FIGURES, StudyTrace
from app.platform.charts import figures
from app.platform.charts.figures import time_scale
from app.platform.web import choices
from app.platform.web.contexts import LEGEND_ROWS, MOST_ROWS, REFUSAL, Choice, FigureView, Form, grouped, view
from app.platform.wording.voice import Voice, stated
from app.platform.workbench import Workbench


def study_page(
    bench: Workbench,
    answer: StudyAnswer,
    voice: Voice,
    form: Form,
    *,
    books: Sequence[Choice],
    pair: Sequence[str] | None = None,
    errors: Sequence[FieldError] = (),
    previous: str | None = None,
    clash: Clash | None = None,
) -> StudyPage:
    """Return the workspace; with errors the result is that of the state before."""
    query = address_query(answer, pair)
    state = urlencode(query)
    form = Form(form.values, errors)
    columns = _columns(bench, answer, form, query, voice)
    shared = shared_views(answer, form, voice, books)
    add = add_view(answer, form, voice)
    fields = {knob.name for knob in shared} | {
        knob.name for column in columns for knob in column.knobs.values()
    }
    fields |= {add.name} if add else set()
    labels = {option.key: option.label for option in answer.options}
    scale = time_scale([option.time for option in answer.options])
    with_parts = [one for one in answer.options if one.estimate and one.estimate.breakdown]
    why = answer.why
    models = {one.estimate.model.name for one in answer.options if one.estimate}
    return StudyPage(
        answer=answer,
        form=form,
        general=[error.message for error in errors if error.field not in fields],
        stale=bool(errors),
        previous=state if previous is None else previous,
        state=state,
        query=f"?{state}" if state else "",
        clash=clash,
        shared=shared,
        rows=[(row, _row_label(row, voice)) for row in OPTION_ROWS],
        add=add,
        add_groups=choices.system_names(bench.catalogue) if add else [],
        columns=columns,
        changes=[_change_view(one, answer, query) for one in answer.changes],
        fastest_tied=", ".join(labels[key] for key in answer.fastest_tied),
        cheapest_tied=", ".join(labels[key] for key in answer.cheapest_tied),
        basis_rows=[(option.label, one) for option in answer.options for one in option.costs],
        time_scale=scale,
        figures=_figures(answer, with_parts, voice),
        part_labels=[one.label for one in with_parts],
        parts=[PartLine(row, [one.key for one in with_parts]) for row in answer.where_time_goes],
        pair=(why.first, why.second) if why else None,
        pair_form=[(name, value) for name, value in query if name != "pair"],
        why_labels=(labels[why.first], labels[why.second]) if why else ("", ""),
        tornados=[_tornado_view(one, labels, voice) for one in answer.tornados],
        matrices=_matrices(answer, labels, voice),
        cost_lines=list(dict.fromkeys(name for column in columns for name in column.lines)),
        warnings=grouped(
            [("", one) for one in answer.warnings]
            + [
                (option.label, one)
                for option in answer.options
                for one in (option.estimate.warnings if option.estimate else ())
                if one.code != REFUSAL
            ]
        ),
        linear_bases=[Choice(one.key, one.label) for one in answer.options],
        model_name=", ".join(sorted(models)),
    )


def _address(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def _row_label(row: str, voice: Voice) -> str:
    names = {
        "count": "system.count",
        "fabric": "system.fabric",
        "batch": "workload.global_batch",
        "precision": "workload.precision",
        "utilisation": "knob.utilisation",
    }
    return voice.gettext("Price") if row == "price" else voice.label(names.get(row, row))


def _columns(
    bench: Workbench,
    answer: StudyAnswer,
    form: Form,
    query: Sequence[tuple[str, str]],
    voice: Voice,
) -> list[OptionColumn]:
    times = figures.range_bars([option.time for option in answer.options])
    costs = figures.range_bars([option.cost for option in answer.options])
    base = f"/studies/{answer.id}"
    state = urlencode([*query])
    found = []
    for option, time_bar, cost_bar in zip(answer.options, times, costs, strict=True):
        memory = option.estimate.memory if option.estimate else None
        added = f"add.{option.key}"
        rest = [(name, value) for name, value in query if name.rpartition(".")[2] != option.key]
        drop = urlencode(rest) if added in answer.knobs else with_knob(rest, f"drop.{option.key}", "1")
        own = next((one for one in option.costs if one.own), None)
        trace = f"{state}&" if state else ""
        found.append(
            OptionColumn(
                option=option,
                knobs=option_views(option, answer, form, query, bench, voice),
                time_bar=time_bar,
                cost_bar=cost_bar,
                memory=figures.memory_bar(memory) if memory else None,
                drop_url=_address(base, drop) if len(answer.options) > 1 else "",
                trace_url=f"{base}/trace?{trace}option={option.key}&figure=",
                hourly=own.hourly if own else None,
                lines={line.item: line for line in own.lines} if own else {},
            )
        )
    return found


def _change_view(change: Change, answer: StudyAnswer, query: Sequence[tuple[str, str]]) -> ChangeView:
    rest = [(name, value) for name, value in query if name != change.knob]
    if change.knob is not None and change.knob.startswith("add."):
        key = change.knob.partition(".")[2]
        rest = [(name, value) for name, value in query if name.rpartition(".")[2] != key]
    return ChangeView(change, _address(f"/studies/{answer.id}", urlencode(rest)))


def _figures(answer: StudyAnswer, with_parts: Sequence[StudyOptionAnswer], voice: Voice) -> list[FigureView]:
    if not with_parts:
        return []
    scale = time_scale([option.time for option in with_parts])
    size = f"rows-{min(len(with_parts) + LEGEND_ROWS, MOST_ROWS)}"
    chart = drawn.parts(answer.where_time_goes, with_parts, scale, voice)
    note = voice.gettext("Bars end at the training time; whiskers show its range.")
    return [view("parts", voice.gettext("Training time breakdown"), size, chart, "parts", note)]


def _tornado_view(found: Tornado, labels: dict[str, str], voice: Voice) -> TornadoView:
    caption = {
        "time": voice.gettext("What would change the fastest option"),
        "cost": voice.gettext("What would change the cheapest option"),
    }[found.metric]
    size = "tall" if len(found.swings) > MOST_ROWS else f"rows-{min(len(found.swings) + 2, MOST_ROWS)}"
    note = voice.gettext("Left of the dashed line, another option is best.")
    chart = drawn.tornado(found, voice)
    figure = view(f"tornado-{found.metric}", caption, size, chart, f"tornado-{found.metric}", note)
    rows = [
        (one, drawn.swing_name(one, voice), labels[one.overtaken_by] if one.overtaken_by else "")
        for one in found.swings
    ]
    return TornadoView(found, figure, labels[found.best], labels[found.runner_up], rows)


def _matrices(answer: StudyAnswer, labels: dict[str, str], voice: Voice) -> list[Matrix]:
    titles: dict[Metric, str] = {"time": voice.gettext("is faster"), "cost": voice.gettext("is cheaper")}
    found = []
    for metric, title in titles.items():
        sure = {(one.first, one.second): one.probability for one in answer.contests if one.metric == metric}
        keys = list(dict.fromkeys(first for first, _ in sure))
        if len(keys) < 2 or all(value is None for value in sure.values()):
            continue
        rows = [(labels[first], [drawn.cell(sure.get((first, second))) for second in keys]) for first in keys]
        found.append(Matrix(title, [labels[key] for key in keys], rows))
    return found


def assumptions_page(found: StudyAssumptions, query: str, voice: Voice) -> StudyAssumptionsPage:
    """Return everything a study takes for granted, options with the same value on one line."""
    back = _address(f"/studies/{found.id}", query)
    lines = []
    for row in found.rows:
        grouped_by: dict[tuple[str, bool, str], tuple[list[str], Text | None]] = {}
        for key, one in row.values.items():
            value = stated(row.field, one.value, voice)
            said = (value, one.default, one.text.message if one.text else "")
            grouped_by.setdefault(said, ([], one.text))[0].append(found.labels[key])
        whole = len(grouped_by) == 1 and len(row.values) == len(found.labels)
        values = [
            (value, default, "" if whole else " · ".join(options), text)
            for (value, default, _), (options, text) in grouped_by.items()
        ]
        lines.append(AssumedLine(row.field, _knob_url(back, row.knob, found), values))
    return StudyAssumptionsPage(
        assumptions=found,
        back_url=back,
        lines=lines,
        catalog="/catalog/sources",
    )


def _knob_url(back: str, knob: str | None, found: StudyAssumptions) -> str:
    if knob is None or not found.labels:
        return ""
    first = next(iter(found.labels))
    place = knob if knob in SHARED else f"{knob}-{first}"
    return f"{back}#knob-{place}" if knob in {*SHARED, "count", "fabric", "software"} else ""


def trace_page(found: StudyTrace, query: str, voice: Voice, panel: bool) -> StudyTracePage:
    """Return where a figure comes from."""
    base = f"/studies/{found.id}/trace?{query}{'&' if query else ''}option={found.option}&figure="
    claims = [
        ClaimView(one.name, one.address, statement_view(one.figure, voice, one.figure.description))
        for one in found.claims
    ]
    shown = FIGURES if found.kind == "modelled" else ("time_to_train",)
    return StudyTracePage(
        trace=found,
        back_url=_address(f"/studies/{found.id}", query),
        figures=[Choice(f"{base}{name}", name) for name in shown],
        claims=claims,
        panel=panel,
        rejected=sum(len(one.statement.rejected) for one in claims),
    )
