"""Pages of proposals: the form, the document, what can be done with it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.features.proposals.model import SECTIONS
from app.platform.rates import ClientKind, CostClass
from app.platform.web.examples import CALIBRATION, STUDY
from app.platform.wording.voice import voice
from tests.support.application import Reader, allowed, sentences
from tests.support.renderings import text_of as document_text

FORM = {
    "customer": "하이퍼커넥트",
    "title": "BERT-Large",
    "locale": "ko",
    "currency": "KRW",
    "reason": "첫 문단\n둘째 문단",
    "valid_until": "2099-12-31",
    "confidential": "yes",
    "accent": "#ffe600",
}

LIMITS = {"scaling_efficiency": "0.9", "deadline": "1"}
"""Knobs of a study that its proposal takes over."""

EDIT = {**FORM, "scaling_efficiency": "90", "deadline_h": "24"}


def identifier_of(address: str) -> str:
    return address.rsplit("/", 1)[-1].split("?")[0]


def proposing(reader: Reader, made_of: str, **knobs: str) -> str:
    """Return the address of the view of proposals of a study or comparison with knobs turned in Compare."""
    kind = "comparison" if made_of.startswith("/comparisons/") else "study"
    view = reader.landed(f"/proposals/new?{kind}={identifier_of(made_of)}")
    assert re.fullmatch(r"/studies/stu_\w+/proposal", view)
    if not knobs:
        return view
    compare = reader.page(f"{study_of(view)}?{urlencode(knobs)}")
    return str(compare.select(".tabs a")[-1]["href"])


def study_of(view: str) -> str:
    """Return the address of the study of a view."""
    return view.partition("/proposal")[0]


def fields_of(reader: Reader, view: str, action: str = "") -> dict[str, Any]:
    """Return what the form of a view would send if nothing was typed."""
    form = reader.page(view).find("form", class_="proposal-form")
    assert form["action"] == (action or view)
    fields: dict[str, Any] = {}
    for entry in form.select("input:not([type=file]):not([type=checkbox]), textarea"):
        fields[entry["name"]] = entry.get("value", "") if entry.name == "input" else entry.get_text()
    for entry in form.select("select"):
        fields[entry["name"]] = next((one["value"] for one in entry.select("option[selected][value]")), "")
    for entry in form.select("input[type=checkbox][checked]"):
        fields.setdefault(entry["name"], []).append(entry["value"])
    return fields


def drafted(reader: Reader, comparison: str, **more: Any) -> str:
    """Make a draft through the view of a study and return its address."""
    view = proposing(reader, comparison, **LIMITS)
    response = reader.submit(view, {**fields_of(reader, view), **FORM, **more})
    assert response.status_code == 303, response.text
    return str(response.headers["location"])


def text_of(page: BeautifulSoup) -> str:
    return page.get_text(" ", strip=True)


def test_the_form_asks_nothing_that_the_study_says(reader: Reader, claimed: str) -> None:
    view = proposing(reader, claimed, scaling_efficiency="0.85")
    form = reader.page(view).find("form", class_="proposal-form")
    for name in ("scaling_efficiency", "deadline_h", "budget", "price_book_id", "study_id", "comparison_id"):
        assert form.find(attrs={"name": name}) is None, name
    kept = reader.data(f"/api/v1{study_of(view)}")
    assert form.find("input", id="title")["value"] == kept["content"]["name"]
    assert len(form.find_all("input", attrs={"name": "options", "checked": True})) == 3
    made = reader.submit(view, {**fields_of(reader, view), "customer": "A"}).headers["location"]
    content = reader.data(f"{made}.json")["content"]
    assert content["comparison"]["scaling_efficiency"] == 0.85
    assert len(content["comparison"]["rows"]) == 3


def test_a_draft_saves_the_study_as_it_is_shown(reader: Reader, claimed: str) -> None:
    view = proposing(reader, claimed, **LIMITS)
    study = study_of(view)
    fields = {**fields_of(reader, view), "customer": "A"}
    assert "also saves the study" in reader.page(view).find(id="study").get_text()
    made = str(reader.submit(view, fields).headers["location"])
    kept = reader.data(f"/api/v1{study}")
    assert (kept["saved"], kept["version"]) == (True, 2)
    assert kept["content"]["base"]["scaling_efficiency"] == 0.9
    assert kept["content"]["limits"]["deadline_s"] == 86400
    assert kept["content"]["customer"] == "A"

    plain = f"{study}/proposal"
    listed = reader.page(plain)
    assert "also saves the study" not in listed.find(id="study").get_text()
    assert [row["href"] for row in listed.select("#proposals th a")] == [made]
    assert [one["id"] for one in reader.data(f"{plain}.json")["items"]] == [identifier_of(made)]
    again = {**fields_of(reader, plain), "customer": "B"}
    assert reader.submit(plain, again).status_code == 303
    after = reader.data(f"/api/v1{study}")
    assert (after["version"], after["content"]["customer"]) == (2, "A"), "nothing was turned"
    assert len(reader.page(plain).select("#proposals tbody tr")) == 2


def test_the_bill_of_a_proposal_is_that_of_its_study(reader: Reader) -> None:
    """The Bill view keeps storage and spares with the study, whether saved or only shown."""
    study = reader.study(
        {"id": "dgx-a100-640gb", "count": 4}, {"id": "ipu-pod64"}, {"id": "aws-p4d"}, currency="KRW"
    )
    shown = reader.landed(f"{study}/bill?storage_tb=500&spare=1&ports_per_node=4&rack_units=48")
    state = shown.partition("?")[2]
    view = f"{study}/proposal?{state}"
    made = str(reader.submit(view, {**fields_of(reader, view), **FORM, "title": ""}).headers["location"])
    content = reader.data(f"{made}.json")["content"]
    wanted = [reader.data(f"{study}/bill.json?{state}&option={key}") for key in "ab"]
    for bill, found in zip(wanted, content["bills"], strict=False):
        assert {"storage", "spares"} <= {one["group"] for one in found["groups"]}
        assert [one["quantity"] for one in found["lines"]] == [one["quantity"] for one in bill["lines"]]
        assert found["racks"] == bill["totals"]["racks"]
        assert found["total"]["value"] == pytest.approx(bill["totals"]["price"]["value"])
    offered = content["advice"]["recommended"]
    assert "storage_not_counted" not in [one["code"] for one in content["warnings"]]
    page, said = reader.page(made), document_text(reader.get(f"{made}.pdf").content)
    for found in content["bills"][:2]:
        total = voice("ko").exact(found["total"]["value"], "KRW")
        assert total in text_of(page) and total in said, found["label"]
    assert offered is None or offered in said
    # The API reads what the study keeps, and a repetition today finds the same.
    asked = {"study_id": identifier_of(study), "customer": "A"}
    again = reader.ask("POST", "/api/v1/proposals", json=asked).json()
    assert again["content"]["bills"] == content["bills"]
    assert reader.ask("POST", f"/api/v1/proposals/{again['id']}/replay").json()["changes"] == []
    own = reader.ask("POST", "/api/v1/proposals", json={**asked, "bill": {"storage_tb": 100}}).json()
    assert own["content"]["bills"][0]["total"]["value"] < wanted[0]["totals"]["price"]["value"]


def test_a_rented_option_is_billed_by_the_hour_as_it_is_paid(reader: Reader) -> None:
    for rental, price in (("on-demand", 21.957642), ("reserved-3-years", 9.374)):
        body = {
            "name": "Rented",
            "base": {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}},
            "options": [{"system": {"id": "aws-p4d", "count": 2}, "assumptions": {"rental": rental}}],
        }
        study = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
        asked = {"study_id": study, "customer": "A", "locale": "en", "currency": "USD"}
        made = reader.ask("POST", "/api/v1/proposals", json=asked).json()
        (line,) = made["content"]["bills"][0]["lines"]
        assert line["unit_price"]["value"] == pytest.approx(price)
        heads = [one.get_text() for one in reader.page(f"/proposals/{made['id']}").select("#bill-0 th")]
        assert {"Price per hour", "Total per hour"} <= set(heads)


def test_the_bill_of_a_proposal_is_at_stated_prices(reader: Reader) -> None:
    body = {
        "name": "Own price",
        "base": {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}, "currency": "KRW"},
        "options": [{"system": {"id": "dgx-a100-640gb", "count": 4}, "assumptions": {"system_price": 3e8}}],
    }
    study = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    asked = {"study_id": study, "customer": "A"}
    made = reader.ask("POST", "/api/v1/proposals", json=asked).json()["content"]["bills"][0]
    bill = reader.data(f"/studies/{study}/bill.json")
    assert made["total"]["value"] == pytest.approx(bill["totals"]["price"]["value"])
    assert made["equipment"] == bill["equipment"]


STORED = {"id": "dgx-a100-640gb", "count": 4}


def test_one_amount_has_one_name_and_number_in_every_view(reader: Reader) -> None:
    """A purchase, what it joins and two powers: each page names what it shows, and the PDF says the same."""
    study = reader.study(STORED, currency="USD")
    compare, bill = reader.page(study), reader.page(f"{study}/bill")
    own = reader.data(f"{study}.json")["options"][0]["costs"][0]
    found = reader.data(f"{study}/bill.json")
    assert found["totals"]["price"]["value"] == pytest.approx(own["capex"]["value"])
    view = f"{study}/proposal"
    asked = {**fields_of(reader, view), "customer": "A", "locale": "en", "currency": "USD"}
    made = str(reader.submit(view, asked).headers["location"])
    paper, pdf = text_of(reader.page(made)), document_text(reader.get(f"{made}.pdf").content)
    content = reader.data(f"{made}.json")["content"]
    power = content["comparison"]["rows"][0]["estimate"]["system"]["power"]["value"]
    english = voice("en")
    said = {
        "Systems and network": english.value(found["equipment"]["value"], "USD"),
        "Purchase with freight and installation": english.value(own["capex"]["value"], "USD"),
        "Bill of materials total": english.exact(content["bills"][0]["total"]["value"], "USD"),
        "Power in this training": english.value(power, "W", exact=False),
        "Power under load": english.value(found["totals"]["power"]["value"], "W", exact=False),
    }
    whole = {"Bill of materials total": english.value(found["totals"]["price"]["value"], "USD")}
    assert said["Purchase with freight and installation"] == whole["Bill of materials total"]
    for name, amount in said.items():
        for text in (paper, pdf):
            assert name in re.sub(r"\s+", " ", text) and amount in text, (name, amount)
    assert (
        said["Purchase with freight and installation"] in compare.select_one("#column-a .r-capex").get_text()
    )
    assert "Purchase with freight and installation" in compare.select_one(".study-names").get_text()
    for name in ("Systems and network", "Bill of materials total", "Power under load"):
        (shown,) = [one for one in bill.select(".headline > div") if one.dt.get_text(strip=True) == name]
        assert {**said, **whole}[name] in shown.dd.get_text(), name
    glossary = reader.page("/glossary").get_text()
    assert all(name in glossary for name in said)


def test_a_document_says_what_is_committed_and_tells_the_customer_nothing_to_do(reader: Reader) -> None:
    study = reader.study({"id": "a100-sxm-40gb", "count": 2})
    view = f"{study}/proposal"
    asked = {**fields_of(reader, view), "customer": "A", "locale": "en", "currency": "USD"}
    made = str(reader.submit(view, asked).headers["location"])
    paper, pdf = text_of(reader.page(made).article), document_text(reader.get(f"{made}.pdf").content)
    codes = {one["code"] for one in reader.data(f"{made}.json")["content"]["warnings"]}
    assert {"price_is_estimate", "storage_not_counted", "prices_estimated"} <= codes
    for told in ("Get a quote", "enter its capacity", "replace them with", "choose your own software"):
        assert told not in paper and told not in re.sub(r"\s+", " ", pdf), told
    assert "P90" in pdf
    assert "Estimates, not promises" not in pdf


def test_the_supplier_is_asked_for_remembered_and_missed_on_approval(reader: Reader) -> None:
    study = reader.study(STORED)
    view = f"{study}/proposal"
    form = reader.page(view).find("form", class_="proposal-form")
    assert form.find(attrs={"name": "sender.organization"}).find_parent("details") is None
    plain = {**fields_of(reader, view), "customer": "A", "sender.organization": ""}
    page = reader.page(str(reader.submit(view, plain).headers["location"]))
    approve = page.find(id="approve")
    assert approve.name == "details" and approve.find("button")["value"] == "approve"
    assert approve.find(id="no-supplier") is not None
    assert page.select("button[value=approve]") == [approve.find("button")], "only in the second step"
    named = reader.submit(view, {**plain, "sender.organization": "Rackline GmbH"})
    assert reader.page(str(named.headers["location"])).find(id="no-supplier") is None
    reader.submit(view, plain)
    assert fields_of(reader, view)["sender.organization"] == "Rackline GmbH"


def test_a_refused_form_leaves_the_study_as_it_was(reader: Reader, claimed: str) -> None:
    view = proposing(reader, claimed, **LIMITS)
    past = {**fields_of(reader, view), "customer": "A", "valid_until": "2001-01-01"}
    assert reader.submit(view, past).status_code == 400
    study = reader.data(f"/api/v1{study_of(view)}")
    assert (study["saved"], study["version"]) == (False, 1)
    assert reader.submit(view, {**past, "valid_until": ""}).status_code == 303
    assert reader.data(f"/api/v1{study_of(view)}")["version"] == 2


def test_an_archived_study_is_not_proposed(reader: Reader) -> None:
    study = reader.study({"id": "dgx-a100-640gb"})
    reader.ask("POST", f"{study}/archive")
    view = f"{study}/proposal"
    refused = reader.submit(view, {**fields_of(reader, view), "customer": "kept"})
    assert refused.status_code == 409 and "restore it" in refused.text and "kept" in refused.text
    assert reader.data(f"{view}.json")["items"] == []


def test_a_comparison_leads_to_what_it_asks_whatever_was_kept_of_it(reader: Reader, claimed: str) -> None:
    first = proposing(reader, claimed, **LIMITS)
    assert reader.submit(first, {**fields_of(reader, first), "customer": "A"}).status_code == 303
    then = proposing(reader, claimed)
    assert study_of(then) != study_of(first)
    assert reader.data(f"{study_of(then)}.json")["saved"] is False
    assert "23.2" in reader.page(claimed).find(id="options").get_text()


def test_a_wrong_option_is_refused_beside_its_field(reader: Reader) -> None:
    study = reader.study({"id": "dgx-a100-640gb", "count": 2}, {"id": "ipu-pod16"})
    view = f"{study}/proposal"
    form = reader.page(view).find("form", class_="proposal-form")
    assert [one["value"] for one in form.select("#network_of option")] == ["", "a"], "a pod has its own"
    refused = reader.submit(view, {**fields_of(reader, view), "customer": "TEN", "network_of": "b"})
    assert refused.status_code == 404
    page = BeautifulSoup(refused.text, "lxml")
    field = page.find(id="network_of")
    assert field["aria-invalid"] == "true"
    assert "“b”" in page.find(id=field["aria-describedby"]).get_text()
    assert field.find_parent("details").has_attr("open"), "the field is in sight"
    assert page.find(id="customer")["value"] == "TEN"
    assert reader.data(f"{view}.json")["items"] == []


def test_what_is_typed_becomes_a_draft_that_says_it(reader: Reader, claimed: str) -> None:
    address = drafted(reader, claimed)
    page = reader.page(address)
    article = page.find("article", class_="proposal")
    assert article["lang"] == "ko"
    for said in ("하이퍼커넥트", "69.5", "13.2", "25.7", "첫 문단", "둘째 문단", "대외비", "2099. 12. 31."):
        assert said in text_of(article)
    data = reader.data(f"{address}.json")
    assert data["content"]["advice"]["deadline_s"] == 86400
    assert data["content"]["branding"]["accent"] != "#ffe600"
    assert data["content"]["branding"]["note"] is not None
    assert "#ffe600" in text_of(article)


def test_every_section_of_the_document_is_on_the_page(reader: Reader, modelled: str) -> None:
    page = reader.page(drafted(reader, modelled))
    sections = [one["id"] for one in page.select("article.proposal > section")]
    assert sections == [
        *("summary", "reasons", "scope", "comparison", "bill", "term", "acceptance", "risks"),
        "exclusions",
        *("terms", "logic", "plan", "assumptions", "method", "sources"),
    ], "an estimate is not signed, nor has it a schedule that nobody stated"
    links = {one["href"] for one in page.select(".proposal-contents a")}
    assert links == {f"#{one}" for one in sections}
    assert {one["id"] for one in page.select("section [data-figure]")} >= {
        "figure-map",
        "figure-breakdown",
    }


def test_a_refused_form_keeps_what_was_typed_and_says_what_is_wrong(reader: Reader, claimed: str) -> None:
    view = proposing(reader, claimed)
    fields = {**FORM, "customer": "", "valid_until": "2001-01-01", "accent": "red", "options": "nothing"}
    response = reader.submit(view, fields)
    assert response.status_code == 422
    page = BeautifulSoup(response.text, "lxml")
    assert page.find("input", id="title")["value"] == "BERT-Large"
    assert "this field is required" in page.find(id="customer-error-1").get_text().lower()
    response = reader.submit(view, {**FORM, "valid_until": "2001-01-01", "options": "1 × DGX A100"})
    assert response.status_code == 400
    assert BeautifulSoup(response.text, "lxml").find(id="valid_until-error-1") is not None


def test_a_hostile_logo_is_refused_beside_its_field(reader: Reader, claimed: str) -> None:
    evil = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script>alert(1)</script></svg>'
    response = reader.submit(
        proposing(reader, claimed),
        {**FORM, "options": "1 × DGX A100"},
        files={"logo": ("logo.svg", evil, "image/svg+xml")},
    )
    assert response.status_code == 400
    assert "script" in BeautifulSoup(response.text, "lxml").find(id="logo-error-1").get_text()


def test_a_draft_is_changed_and_keeps_its_logo(reader: Reader, claimed: str) -> None:
    fine = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'
    response = reader.submit(
        proposing(reader, claimed),
        {**FORM, "options": ["1 × DGX A100", "1 × IPU-POD64"]},
        files={"logo": ("logo.svg", fine, "image/svg+xml")},
    )
    address = str(response.headers["location"])
    form = reader.page(f"{address}/edit").find("form", class_="proposal-form")
    assert form.find("input", id="customer")["value"] == "하이퍼커넥트"
    kept = {**EDIT, "customer": "다른 고객", "options": ["1 × IPU-POD64"], "version": "1"}
    assert reader.submit(f"{address}/edit", kept).status_code == 303
    content = reader.data(f"{address}.json")["content"]
    assert content["customer"] == "다른 고객" and content["branding"]["logo"]
    assert [row["label"] for row in content["comparison"]["rows"]] == ["1 × IPU-POD64"]
    assert (
        reader.page(address)
        .find("img", class_="proposal-logo")["src"]
        .startswith("data:image/svg+xml;base64,")
    )
    reader.submit(f"{address}/edit", {**kept, "no_logo": "yes", "version": "2"})
    assert reader.data(f"{address}.json")["content"]["branding"]["logo"] is None


def test_who_edits_a_draft_meanwhile_is_not_overwritten_unseen(reader: Reader, claimed: str) -> None:
    address = drafted(reader, claimed)

    def opened() -> dict[str, str]:
        form = reader.page(f"{address}/edit").find("form", class_="proposal-form")
        return {
            **EDIT,
            "options": "1 × IPU-POD64",
            "version": form.find("input", attrs={"name": "version"})["value"],
        }

    one, other = opened(), opened()
    assert reader.submit(f"{address}/edit", {**one, "customer": "first"}).status_code == 303
    refused = reader.submit(f"{address}/edit", {**other, "customer": "second"})
    assert refused.status_code == 409
    assert reader.data(f"{address}.json")["content"]["customer"] == "first"
    form = BeautifulSoup(refused.text, "lxml").find("form", class_="proposal-form")
    assert form.find(id="customer")["value"] == "second"
    seen = {**other, "version": form.find("input", attrs={"name": "version"})["value"], "customer": "second"}
    assert reader.submit(f"{address}/edit", seen).status_code == 303
    assert reader.data(f"{address}.json")["content"]["customer"] == "second"
    incomplete = reader.submit(f"{address}/edit", {**EDIT, "options": "1 × IPU-POD64"})
    assert incomplete.status_code == 400


def test_freezing_ends_the_editing(reader: Reader, claimed: str) -> None:
    address = drafted(reader, claimed)
    assert reader.submit(f"{address}/review", {"step": "approve"}).status_code == 303
    page = reader.page(address)
    sha256 = reader.data(f"{address}.json")["sha256"]
    assert sha256 in text_of(page)
    assert page.find("form", id="sections") is None and page.find("button", value="approve") is None
    response = reader.submit(f"{address}/edit", {**EDIT, "customer": "x", "version": "1"})
    assert response.status_code == 409
    assert "was frozen on" in response.text
    assert [one.span.get_text() for one in page.select("#events li")] == ["created", "frozen"]


def test_a_link_is_shown_once_and_taken_back(reader: Reader, claimed: str) -> None:
    address = drafted(reader, claimed)
    assert reader.ask("POST", f"{address}/share", data={"expires_in_days": "7"}).status_code == 409
    reader.submit(f"{address}/review", {"step": "approve"})
    wrong = reader.ask("POST", f"{address}/share", data={"expires_in_days": "0", "passphrase": "short"})
    assert wrong.status_code == 422 and "passphrase-error-1" in wrong.text and "short" not in wrong.text
    shown = reader.ask("POST", f"{address}/share", data={"expires_in_days": "7"})
    link = re.search(r"http://localhost(/s/[\w-]+)", shown.text)
    assert link is not None
    assert link[1] not in reader.get(address).text
    page = reader.page(link[1])
    assert page.find("meta", attrs={"name": "robots"})["content"].startswith("noindex")
    assert page.find("nav", class_="menu") is None
    assert "69.5" in text_of(page)
    assert reader.ask("POST", f"{address}/unshare").status_code == 303
    assert reader.get(link[1]).status_code == 404


def test_a_link_is_not_asked_without_end(reader: Reader, claimed: str, app: FastAPI) -> None:
    address = drafted(reader, claimed)
    reader.submit(f"{address}/review", {"step": "approve"})
    shown = reader.ask("POST", f"{address}/share", data={"expires_in_days": "7"})
    link = re.search(r"http://localhost(/s/[\w-]+)", shown.text)
    assert link is not None
    with allowed(app, {ClientKind.LINK: {CostClass.ESTIMATE: 2}}):
        answers = [reader.get(f"{link[1]}{form}") for form in ("", ".xlsx", ".pdf")]
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 121
    assert reader.data(f"{address}.json")["share"]["opened"] == 2, "what is refused is not done first"


def test_passphrases_of_a_link_are_not_tried_without_end(reader: Reader, claimed: str, app: FastAPI) -> None:
    address = drafted(reader, claimed)
    reader.submit(f"{address}/review", {"step": "approve"})
    fields = {"expires_in_days": "7", "passphrase": "open sesame"}
    link = re.search(r"http://localhost(/s/[\w-]+)", reader.submit(f"{address}/share", fields).text)
    assert link is not None
    with allowed(app, {ClientKind.LINK: {CostClass.ESTIMATE: 2}}):
        guesses = [reader.submit(link[1], {"passphrase": f"guess {number}"}) for number in range(3)]
    assert [one.status_code for one in guesses] == [403, 403, 429]
    assert reader.submit(link[1], {"passphrase": "open sesame"}).status_code == 303


def test_the_list_names_proposals_and_where_they_are_made(reader: Reader, claimed: str) -> None:
    address = drafted(reader, claimed)
    page = reader.page("/proposals")
    assert page.select_one(f'#proposals a[href="{address}"]') is not None
    assert page.select_one('.notice a[href="/studies"]') is not None
    assert identifier_of(address) in [one["id"] for one in reader.data("/proposals.json")["items"]]
    assert reader.landed("/proposals/new") == "/proposals"


def sections_of(page: BeautifulSoup) -> list[str]:
    return [one["id"] for one in page.select("article.proposal > section:not(.left-out)")]


def test_sections_are_moved_left_out_and_written_in_place(reader: Reader, modelled: str) -> None:
    address = drafted(reader, modelled)

    def sent(move: str = "", **texts: str) -> dict[str, str]:
        page = reader.page(address)
        fields = {one["name"]: one.get_text() for one in page.select('textarea[form="sections"]')}
        version = page.select_one("#sections input")["value"]
        return {**fields, "version": version, **{f"text.{name}": text for name, text in texts.items()}} | (
            {"move": move} if move else {}
        )

    def edit(move: str = "", **texts: str) -> None:
        assert reader.submit(f"{address}/sections", sent(move, **texts)).status_code == 303

    edit("up bill")
    edit("hide plan")
    edit("up reasons", scope="첫 줄\n<b>둘째</b>")
    found = sections_of(reader.page(address))
    assert found[:5] == ["summary", "reasons", "scope", "bill", "comparison"] and "plan" not in found
    page = reader.page(address)
    assert "<b>둘째</b>" in page.find("section", id="scope").get_text(), "text is never markup"
    assert page.find("section", id="plan").find("button", value="show plan") is not None
    content = reader.data(f"{address}.json")["content"]
    texts = {one["id"]: one["text"] for one in content["sections"]}
    assert texts["scope"] == "첫 줄\n<b>둘째</b>" and "VAT 별도" in texts["exclusions"]
    assert "첫 줄" in reader.get(f"{address}.csv").text

    edit("show plan", reasons="", scope="")
    after = reader.page(address)
    assert "plan" in sections_of(after) and "scope" not in sections_of(after), "emptied, and without figures"
    assert after.find("textarea", attrs={"name": "text.scope"}) is not None, "it can be written again"
    assert reader.data(f"{address}.json")["content"]["reason"] is None

    late = {**sent(), "text.terms": "nothing lost"}
    edit(exclusions="x")
    refused = reader.submit(f"{address}/sections", late)
    assert refused.status_code == 409 and "nothing lost" in refused.text
    reader.submit(f"{address}/edit", {**EDIT, "locale": "en", "version": sent()["version"]})
    english = {one["id"]: one["text"] for one in reader.data(f"{address}.json")["content"]["sections"]}
    assert english["exclusions"] == "x" and english["terms"].startswith("Committed figures"), (
        "templates follow"
    )


def test_a_form_leaves_sections_out_and_remembers_the_sender(reader: Reader, claimed: str) -> None:
    view = proposing(reader, claimed)
    offered = {one["value"] for one in reader.page(view).select('input[name="left_out"]')}
    assert offered == set(SECTIONS) - {"summary"}
    fields = {**FORM, "left_out": ["sources", "method"]}
    sender = {"sender.organization": "래블업", "sender.contact": "김민지"}
    address = str(reader.submit(view, {**fields, **sender}).headers["location"])
    assert not {"sources", "method"} & set(sections_of(reader.page(address)))
    assert "래블업" in text_of(reader.page(address))
    again = reader.page(proposing(reader, claimed))
    assert again.find("input", id="sender-organization")["value"] == "래블업"


def test_a_form_needs_no_more_than_a_study(reader: Reader) -> None:
    study = f"/studies/{reader.ask('POST', '/api/v1/studies', json=STUDY).json()['id']}"
    view = proposing(reader, study)
    assert view == f"{study}/proposal"
    fields = {"customer": "", "locale": "en", "currency": "KRW"}
    refused = BeautifulSoup(reader.submit(view, fields).text, "lxml")
    assert refused.find(id="customer-error-1") and refused.find("form", action=view)
    made = reader.submit(view, {**fields, "customer": "A"}).headers["location"]
    assert reader.page(str(made)).find("a", href=study) is not None


def test_only_steps_that_are_allowed_are_offered(reader: Reader, claimed: str) -> None:
    address = drafted(reader, claimed)

    def offered() -> list[str]:
        return [one["value"] for one in reader.page(address).select('button[name="step"]')]

    assert offered() == ["submit", "approve"]
    reader.submit(f"{address}/review", {"step": "submit", "note": "look at the term"})
    assert offered() == ["return", "approve"]
    assert "look at the term" in reader.page(address).select_one("#events").get_text()
    wrong = reader.submit(f"{address}/review", {"step": "accept", "note": "kept"})
    assert wrong.status_code == 409 and "kept" in wrong.text
    assert reader.submit(f"{address}/review", {"step": "dance"}).status_code == 422
    for step, after in (("approve", ["send"]), ("send", ["send", "accept", "decline"]), ("accept", [])):
        assert reader.submit(f"{address}/review", {"step": step}).status_code == 303
        assert offered() == after
    listed = reader.page("/proposals?review=accepted").select("#proposals tbody tr")
    assert address in [row.a["href"] for row in listed]


def test_then_and_now_are_the_same_today(reader: Reader, modelled: str) -> None:
    address = drafted(reader, modelled)
    reader.page(f"{address}/replay")
    assert reader.data(f"{address}/replay.json")["changes"] == []
    kinds = [one["kind"] for one in reader.data(f"/api/v1{address}/events")["items"]]
    assert kinds == ["created"], "looking is no event"


@pytest.mark.parametrize("example", ["vendor-claim", "bert-large", "gpt3-175b"])
def test_a_korean_proposal_is_korean(korean: Reader, example: str) -> None:
    address = drafted(korean, korean.example(example))
    korean.submit(f"{address}/review", {"step": "approve"})
    for path in (address, f"{address}/replay", "/proposals", f"{address}/edit"):
        assert list(sentences(korean.page(path))) == [], path


def test_files_of_the_page_are_those_of_the_api(reader: Reader, claimed: str) -> None:
    address = drafted(reader, claimed)
    reader.submit(f"{address}/review", {"step": "approve"})
    for kind in ("pdf", "csv", "xlsx"):
        assert reader.get(f"{address}.{kind}").content == reader.get(f"/api/v1{address}.{kind}").content


def test_forms_offer_price_books_and_measured_runs_by_their_names(reader: Reader) -> None:
    study = reader.study({"id": "dgx-a100-640gb"})
    book = reader.ask("POST", "/api/v1/price-books", json={"name": "Seoul 2026", "rows": []}).json()["id"]
    runs = {"runs.0.value": "1000", "runs.0.unit": "samples_per_s", "runs.0.workload.global_batch": "256"}
    fitted = reader.submit(f"{study}/runs", runs)
    assert fitted.status_code == 303, fitted.text
    view = f"{study}/proposal"

    def offered(address: str, name: str) -> dict[str, str]:
        entries = reader.page(address).select(f"#{name} option")
        return {entry["value"]: entry.get_text(strip=True) for entry in entries}

    [(run, label)] = [one for one in offered(view, "calibration_id").items() if one[0]]
    assert reader.data(f"/calibrations/{run}.json")["name"] == label
    chosen = reader.page(f"{view}?calibration_id={run}").select_one("#calibration_id [selected]")
    assert chosen["value"] == run
    draft = reader.submit(view, {**fields_of(reader, view), "customer": "A", "calibration_id": run})
    edit = f"{draft.headers['location']}/edit"
    assert offered(edit, "price_book_id")[book] == "Seoul 2026"
    assert offered(edit, "calibration_id")[run].startswith(label)


def test_runs_that_were_kept_without_a_study_lead_to_a_proposal(reader: Reader) -> None:
    runs = reader.ask("POST", "/api/v1/calibrations", json=CALIBRATION).json()
    link = reader.page(f"/calibrations/{runs['id']}").select_one('a[href*="calibration_id="]')
    form = reader.page(link["href"]).find("form", class_="proposal-form")
    assert form.select_one("#calibration_id [selected]")["value"] == runs["id"]
    fields = {**fields_of(reader, link["href"], str(form["action"])), "customer": "A"}
    made = reader.submit(str(form["action"]), fields).headers["location"]
    evidence = reader.data(f"{made}.json")["content"]["evidence"]
    assert evidence["fit"]["calibration_id"] == runs["id"]
    unknown = reader.submit(str(form["action"]), {**fields, "calibration_id": "cal_nobody"})
    assert unknown.status_code == 404
    page = BeautifulSoup(unknown.text, "lxml")
    assert "cal_nobody" in page.find(id="calibration_id-error-1").get_text()
