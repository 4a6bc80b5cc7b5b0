"""Every operation of the API as a description of its call, under its name there."""

from app.client.operations.books import BookOperations
from app.client.operations.catalogue import CatalogueOperations
from app.client.operations.planning import PlanningOperations
from app.client.operations.proposals import ProposalOperations
from app.client.operations.sizing import SizingOperations
from app.client.operations.studies import StudyOperations
from app.client.operations.sweeps import SweepOperations
from app.client.operations.uploads import UploadOperations


class Operations(
    BookOperations,
    CatalogueOperations,
    PlanningOperations,
    ProposalOperations,
    SizingOperations,
    StudyOperations,
    SweepOperations,
    UploadOperations,
):
    """All operations of both clients."""
