"""What the engine refuses, as data: a template, its values, and the field of the question they are about.

The engine knows neither statuses nor languages. Whoever asked it turns its errors into sentences
(:func:`app.errors.of_engine`).
"""

from __future__ import annotations


class EngineError(ValueError):
    """Base of what the engine refuses."""

    def __init__(self, template: str, *, field: str = "", **values: object) -> None:
        self.template = template
        self.field = field
        """Dotted path of the field that is at fault; empty where it is a number without a name here."""
        self.values = values
        super().__init__(template.format(**values))


class OutOfRange(EngineError):
    """A number for which a formula does not hold."""


class Contradiction(EngineError):
    """Numbers that are each in range and do not go together."""


class Shortage(EngineError):
    """Fewer numbers than a formula needs."""


class TooManyPlans(EngineError):
    """More plans than a search compares."""
