"""Uploads: model profiles, and samples of the data."""

from __future__ import annotations

from app.client.calls import Call, File, Given, address, content, delete, document, get, operation, store
from app.features.uploads.model import KeptProfile, KeptWorkload, ProfileRequest, UploadSummary
from app.platform.listing import Page


class UploadOperations:
    """What customers bring."""

    @operation
    def create_profile(
        self, model: ProfileRequest | Given | File, *, key: str | None = None
    ) -> Call[KeptProfile]:
        """Keep a model, out of a file or a description; estimates name it as ``model.profile_id``."""
        return store(address("profiles"), document(KeptProfile), model, key)

    @operation
    def list_profiles(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[UploadSummary]]:
        """List the models that were uploaded, newest first."""
        return get(address("profiles"), document(Page[UploadSummary]), cursor=cursor, limit=limit)

    @operation
    def get_profile(self, identifier: str) -> Call[KeptProfile]:
        """Read a model as it was understood."""
        return get(address("profiles", identifier), document(KeptProfile))

    @operation
    def get_profile_file(self, identifier: str) -> Call[bytes]:
        """Read the file of a model as it was uploaded."""
        return get(address("profiles", identifier, "file"), content)

    @operation
    def delete_profile(self, identifier: str) -> Call[None]:
        """Delete a model and its file; answers made of it stay."""
        return delete(address("profiles", identifier))

    @operation
    def create_workload(
        self, sample: File, *, seq_len: int | None = None, key: str | None = None
    ) -> Call[KeptWorkload]:
        """Count the lengths in a sample of the data; the text itself is not kept."""
        return store(address("workloads"), document(KeptWorkload), sample, key, seq_len=seq_len)

    @operation
    def list_workloads(
        self, cursor: str | None = None, limit: int | None = None
    ) -> Call[Page[UploadSummary]]:
        """List the samples that were uploaded, newest first."""
        return get(address("workloads"), document(Page[UploadSummary]), cursor=cursor, limit=limit)

    @operation
    def get_workload(self, identifier: str) -> Call[KeptWorkload]:
        """Read what was counted in a sample."""
        return get(address("workloads", identifier), document(KeptWorkload))

    @operation
    def delete_workload(self, identifier: str) -> Call[None]:
        """Delete what was counted in a sample; answers made of it stay."""
        return delete(address("workloads", identifier))
