"""Every operation of the API, under its name there."""

from app.client.operations.documents import DocumentOperations
from app.client.operations.sizing import SizingOperations


class Operations(SizingOperations, DocumentOperations):
    """All operations of both clients."""
