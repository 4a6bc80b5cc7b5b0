"""Operations of the API that size: catalogue, uploads, estimates, plans, sweeps."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import AfterValidator

from rackline_client.base import Page
from rackline_client.calls import File, Given, operation

if TYPE_CHECKING:
    from rackline_client.documents import (
        Accuracy,
        BreakEven,
        BreakEvenRequest,
        CalibrationAnswer,
        CalibrationRequest,
        CalibrationSummary,
        Checks,
        ChecksRequest,
        Chip,
        ClaimsRequest,
        Estimate,
        EstimateRequest,
        EstimateSummary,
        Fabric,
        FabricChoice,
        FabricChoiceRequest,
        FabricPlan,
        FabricRequest,
        GainAnswer,
        GainRequest,
        ImportDocument,
        Inference,
        InferenceRequest,
        Job,
        Machine,
        MappingRequest,
        Model,
        ModelMapping,
        ModelWithOperators,
        PartitionPlan,
        PartitionRequest,
        ProfileDocument,
        ProfileRequest,
        QueueAnswer,
        QueueRequest,
        ScalingCurve,
        Search,
        SearchRequest,
        Sizing,
        SizingRequest,
        SizingSummary,
        Software,
        SourceRef,
        SweepAnswer,
        SweepRequest,
        SweepState,
        System,
        UploadPatch,
        UploadSummary,
        VendorClaim,
        VendorClaims,
        WorkloadDocument,
    )


def status_of(answer: dict[str, str]) -> dict[str, str]:
    """Return what a server says of itself; one that does not is no Rackline."""
    if "status" not in answer:
        raise ValueError("the answer holds no status")
    return answer


Status: TypeAlias = Annotated[dict[str, str], AfterValidator(status_of)]


class SizingOperations:
    """What the catalogue holds, and what training takes."""

    # The server itself, and what the catalogue holds.

    @operation("GET catalog/chips")
    def list_chips(self, cursor: str | None = None, limit: int | None = None) -> Page[Chip]:
        """List every accelerator."""

    @operation("GET catalog/chips/{identifier}")
    def get_chip(self, identifier: str) -> Chip:
        """Read one accelerator with its figures, their sources and rejected rivals."""

    @operation("GET catalog/machines")
    def list_machines(self, cursor: str | None = None, limit: int | None = None) -> Page[Machine]:
        """List every node or IPU machine."""

    @operation("GET catalog/machines/{identifier}")
    def get_machine(self, identifier: str) -> Machine:
        """Read one node or IPU machine with its figures, their sources and rejected rivals."""

    @operation("GET catalog/systems")
    def list_systems(self, cursor: str | None = None, limit: int | None = None) -> Page[System]:
        """List every system."""

    @operation("GET catalog/systems/{identifier}")
    def get_system(self, identifier: str) -> System:
        """Read one system with its figures, their sources and rejected rivals."""

    @operation("GET catalog/fabrics")
    def list_fabrics(self, cursor: str | None = None, limit: int | None = None) -> Page[Fabric]:
        """List every network."""

    @operation("GET catalog/fabrics/{identifier}")
    def get_fabric(self, identifier: str) -> Fabric:
        """Read one network with its figures, their sources and rejected rivals."""

    @operation("GET catalog/models")
    def list_models(self, cursor: str | None = None, limit: int | None = None) -> Page[Model]:
        """List every model preset."""

    @operation("GET catalog/models/{identifier}")
    def get_model(self, identifier: str) -> ModelWithOperators:
        """Read one model preset with its figures, their sources and rejected rivals."""

    @operation("GET catalog/software")
    def list_software(self, cursor: str | None = None, limit: int | None = None) -> Page[Software]:
        """List every software stack."""

    @operation("GET catalog/software/{identifier}")
    def get_software(self, identifier: str) -> Software:
        """Read one software stack with its figures, their sources and rejected rivals."""

    @operation("GET catalog/sources")
    def list_sources(self, cursor: str | None = None, limit: int | None = None) -> Page[SourceRef]:
        """List every source."""

    @operation("GET catalog/sources/{identifier}")
    def get_source(self, identifier: str) -> SourceRef:
        """Read one source."""

    @operation("GET /healthz")
    def health(self) -> Status:
        """Tell whether the server serves."""

    @operation("GET /readyz")
    def ready(self) -> Status:
        """Tell whether the server can answer now; where it cannot, it is asked again for a while."""

    # What customers bring.

    @operation("POST profiles")
    def create_profile(
        self, model: ProfileRequest | Given | Path | File, *, key: str | None = None
    ) -> ProfileDocument:
        """Keep a model, out of a file or a description; estimates name it as ``model.profile_id``."""

    @operation("POST imports", form=True, repeatable=True)
    def recognise_file(self, file: Path | File) -> ImportDocument:
        """Say what a file is and what it says of a model, data, a plan or prices; nothing is stored."""

    @operation("GET profiles")
    def list_profiles(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
        customer: str | None = None,
    ) -> Page[UploadSummary]:
        """List the models that were uploaded, newest first."""

    @operation("GET profiles/{identifier}")
    def get_profile(self, identifier: str) -> ProfileDocument:
        """Read a model as it was understood."""

    @operation("GET profiles/{identifier}/file")
    def get_profile_file(self, identifier: str) -> bytes:
        """Read the file of a model as it was uploaded."""

    @operation("PATCH profiles/{identifier}")
    def change_profile(self, identifier: str, patch: UploadPatch | Given) -> ProfileDocument:
        """Give an uploaded model another name or customer."""

    @operation("DELETE profiles/{identifier}")
    def delete_profile(self, identifier: str) -> None:
        """Delete a model and its file; answers made of it stay."""

    @operation("POST workloads", form=True)
    def create_workload(
        self, sample: Path | File, *, seq_len: int | None = None, key: str | None = None
    ) -> WorkloadDocument:
        """Count the lengths in a sample of the data; the text itself is not kept."""

    @operation("GET workloads")
    def list_workloads(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
        customer: str | None = None,
    ) -> Page[UploadSummary]:
        """List the samples that were uploaded, newest first."""

    @operation("GET workloads/{identifier}")
    def get_workload(self, identifier: str) -> WorkloadDocument:
        """Read what was counted in a sample."""

    @operation("PATCH workloads/{identifier}")
    def change_workload(self, identifier: str, patch: UploadPatch | Given) -> WorkloadDocument:
        """Give an uploaded sample another name or customer."""

    @operation("DELETE workloads/{identifier}")
    def delete_workload(self, identifier: str) -> None:
        """Delete what was counted in a sample; answers made of it stay."""

    # What a training run takes, and what it takes to keep a deadline.

    @operation("POST estimates")
    def create_estimate(self, request: EstimateRequest | Given, *, key: str | None = None) -> Estimate:
        """Estimate one model on one system; a model that does not fit is an answer with ``fits`` false."""

    @operation("GET estimates")
    def list_estimates(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
        model: str | None = None,
    ) -> Page[EstimateSummary]:
        """List estimates, newest first."""

    @operation("GET accuracy")
    def get_accuracy(
        self,
        *,
        family: str | None = None,
        chip: str | None = None,
        scale: str | None = None,
        errors: str | None = None,
    ) -> Accuracy:
        """Read how well measured runs are predicted, by family, chip, size and what was left out."""

    @operation("DELETE estimates/{identifier}")
    def delete_estimate(self, identifier: str) -> None:
        """Delete an estimate that nothing stands on."""

    @operation("POST estimates/{identifier}/run")
    def run_estimate(self, identifier: str, *, key: str | None = None) -> Estimate:
        """Make an estimate again from what was asked, with the engine and catalogue of today."""

    @operation("GET estimates/{identifier}")
    def get_estimate(self, identifier: str) -> Estimate:
        """Read an estimate as it was answered."""

    @operation("POST searches", repeatable=True)
    def run_search(self, request: SearchRequest | Given) -> Search:
        """Search for the best plans of a model on a system."""

    @operation("POST sizings")
    def create_sizing(
        self, request: SizingRequest | Given, *, key: str | None = None, limit: int | None = None
    ) -> Sizing:
        """Find the systems that keep a deadline and a budget; a hundred options, or fewer by ``limit``."""

    @operation("GET sizings")
    def list_sizings(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
        model: str | None = None,
    ) -> Page[SizingSummary]:
        """List sizings, newest first."""

    @operation("GET sizings/{identifier}")
    def get_sizing(self, identifier: str, cursor: str | None = None, limit: int | None = None) -> Sizing:
        """Read a sizing as it was answered; with a cursor, the options that follow."""

    @operation("POST scalings", repeatable=True)
    def scale_system(self, request: SizingRequest | Given) -> ScalingCurve:
        """Follow one system over counts: time, cost and efficiency."""

    @operation("POST calibrations")
    def create_calibration(
        self, request: CalibrationRequest | GainRequest | Given, *, key: str | None = None
    ) -> CalibrationAnswer | GainAnswer:
        """Calibrate with measured runs, or hold the runs of alternatives against each other."""

    @operation("GET calibrations")
    def list_calibrations(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
    ) -> Page[CalibrationSummary]:
        """List calibrations, newest first."""

    @operation("GET calibrations/{identifier}")
    def get_calibration(self, identifier: str) -> CalibrationAnswer | GainAnswer:
        """Read a calibration as it was answered."""

    # What is computed and not kept.

    @operation("POST mappings", repeatable=True)
    def map_model(self, request: MappingRequest | Given) -> ModelMapping:
        """Map a model onto IPUs; a pod that is too small is a conflict."""

    @operation("POST checks", repeatable=True)
    def check_plan(self, request: ChecksRequest | Given) -> Checks:
        """Check a plan: named warnings, and the most devices its batch divides over."""

    @operation("POST partitions", repeatable=True)
    def plan_partitions(self, request: PartitionRequest | Given) -> PartitionPlan:
        """Share a system among teams; a conflict names the nearest sizes allowed."""

    @operation("POST queues", repeatable=True)
    def simulate_queue(self, request: QueueRequest | Given) -> QueueAnswer:
        """Simulate the waits of teams that share machines."""

    @operation("POST fabric-choices", repeatable=True)
    def choose_fabric(self, request: FabricChoiceRequest | Given) -> FabricChoice:
        """Weigh networks against each other for one workload."""

    @operation("POST inference", repeatable=True)
    def serve_model(self, request: InferenceRequest | Given) -> Inference:
        """Serve a model on several systems: latency, throughput, memory and cost."""

    @operation("POST fabrics", repeatable=True)
    def plan_fabric(self, request: FabricRequest | Given) -> FabricPlan:
        """Count switches and cables of a network."""

    @operation("POST breakevens", repeatable=True)
    def find_break_even(self, request: BreakEvenRequest | Given) -> BreakEven:
        """Find the month from which owning costs less than renting, or that there is none."""

    @operation("GET claims")
    def list_claims(self, asked: ClaimsRequest | Given | None = None) -> VendorClaims:
        """Hold vendor claims against estimates on equal footing."""

    @operation("GET claims/{identifier}")
    def get_claim(self, identifier: str, asked: ClaimsRequest | Given | None = None) -> VendorClaim:
        """Read one claim with both sides as they are estimated."""

    # Every combination, computed in the background.

    @operation("POST sweeps")
    def create_sweep(self, request: SweepRequest | Given, *, key: str | None = None) -> SweepState:
        """Ask for every combination; ``wait`` or ``follow_sweep`` say when it is done."""

    @operation("GET sweeps")
    def list_sweeps(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        search: str | None = None,
        since: datetime | None = None,
        order: str | None = None,
    ) -> Page[SweepState]:
        """List sweeps, newest first."""

    @operation("GET sweeps/{identifier}")
    def get_sweep(
        self,
        identifier: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        order: str | None = None,
        model: str | None = None,
        system: str | None = None,
        price: str | None = None,
        scenario: str | None = None,
    ) -> SweepAnswer:
        """Read a stretch of the rows there are, narrowed by labels and in an order."""

    @operation("GET sweeps/{identifier}.csv")
    def get_sweep_csv(self, identifier: str) -> str:
        """Read the rows there are as CSV."""

    @operation("GET sweeps/{identifier}.parquet")
    def get_sweep_parquet(self, identifier: str) -> bytes:
        """Read the rows there are as a Parquet file."""

    @operation("DELETE sweeps/{identifier}")
    def delete_sweep(self, identifier: str) -> None:
        """Delete a sweep that has ended, with its rows."""

    @operation("POST sweeps/{identifier}/cancel")
    def cancel_sweep(self, identifier: str) -> SweepState:
        """Stop a sweep; the rows there are stay."""

    @operation("POST sweeps/{identifier}/resume")
    def resume_sweep(self, identifier: str) -> SweepState:
        """Go on with a sweep that was cancelled or has failed."""

    @operation("GET jobs/{identifier}")
    def get_job(self, identifier: str) -> Job:
        """Read how far long work is."""
