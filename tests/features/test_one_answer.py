"""One question has one answer: what two ways to an option share is equal, warnings included.

Questions are drawn: models, systems, counts, plans, software, terms of the money. Each is asked as an
estimate, and of every other room that has an option of it; the estimate of the same request must agree in
every field that both have.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.engine.units import HOUR
from app.errors import AppError
from app.estimating.context import SizingContext
from app.estimating.estimate import Answer
from app.estimating.request import EstimateRequest, PlanInput
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.points import Sweep
from app.features.sweeps.run import row_at
from tests.conftest import sizing_context
from tests.support.application import Ask

SHARE, WHOLE = range(24), range(200)
"""Seeds of the questions that are asked at every change, and of all."""

MODELS: Mapping[str, tuple[str, float, int | None]] = {
    "bert-large": ("samples", 1e7, 512),
    "gpt3-175b": ("tokens", 3e11, 2048),
    "llama-7b": ("tokens", 2e11, 2048),
    "gpt2-1.5b": ("tokens", 1e10, 1024),
    "resnet50": ("samples", 1e8, None),
    "efficientnet-b4": ("samples", 1e8, None),
    "vit-base": ("samples", 1e8, None),
    "t5-large": ("samples", 1e7, 512),
}
"""Amount of work and sequence length by preset."""
GPUS = (
    *("dgx-a100-640gb", "dgx-a100-320gb", "dgx1-v100", "dgx-h100", "dgx-b200", "gb200-nvl72"),
    *("aws-p4d", "aws-p5", "l40s-8", "mi300x-8", "gaudi3-8", "tpu-v5p", "a100-pcie-80gb"),
)
PODS = ("ipu-pod16", "bow-pod16", "ipu-pod64", "bow-pod64", "bow-2000")
SOFTWARE = ("megatron-2022", "megatron-2021", "gpu-eager")

Body = dict[str, Any]


def question(seed: int) -> Body:
    """Return the request of an estimate."""
    draw = random.Random(seed)
    name = draw.choice(list(MODELS))
    work, amount, length = MODELS[name]
    pods = draw.random() < 0.3
    system: Body = {"id": draw.choice(PODS if pods else GPUS)}
    if draw.random() < 0.8:
        system["count"] = draw.choice((1, 2) if pods else (1, 2, 4, 8, 16, 64))
    workload: Body = {work: amount * draw.choice((0.01, 0.1, 1.0))}
    if length is not None and draw.random() < 0.5:
        workload["seq_len"] = length
    if draw.random() < 0.6:
        workload["global_batch"] = draw.choice((256, 512, 1024, 2048))
    if name.startswith(("llama", "gpt2")) and draw.random() < 0.4:
        workload["kind"] = draw.choice(("lora", "qlora", "finetune", "continue"))
    if draw.random() < 0.2:
        workload["precision"] = draw.choice(("fp16", "bf16", "tf32", "fp8"))
    body: Body = {"model": {"preset": name}, "workload": workload, "system": system}
    if not pods and draw.random() < 0.25:
        body["software"] = draw.choice(SOFTWARE)
    if draw.random() < 0.25:
        body["plan"] = {"pipeline": draw.choice((1, 2))}
    assumptions: Body = {}
    if draw.random() < 0.4:
        assumptions["utilisation"] = draw.choice((0.3, 0.9))
    if draw.random() < 0.3:
        assumptions["acquisition"] = draw.choice(("own", "rent"))
    if draw.random() < 0.3:
        assumptions["failures_per_1000_node_days"] = draw.choice((0.5, 8.0))
    if draw.random() < 0.2:
        assumptions["input_samples_per_second"] = 5e4
    if assumptions:
        body["assumptions"] = assumptions
    if draw.random() < 0.4:
        body["currency"] = draw.choice(("KRW", "EUR"))
    return body


def differences(mine: Any, theirs: Any, where: str = "") -> list[str]:
    """Return where two documents differ in what both have."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        shared = [name for name in mine if name in theirs]
        return [one for name in shared for one in differences(mine[name], theirs[name], f"{where}.{name}")]
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        pairs = enumerate(zip(mine, theirs, strict=True))
        return [one for index, (a, b) in pairs for one in differences(a, b, f"{where}.{index}")]
    if isinstance(mine, float | int) and isinstance(theirs, float | int):
        equal = math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-12)
    else:
        equal = mine == theirs
    return [] if equal else [f"{where}: {str(mine)[:90]} is not {str(theirs)[:90]}"]


IDENTITY = (
    *("id", "name", "created_at", "links", "request", "summary", "label"),
    *("defaults", "workload", "assumptions", "time_samples"),
)
"""Fields of an estimate that say who asked, how and when, or that only stored ones have."""


def figures(estimate: Body) -> Body:
    return {name: value for name, value in estimate.items() if name not in IDENTITY}


def codes(estimate: Body) -> set[str]:
    return {warning["code"] for warning in estimate["warnings"]}


def estimated(ask: Ask, body: Body) -> Body | None:
    """Return an estimate; None where the request is refused."""
    answer = ask("POST", "/api/v1/estimates", json=body)
    assert answer.status_code < 500, answer.text
    found: Body = answer.json()
    return found if answer.status_code == 201 else None


def asked_as_study(ask: Ask, body: Body) -> Body:
    """Return a study of one option."""
    option = {name: body[name] for name in ("system", "plan", "software") if name in body}
    base = {name: body[name] for name in ("model", "workload", "assumptions", "currency") if name in body}
    made = ask("POST", "/api/v1/studies", json={"name": "One", "base": base, "options": [option]})
    assert made.status_code == 201, made.text
    study: Body = made.json()
    return study


def study(ask: Ask, body: Body, whole: Body) -> list[str]:
    made = asked_as_study(ask, body)
    (option,) = ask("POST", f"/api/v1/studies/{made['id']}/answers", json={}).json()["options"]
    # Where nothing fits there is no estimate in the option, but a refusal.
    found = differences(option["time"], whole["time_to_train"], "time")
    if option["estimate"] is not None:
        found += differences(figures(option["estimate"]), figures(whole), "estimate")
    return found


def proposal(ask: Ask, body: Body, whole: Body) -> list[str]:
    made = asked_as_study(ask, body)
    wanted = {"study_id": made["id"], "customer": "A customer", "locale": "en"}
    wanted["currency"] = body.get("currency", "USD")
    answer = ask("POST", "/api/v1/proposals", json=wanted)
    if answer.status_code != 201:
        return []
    document = ask("GET", f"/api/v1/proposals/{answer.json()['id']}.json").json()
    return [
        one
        for estimate in estimates_in(document)
        for one in differences(figures(estimate), figures(whole), "estimate")
        # A customer is not told who lent the workspace a price list.
        if ".publisher:  is not" not in one
    ]


def estimates_in(document: Any) -> list[Body]:
    if isinstance(document, list):
        return [one for part in document for one in estimates_in(part)]
    if not isinstance(document, Mapping):
        return []
    if {"time_to_train", "breakdown", "validation", "warnings"} <= document.keys():
        return [dict(document)]
    return [one for part in document.values() for one in estimates_in(part)]


def comparison(ask: Ask, body: Body, whole: Body) -> list[str]:
    answer = ask(
        "POST",
        "/api/v1/comparisons",
        json={"rows": [body, {"label": "Stated", "hours": 10.0, "kind": "published"}]},
    )
    assert answer.status_code == 201, answer.text
    row = answer.json()["rows"][0]
    time = whole["time_to_train"]
    return differences(row["hours"], time and time["value"] / HOUR, "hours")


SIZED = ("model", "workload", "software", "assumptions", "currency")


def sizing(ask: Ask, body: Body, whole: Body) -> list[str]:
    """The sizing may know a better plan: its option is held against the estimate that it names."""
    request = {name: body[name] for name in SIZED if name in body}
    request |= {"systems": [body["system"]["id"]], "counts": [body["system"].get("count", 1)]}
    answer = ask("POST", "/api/v1/sizings", json=request)
    if answer.status_code >= 400:
        return []
    return [
        f"{option['id']} {one}"
        for option in answer.json()["options"]
        for one in sized(option, estimated(ask, option["estimate"]))
    ]


def sized(option: Body, whole: Body | None) -> list[str]:
    assert whole is not None, option["estimate"]
    cost = whole["cost"] or {"run": None, "hourly": None, "capex": None}
    same: Body = {
        "fits": whole["fits"],
        "accelerators": whole["system"]["devices"],
        "machines": whole["system"]["machines"],
        "chip": whole["system"]["chip"],
        "rack_units": whole["system"]["rack_units"],
        "power": whole["system"]["power"],
        "global_batch": whole["plan"]["global_batch"],
        "idle_machines": whole["plan"]["idle_machines"],
        "plan": whole["plan"],
        "software": whole["software"],
        "precision": whole["precision_used"],
        "memory_share": whole["memory"]["per_device"]["value"] / whole["memory"]["capacity"]["value"],
        "status": whole["validation"]["status"],
        "warnings": sorted(codes(whole)),
    }
    if option["fits"]:
        same |= {"time_to_train": whole["time_to_train"], "step_time": whole["step_time"]}
        same |= {"cost": cost["run"], "hourly": cost["hourly"], "capex": cost["capex"]}
    option = option | {"warnings": sorted(set(option["warnings"]))}
    # A field of the plan that is left out is what the plan has by default.
    option["plan"] = {name: value for name, value in option["plan"].items() if value is not None}
    return differences(option, same)


def networks(ask: Ask, body: Body, whole: Body) -> list[str]:
    """The network that the system has, at the plan found for it."""
    system = whole["system"]
    own = {"fabric": system["fabric"], "ports_per_node": system["ports_per_node"]}
    other = "roce-100" if system["fabric"] != "roce-100" else "hdr-infiniband"
    request = {"estimate": body, "options": [own, {"fabric": other, "ports_per_node": 2}]}
    answer = ask("POST", "/api/v1/fabric-choices", json=request)
    if answer.status_code >= 400:
        return []
    options = answer.json()["options"]
    option = next((one for one in options if own.items() <= one.items()), None)
    if option is None or option["oversubscription"] != 1.0:
        return []
    fields = PlanInput.model_fields
    plan = {name: value for name, value in option["plan"].items() if name in fields and value is not None}
    workload = body["workload"] | {"global_batch": option["plan"]["global_batch"]}
    same = estimated(ask, body | {"workload": workload, "plan": plan, "system": body["system"] | own})
    assert same is not None, plan
    shared = ("step_time", "throughput", "time_to_train")
    found = differences(
        {name: option[name]["value"] for name in shared}, {name: same[name]["value"] for name in shared}
    )
    run = same["cost"] and same["cost"]["run"]["value"]
    return found + differences(option["run_cost"] and option["run_cost"]["value"], run, ".run_cost")


def sweep(ask: Ask, body: Body, whole: Body) -> list[str]:
    system = {"id": body["system"]["id"], "counts": [body["system"].get("count", 1)]}
    scenario = {"label": "One"} | {
        name: body[name] for name in ("plan", "software", "assumptions") if name in body
    }
    model = {"label": "One", "model": body["model"], "workload": body["workload"]}
    request = SweepRequest.model_validate(
        {
            "models": [model],
            "systems": [system],
            "scenarios": [scenario],
            "currency": body.get("currency", "USD"),
        }
    )
    context = sizing_context()
    (point,) = Sweep.of(request).points()
    row = row_at(point, context).model_dump(mode="json")
    assert row["problem"] is None, row["problem"]
    flat = {
        "fits": whole["fits"],
        "steps": whole["steps"],
        "software": whole["software"],
        "precision_used": whole["precision_used"],
        "status": whole["validation"]["status"],
        "warnings": list(dict.fromkeys(warning["code"] for warning in whole["warnings"])),
        **{
            name: whole[name] and whole[name]["value"]
            for name in ("step_time", "time_to_train", "energy", "mfu")
        },
        "cost": whole["cost"] and whole["cost"]["run"]["value"],
        "capex": whole["cost"] and whole["cost"]["capex"] and whole["cost"]["capex"]["value"],
        **{name: value for name, value in whole["plan"].items() if name in row},
    }
    return differences(row, flat)


def break_even(ask: Ask, body: Body, whole: Body) -> list[str]:
    """A purchase is the purchase of the estimate."""
    cost = whole["cost"]
    if cost is None or cost["capex"] is None:
        return []
    request = {
        "currency": body.get("currency", "USD"),
        "hardware": {"system": body["system"]["id"], "count": body["system"].get("count", 1)},
        "onprem": {},
        "cloud_monthly": 1e6,
    }
    found = ask("POST", "/api/v1/breakevens", json=request)
    assert found.status_code == 200, found.text
    return differences(found.json()["capex"]["value"], cost["capex"]["value"], "capex")


def search(ask: Ask, body: Body, whole: Body) -> list[str]:
    """The plans of a search are those of estimates that state them, and its first is the best."""
    request = {name: body[name] for name in SIZED if name in body and name != "currency"}
    request |= {"system": body["system"], "constraints": body.get("plan", {}), "keep": 3, "what_if": False}
    answer = ask("POST", "/api/v1/searches", json=request)
    if answer.status_code >= 400:
        return []
    document = answer.json()
    same = ("engine_version", "catalog_version", "model", "system", "software", "precision_used", "fits")
    found = differences({name: document[name] for name in same}, whole)
    if not document["fits"]:
        return found
    first = {name: whole[name] for name in ("step_time", "throughput", "mfu")}
    best, *others = document["plans"]
    if best["plan"] == whole["plan"]:
        found += [f"{code} is not said" for code in codes(document) - codes(whole)]
        found += differences(best, first | {"memory": whole["memory"]["per_device"]}, ".first")
    else:
        # All plans may hold a better one than an estimate tries, or none on as few machines.
        if not 0.94 < whole["throughput"]["value"] / best["throughput"]["value"] < 1.02:
            found.append(".first is another plan")
        others = document["plans"]
    for one in others:
        plan = {name: one["plan"][name] for name in PlanInput.model_fields if one["plan"][name] is not None}
        workload = body["workload"] | {"global_batch": one["plan"]["global_batch"]}
        stated = estimated(ask, body | {"workload": workload, "plan": plan})
        assert stated is not None, plan
        # Teams that state a plan differ from those that leave it open, so ranges do.
        shared = {name: {"value": stated[name]["value"]} for name in first}
        found += differences(one, shared | {"memory": stated["memory"]["per_device"]}, ".other")
    return found


def inference(ask: Ask, body: Body, whole: Body) -> list[str]:
    """A system that serves costs by the hour what it costs where it trains."""
    names = ("model", "assumptions", "currency")
    terms = {"prompt_tokens": 512, "output_tokens": 64}
    request = {name: body[name] for name in names if name in body} | terms | {"systems": [body["system"]]}
    answer = ask("POST", "/api/v1/inferences", json=request)
    if answer.status_code >= 400:
        return []
    (served,) = answer.json()["systems"]
    found = differences(served["system"], whole["system"], ".system")
    cost = whole["cost"]
    if cost is None or whole["plan"]["idle_machines"]:
        return found
    found += differences(served["hourly"], cost["hourly"], ".hourly")
    return found + differences(served["cost_basis"], cost["basis"], ".cost_basis")


WAYS: tuple[Callable[[Ask, Body, Body], list[str]], ...] = (
    *(sizing, study, proposal, comparison, networks, sweep, break_even, search, inference),
)


def check(ask: Ask, seed: int) -> None:
    body = question(seed)
    whole = estimated(ask, body)
    if whole is not None:
        found = [f"{way.__name__}{one}" for way in WAYS for one in way(ask, body, whole)]
        assert not found, body


@pytest.mark.parametrize("seed", SHARE)
def test_every_way_to_an_option_agrees(ask: Ask, seed: int) -> None:
    check(ask, seed)


@pytest.mark.endurance
def test_every_way_to_an_option_agrees_on_all_questions(ask: Ask) -> None:
    for seed in WHOLE:
        check(ask, seed)


def test_phases_of_claims_are_their_estimates(ask: Ask) -> None:
    phases = [
        phase
        for claim in ask("GET", "/api/v1/claims").json()["items"]
        for side in sides_in(ask("GET", f"/api/v1/claims/{claim['id']}").json())
        for phase in side["phases"]
    ]
    assert phases
    for phase in phases:
        whole = estimated(ask, phase["request"])
        assert whole is not None
        same = {"throughput": whole["throughput"], "validation": whole["validation"]["status"]}
        same |= {"software": whole["software"], "precision": whole["precision_used"]}
        same |= {"global_batch": whole["plan"]["global_batch"], "micro_batch": whole["plan"]["micro_batch"]}
        assert not differences(phase, same), phase["request"]


def sides_in(document: Any) -> list[Body]:
    if isinstance(document, list):
        return [one for part in document for one in sides_in(part)]
    if not isinstance(document, Mapping):
        return []
    own = [dict(document)] if "phases" in document else []
    return own + [one for part in document.values() for one in sides_in(part)]


def test_what_is_remembered_of_other_questions_changes_nothing() -> None:
    """The same work at other amounts, with the plan left open and given: each shares what it may."""
    known: dict[Hashable, Any] = {}

    def remember(key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in known:
            known[key] = make()
        return known[key]

    alone = sizing_context()
    sharing = replace(alone, remember=remember)
    for seed in SHARE:
        body = question(seed)
        for factor in (1.0, 1.7):
            workload = {
                name: value * factor if name in ("samples", "tokens") else value
                for name, value in body["workload"].items()
            }
            first = answered(body | {"workload": workload}, alone)
            if first is None or first["plan"] is None:
                continue
            plan = {name: first["plan"][name] for name in ("tensor", "pipeline", "data")}
            batch = {"global_batch": first["plan"]["global_batch"]}
            for changed in ({}, {"plan": plan, "workload": workload | batch}):
                request = body | {"workload": workload} | changed
                mine, theirs = answered(request, alone), answered(request, sharing)
                assert not differences(mine, theirs), request


def answered(body: Body, context: SizingContext) -> Body | None:
    try:
        return Answer(EstimateRequest.model_validate(body), context).document.model_dump(mode="json")
    except AppError:
        return None
