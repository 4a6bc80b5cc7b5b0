"""The model of a request, whichever way it was given."""

from __future__ import annotations

import numpy as np

from app.engine.operators import OperatorTable
from app.errors import Message, Unprocessable
from app.profiles.config import config_profile
from app.profiles.layer_table import layers_profile
from app.profiles.model import ModelProfile
from app.profiles.presets import preset
from app.profiles.transformer import figure_profile, transformer_profile
from app.sizing.context import SizingContext
from app.sizing.document import ModelSummary, Text
from app.sizing.request import ModelInput
from app.sizing.workload import Training


def resolve_model(asked: ModelInput, context: SizingContext) -> ModelProfile:
    """Return the profile a request means; exactly one way of giving it is allowed."""
    given = [name for name in ModelInput.model_fields if getattr(asked, name) is not None]
    if len(given) != 1:
        raise Unprocessable.at(
            "model",
            "exactly one of {ways} is needed; given: {given}",
            ways=", ".join(ModelInput.model_fields),
            given=", ".join(given) or "-",
        )
    if asked.preset is not None:
        return preset(asked.preset)
    if asked.profile_id is not None:
        return context.find_profile(asked.profile_id)
    if asked.config is not None:
        return config_profile(asked.config, where="model.config")
    if asked.transformer is not None:
        return transformer_profile(asked.transformer.model_dump(exclude_none=True))
    if asked.layers is not None:
        return layers_profile(asked.layers)
    return figure_profile(asked.total_flop)


def summarise(training: Training, table: OperatorTable) -> ModelSummary:
    """Return what an answer says of its model, and of what is trained of it."""
    profile = training.profile
    return ModelSummary(
        id=profile.id,
        name=profile.name,
        family=profile.family,
        parameters=profile.parameters,
        kind=training.kind,
        trained_parameters=table.trained_parameters,
        forward_flop_per_sample=float(np.sum(table.forward_flop)),
        seq_len=training.seq_len,
        image_size=training.image_size,
        assumptions=[
            Text.of(message if isinstance(message, Message) else Message(str(message)))
            for message in profile.assumptions
        ],
    )
