"""What the engine refuses, and the error of the product that it becomes."""

import pickle
import re

import pytest

from app.engine.errors import Contradiction, EngineError, OutOfRange, Shortage, TooManyPlans
from app.engine.fat_tree import fat_tree
from app.errors import AppError, BadInput, TooLarge, engine_errors, fields_at, of_engine


@pytest.mark.parametrize(
    ("kind", "status"), [(OutOfRange, 400), (Contradiction, 400), (Shortage, 400), (TooManyPlans, 413)]
)
def test_a_refusal_of_the_engine_gets_a_status(kind: type[EngineError], status: int) -> None:
    refusal = kind("more than {most} plans", field="plan", most=2_000_000)
    error = of_engine(refusal)
    assert (error.status, str(error.message)) == (status, "more than 2,000,000 plans")
    assert (error.message.template, error.message.values) == (refusal.template, {"most": 2_000_000})
    assert [(entry.field, entry.message) for entry in error.errors] == [("plan", error.message)]


def test_a_refusal_of_no_field_names_none() -> None:
    error = of_engine(OutOfRange("load must be between 0 and 1"))
    assert isinstance(error, BadInput) and not error.errors


def test_what_the_engine_refuses_within_is_raised_with_a_status() -> None:
    with pytest.raises(TooLarge) as refused, engine_errors():
        raise TooManyPlans("more than {most} plans", field="plan", most=1)
    assert isinstance(refused.value.__cause__, TooManyPlans)


def test_a_refusal_gets_the_field_of_whoever_asked() -> None:
    with pytest.raises(AppError) as refused, fields_at(lambda _: "nodes"):
        fat_tree(0, 8, 40)
    (entry,) = refused.value.errors
    assert entry.field == "nodes"
    assert {"1", "0"} <= set(re.findall(r"\d+", str(entry.message)))


def test_a_refusal_crosses_processes() -> None:
    refusal = OutOfRange("got {n}", field="ports", n=3)
    again = pickle.loads(pickle.dumps(refusal))
    assert (type(again), again.template, again.field, again.values) == (
        OutOfRange,
        "got {n}",
        "ports",
        {"n": 3},
    )
