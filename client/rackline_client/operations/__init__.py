"""Every operation of the API, under its name there."""

from rackline_client.operations.documents import DocumentOperations
from rackline_client.operations.sizing import SizingOperations


class Operations(SizingOperations, DocumentOperations):
    """All operations of both clients."""
