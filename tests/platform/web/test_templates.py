from __future__ import annotations

import csv
import dataclasses
import re
from pathlib import Path

import pytest

from app.estimating.chips import IPU_GENERATIONS
from app.features.accelerators import pages as accelerator_pages
from app.features.accounts import pages as account_contexts
from app.features.accounts import sign_in_pages
from app.features.accuracy.pages import AccuracyPage
from app.features.bills import pages as bill_contexts
from app.features.break_even import pages as breakeven_contexts
from app.features.calibration.pages import RunsPage
from app.features.catalogue import views as catalogue_views
from app.features.claims import pages as claims_contexts
from app.features.estimates import pages as estimates_pages
from app.features.integrations import pages as integration_contexts
from app.features.networks import pages as network_contexts
from app.features.plans import views as plans_views
from app.features.price_books import costs_pages
from app.features.price_books import pages as book_pages
from app.features.proposals import pages as proposals_pages
from app.features.proposals import views as proposal_contexts
from app.features.sizings import pages as sizings_pages
from app.features.start import pages as start_pages
from app.features.studies import pages as studies_pages
from app.features.studies import views as studies_views
from app.features.studies.scaling import ScalingPage
from app.features.sweeps import pages as sweep_contexts
from app.features.tenancy import pages as tenancy_contexts
from app.features.uploads import pages as uploads_pages
from app.platform.web import contexts, reference
from app.platform.web.rendering import embedded, environment
from app.profiles.presets import beside

TEMPLATES = sorted(
    path.relative_to(beside("templates")).as_posix() for path in beside("templates").rglob("*.html")
)

CONTEXTS = {
    "start/start.html": start_pages.StartPage,
    "uploads/upload.html": uploads_pages.UploadPage,
    "sizings/systems.html": sizings_pages.SystemsPage,
    "studies/scaling.html": ScalingPage,
    "estimates/estimate.html": estimates_pages.EstimatePage,
    "catalogue/catalog_kind.html": catalogue_views.CatalogKindPage,
    "catalogue/catalog_item.html": catalogue_views.CatalogItemPage,
    "break_even/breakeven.html": breakeven_contexts.BreakEvenPage,
    "plans/plans.html": plans_views.PlansPage,
    "calibration/runs.html": RunsPage,
    "networks/network.html": network_contexts.NetworkPage,
    "sweeps/many.html": sweep_contexts.ManyPage,
    "sweeps/sweep.html": sweep_contexts.SweepPage,
    "proposals/proposals.html": proposals_pages.ProposalsPage,
    "proposals/proposal_form.html": proposals_pages.ProposalFormPage,
    "proposals/proposal.html": proposal_contexts.ProposalPage,
    "proposals/replay.html": proposal_contexts.ReplayPage,
    "proposals/shared.html": proposal_contexts.SharedPage,
    "proposals/shared_locked.html": proposal_contexts.LockedPage,
    "tenancy/partitions.html": tenancy_contexts.PartitionsPage,
    "claims/claims.html": claims_contexts.ClaimsPage,
    "claims/claim.html": claims_contexts.ClaimPage,
    "accelerators/accelerators.html": accelerator_pages.AcceleratorsPage,
    "accelerators/accelerator.html": accelerator_pages.AcceleratorPage,
    "price_books/costs.html": costs_pages.CostsPage,
    "price_books/price_books.html": book_pages.PriceBooksPage,
    "price_books/price_book.html": book_pages.PriceBookPage,
    "studies/studies.html": studies_pages.StudiesPage,
    "studies/study.html": studies_views.StudyPage,
    "studies/costs.html": studies_views.StudyCostsPage,
    "studies/study_assumptions.html": studies_views.StudyAssumptionsPage,
    "studies/_study_trace.html": studies_views.StudyTracePage,
    "studies/study_versions.html": studies_pages.StudyVersionsPage,
    "problem.html": contexts.ProblemPage,
    "reference/operation.html": reference.OperationPage,
    "reference/reference.html": reference.ReferencePage,
    "reference/schema.html": reference.SchemaPage,
    "document.html": contexts.DocumentPage,
    "accuracy/accuracy.html": AccuracyPage,
    "bills/bill.html": bill_contexts.BillPage,
    "integrations/keys.html": integration_contexts.KeysPage,
    "integrations/webhooks.html": integration_contexts.WebhooksPage,
    "integrations/webhook.html": integration_contexts.WebhookPage,
    "accounts/sign_in.html": sign_in_pages.SignInPage,
    "accounts/sign_in_code.html": sign_in_pages.CodePage,
    "accounts/forgotten.html": sign_in_pages.ForgottenPage,
    "accounts/password.html": sign_in_pages.PasswordPage,
    "accounts/invitation.html": sign_in_pages.InvitationPage,
    "accounts/account.html": account_contexts.AccountPage,
    "accounts/second_factor.html": account_contexts.SecondFactorPage,
    "accounts/people.html": account_contexts.PeoplePage,
}


def text(name: str) -> str:
    return Path(beside("templates") / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_compiles(name: str, language: str) -> None:
    environment(language).get_template(name)


@pytest.mark.parametrize(
    "name",
    [name for name in TEMPLATES if not name.rpartition("/")[2].startswith("_") and name != "base.html"],
)
def test_every_page_has_a_title(name: str) -> None:
    source = text(name)
    assert "{% block title %}" in source or '{% extends "studies/frame.html" %}' in source


@pytest.mark.parametrize("name", TEMPLATES)
def test_content_policy_is_kept(name: str) -> None:
    """No inline style, no inline script, no handler in an attribute."""
    source = text(name)
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:", source)
    for attributes in re.findall(r"<script\b([^>]*)>", source):
        assert "src=" in attributes or 'type="application/json"' in attributes


@pytest.mark.parametrize("name", TEMPLATES)
def test_lines_are_short(name: str) -> None:
    """Whole sentences are split into literals side by side, which the catalogues see as one key."""
    assert [line for line in text(name).splitlines() if len(line) > 120] == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_knows_a_machine(name: str) -> None:
    """What holds for a chip or a system only, its context says."""
    with (beside("data") / "items.csv").open(encoding="utf-8", newline="") as file:
        machines = IPU_GENERATIONS | {row["item"] for row in csv.DictReader(file)}
    assert machines & set(re.findall(r"""["']([^"']+)["']""", text(name))) == set()


@pytest.mark.parametrize(("name", "context"), CONTEXTS.items())
def test_context_is_what_the_template_reads(name: str, context: type) -> None:
    whole = text(name)
    if '{% extends "studies/frame.html" %}' in whole:
        whole += text("studies/frame.html")
    if name == "studies/scaling.html":
        whole += text("studies/_scaling.html")
    if "tenancy/_tenancy.html" in whole:
        whole += text("tenancy/_tenancy.html")
    if name == "calibration/runs.html":
        whole += text("calibration/_calibration.html") + text("calibration/_gain.html")
    read = set(re.findall(r"\bpage\.(\w+)", whole))
    fields = {field.name for field in dataclasses.fields(context)}
    assert read - fields == set()
    assert fields - read == set()


def test_embedded_data_cannot_end_its_element() -> None:
    written = embedded({"data": [{"name": "</script><script>alert(1)</script>&"}]})
    assert "<" not in written and "&" not in written


def test_styles_close_what_they_open() -> None:
    """A media query that stays open takes all rules after it along, and no browser complains."""
    styles = (beside("static") / "css" / "rackline.css").read_text(encoding="utf-8")
    bare = re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL)
    assert "/*" not in bare and "*/" not in bare
    depth = 0
    for line in bare.splitlines():
        assert depth == 0 or not line or line.startswith((" ", "}")), line
        depth += line.count("{") - line.count("}")
    assert depth == 0
