"""Canonical content and its hash, and what a replay calls a change."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.features.proposals.lines import canonical, changes_between, content_hash, exact
from app.features.proposals.model import ProposalContent
from tests.features.proposals.conftest import content, modelled

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


def test_the_hash_does_not_hang_on_the_order_of_names() -> None:
    one = content(modelled())
    document = json.loads(one.model_dump_json())
    turned = dict(reversed(document.items()))
    assert canonical(turned) == canonical(document)
    assert content_hash(turned) == content_hash(document)


def test_the_canonical_form_survives_being_read_again() -> None:
    written = canonical(content(modelled(), reason="한글 \u202e 漢 \x07").model_dump(mode="json"))
    again = ProposalContent.model_validate_json(written)
    assert canonical(again.model_dump(mode="json")) == written


def test_any_change_gives_another_hash() -> None:
    contents = [content(reason=reason).model_dump(mode="json") for reason in ("a", "b", "A")]
    assert len(set(map(content_hash, contents))) == 3


@given(JSON)
def test_whole_numbers_are_doubles_as_the_canonical_form_reads_them(value: Any) -> None:
    made = json.dumps(exact(value))
    assert json.loads(made) == json.loads(json.dumps(value)) or "e" in made or "." in made


def test_the_same_content_has_no_changes() -> None:
    one = content(modelled())
    compared, changes = changes_between(one, one)
    assert compared > 100
    assert changes == []


def test_options_that_come_or_go_shift_no_other_line() -> None:
    whole, less = content(modelled()), content(modelled()[:1])
    _, changes = changes_between(whole, less)
    assert not any(one.option == "128 × DGX A100" and one.section == "plan" for one in changes)
    assert all(one.now is None for one in changes if one.option == "64 × DGX A100")
