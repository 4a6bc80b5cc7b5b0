from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from app.features.accounts import views as identity_contexts
from app.features.accuracy.views import AccuracyPage
from app.features.bills import views as bill_contexts
from app.features.break_even import views as breakeven_contexts
from app.features.calibration import views as calibration_contexts
from app.features.catalogue import views as catalogue_views
from app.features.claims import views as claims_contexts
from app.features.comparisons import views as comparisons_views
from app.features.estimates import views as estimates_views
from app.features.integrations import views as integration_contexts
from app.features.networks import views as fabric_choice_contexts
from app.features.plans import views as plans_views
from app.features.price_books import views as money_contexts
from app.features.proposals import views as proposal_contexts
from app.features.start import pages as contexts
from app.features.studies import forms as study_contexts
from app.features.sweeps import views as sweep_contexts
from app.features.tenancy import views as tenancy_contexts
from app.platform.web import contexts as web_contexts
from app.platform.web.pictures import folder
from app.platform.web.rendering import embedded, environment

TEMPLATES = sorted(path.name for path in folder("templates").glob("*.html"))

CONTEXTS = {
    "start.html": contexts.StartPage,
    "comparison.html": comparisons_views.ComparisonPage,
    "comparisons.html": comparisons_views.ComparisonsPage,
    "estimates.html": estimates_views.EstimatesPage,
    "_scaling.html": comparisons_views.ScalingPage,
    "estimate.html": estimates_views.EstimatePage,
    "catalog_index.html": catalogue_views.CatalogIndexPage,
    "catalog_kind.html": catalogue_views.CatalogKindPage,
    "catalog_item.html": catalogue_views.CatalogItemPage,
    "mapping.html": plans_views.MappingPage,
    "breakeven.html": breakeven_contexts.BreakEvenPage,
    "plans.html": plans_views.PlansPage,
    "calibration_form.html": calibration_contexts.CalibrationFormPage,
    "calibration.html": calibration_contexts.CalibrationPage,
    "gain.html": calibration_contexts.GainPage,
    "fabric_choice.html": fabric_choice_contexts.FabricsPage,
    "fabric_choice_new.html": fabric_choice_contexts.FabricsNewPage,
    "sweeps.html": sweep_contexts.SweepsPage,
    "sweep.html": sweep_contexts.SweepPage,
    "proposals.html": proposal_contexts.ProposalsPage,
    "proposal_form.html": proposal_contexts.ProposalFormPage,
    "proposal.html": proposal_contexts.ProposalPage,
    "replay.html": proposal_contexts.ReplayPage,
    "shared.html": proposal_contexts.SharedPage,
    "shared_locked.html": proposal_contexts.LockedPage,
    "partitions.html": tenancy_contexts.PartitionsPage,
    "queues.html": tenancy_contexts.QueuesPage,
    "claims.html": claims_contexts.ClaimsPage,
    "claim.html": claims_contexts.ClaimPage,
    "costs.html": money_contexts.CostsPage,
    "price_books.html": money_contexts.PriceBooksPage,
    "price_book.html": money_contexts.PriceBookPage,
    "studies.html": study_contexts.StudiesPage,
    "study_form.html": study_contexts.StudyFormPage,
    "study.html": study_contexts.StudyPage,
    "study_assumptions.html": study_contexts.StudyAssumptionsPage,
    "_study_trace.html": study_contexts.StudyTracePage,
    "study_versions.html": study_contexts.StudyVersionsPage,
    "problem.html": web_contexts.ProblemPage,
    "document.html": web_contexts.DocumentPage,
    "accuracy.html": AccuracyPage,
    "fabric.html": bill_contexts.FabricPage,
    "bill_form.html": bill_contexts.BillFormPage,
    "bill.html": bill_contexts.BillPage,
    "bill_compare.html": bill_contexts.BillComparisonPage,
    "keys.html": integration_contexts.KeysPage,
    "webhooks.html": integration_contexts.WebhooksPage,
    "webhook.html": integration_contexts.WebhookPage,
    "sign_in.html": identity_contexts.SignInPage,
    "sign_in_code.html": identity_contexts.CodePage,
    "forgotten.html": identity_contexts.ForgottenPage,
    "password.html": identity_contexts.PasswordPage,
    "invitation.html": identity_contexts.InvitationPage,
    "account.html": identity_contexts.AccountPage,
    "second_factor.html": identity_contexts.SecondFactorPage,
    "people.html": identity_contexts.PeoplePage,
}


def text(name: str) -> str:
    return Path(folder("templates") / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_compiles(name: str, language: str) -> None:
    environment(language).get_template(name)


@pytest.mark.parametrize(
    "name", [name for name in TEMPLATES if not name.startswith("_") and name != "base.html"]
)
def test_every_page_has_a_title(name: str) -> None:
    assert "{% block title %}" in text(name)


@pytest.mark.parametrize("name", TEMPLATES)
def test_content_policy_is_kept(name: str) -> None:
    """No inline style, no inline script, no handler in an attribute."""
    source = text(name)
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:", source)
    for attributes in re.findall(r"<script\b([^>]*)>", source):
        assert "src=" in attributes or 'type="application/json"' in attributes


@pytest.mark.parametrize(("name", "context"), CONTEXTS.items())
def test_context_is_what_the_template_reads(name: str, context: type) -> None:
    whole = text(name) + (text("scaling.html") if name == "_scaling.html" else "")
    if "_tenancy.html" in whole:
        whole += text("_tenancy.html")
    read = set(re.findall(r"\bpage\.(\w+)", whole))
    fields = {field.name for field in dataclasses.fields(context)}
    shared = {field.name for field in dataclasses.fields(web_contexts.BasePage)}
    assert read - fields == set()
    assert fields - shared - read == set()


def test_embedded_data_cannot_end_its_element() -> None:
    written = embedded({"data": [{"name": "</script><script>alert(1)</script>&"}]})
    assert "<" not in written and "&" not in written


def test_styles_close_what_they_open() -> None:
    """A media query that stays open takes all rules after it along, and no browser complains."""
    styles = (folder("static") / "css" / "rackline.css").read_text(encoding="utf-8")
    bare = re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL)
    assert "/*" not in bare and "*/" not in bare
    depth = 0
    for line in bare.splitlines():
        assert depth == 0 or not line or line.startswith((" ", "}")), line
        depth += line.count("{") - line.count("}")
    assert depth == 0
