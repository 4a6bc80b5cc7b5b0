"""Limits of the global batch by kind of workload and family."""

from __future__ import annotations

from app.estimating.context import SizingContext, batch_limit


def test_a_fine_tune_takes_the_batches_of_published_fine_tunes(context: SizingContext) -> None:
    """GPT-3 was fine-tuned on 128 samples a step, whole and with LoRA (Hu et al. 2021, appendix D.4)."""
    for kind in ("finetune", "lora", "qlora"):
        limit = batch_limit(context.batch_limits, kind, "llama", False)
        assert (limit.limit, limit.unit, limit.source) == (128, "sample", "hu-2021")
    assert batch_limit(context.batch_limits, "finetune", "bert", False).limit == 32


def test_continued_training_is_held_to_the_batches_of_pre_training(context: SizingContext) -> None:
    """Continued pre-training has no rows of its own."""
    limits = context.batch_limits
    for family in ("gpt", "bert", "wide-and-deep"):
        before = batch_limit(limits, "pretrain", family, False)
        assert batch_limit(limits, "continue", family, False) == before
    assert batch_limit(limits, "pretrain", "efficientnet", True).family == "resnet50"
    assert batch_limit(limits, "finetune", "efficientnet", True) == limits["finetune", ""]
