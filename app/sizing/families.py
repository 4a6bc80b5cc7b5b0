"""Families of models by what is known of how well they are predicted."""

from __future__ import annotations

FITTED_FAMILIES = frozenset({"gpt", "llama", "bert", "resnet50", "resnext101", "efficientnet", "t5"})
"""Families whose operators are known well enough that a misfit tells something of the software."""

CORE_FAMILIES = frozenset({"gpt", "llama", "bert", "resnet50"})
"""Families with the most measured runs, on which the headline stands."""

DECODERS = frozenset({"gpt", "llama"})

SMALL_OPERATIONS = frozenset({"conformer", "efficientnet", "gnn", "tacotron2", "waveglow", "dlrm"})
"""Families whose time on an IPU is mostly what each operation costs at all."""

IPU_SERIES = frozenset({"gc200", "bow"})
"""Chips that are IPUs."""
