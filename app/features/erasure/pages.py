"""The form on the page of the audit log that erases a customer's name."""

from __future__ import annotations

from fastapi.responses import RedirectResponse, Response

from app.features.erasure.model import ErasureRequest
from app.features.erasure.service import erase_customer
from app.platform.rates import CostClass
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import FormDep, checked, typed
from app.platform.web.needs import Right, needs
from app.platform.web.rights import page_router

router = page_router()


@router.post("/audit/erase")
@needs(Right.MANAGE, CostClass.SEARCH)
def erase(bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Erase a name and lead to the entry that says so."""
    fields = {name: values[0] for name, values in typed(form).items()}
    erase_customer(bench, workspace, checked(ErasureRequest, fields))
    return RedirectResponse("/audit?action=customer.erased", 303)
