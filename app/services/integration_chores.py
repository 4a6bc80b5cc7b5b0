"""What is done again and again for keys and webhooks: tell what is due, forget what is over."""

from __future__ import annotations

import time

from app.services.freezing import note_expired
from app.services.webhook_delivery import deliver_due, purge_messages
from app.services.workbench import Workbench
from app.store.types import now

MOST_SECONDS = 30.0
"""How long messages are sent at one turn; what is left waits for the next. [s]"""

WEBHOOKS = "webhooks"
"""Name of the chore that sends messages, to ask for it at once."""


def tell_webhooks(bench: Workbench) -> None:
    """Send the messages to webhooks that are due."""
    started = time.monotonic()
    while deliver_due(bench, now(), bench.sender) and time.monotonic() - started < MOST_SECONDS:
        pass


def tidy_integration(bench: Workbench) -> None:
    """Note proposals whose last day is over; forget counted requests and old messages."""
    moment = now()
    note_expired(bench, moment)
    bench.store.purge_rates(moment)
    purge_messages(bench, moment)
