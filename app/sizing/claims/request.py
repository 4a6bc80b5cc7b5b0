"""What may be assumed of the machines in vendor claims in place of the catalogue's figures."""

from __future__ import annotations

from pydantic import Field

from app.errors import BadInput
from app.sizing.questions import LEAST_SHARE
from app.sizing.request import Number, Schema

LEAST_MONEY = 1e-6
MOST_MONEY = 1e12
MOST_MACHINES = 1000.0

PRICES = {"m2000_price": "ipu-m2000", "pod64_price": "ipu-pod64", "dgx_price": "dgx-a100-320gb"}
"""Field → system whose price it states."""

POD, MACHINE = "ipu-pod64", "dgx-a100-320gb"
"""The two systems that are called equal in price and power."""


class ClaimsRequest(Schema):
    """Assumptions under which vendor claims are looked at; what is left out comes from the catalogue."""

    scaling_efficiency: Number = Field(
        1.0,
        description="Share of linear scaling that published figures reach which were scaled up, not run.",
        examples=[0.85],
    )
    dgx_per_pod64: Number | None = Field(
        None,
        description="DGX A100 that one IPU-POD64 equals in price and in power; the article says 3.",
        examples=[3],
    )
    pod64_price: Number | None = Field(
        None, description="Price of one IPU-POD64 with its hosts. [USD]", examples=[600_000]
    )
    dgx_price: Number | None = Field(None, description="Price of one DGX A100. [USD]", examples=[199_000])
    m2000_price: Number | None = Field(
        None, description="Price of one IPU-M2000 with its host. [USD]", examples=[57_450]
    )
    price_book_id: str | None = Field(
        None, max_length=80, description="Identifier of a workspace's own prices.", examples=[None]
    )


def check(asked: ClaimsRequest) -> None:
    """Refuse assumptions that cannot be, each at its field."""
    efficiency = asked.scaling_efficiency
    if not LEAST_SHARE <= efficiency <= 1:
        raise BadInput.at(
            "scaling_efficiency",
            "must be between {least} and {most}, not {value}",
            least=LEAST_SHARE,
            most=1,
            value=efficiency,
        )
    for name in PRICES:
        price = getattr(asked, name)
        if price is not None and not LEAST_MONEY <= price <= MOST_MONEY:
            raise BadInput.at(
                name, "{value} is not a price above 0 and up to {most}", value=price, most=MOST_MONEY
            )
    machines = asked.dgx_per_pod64
    if machines is None:
        return
    if not 1 / MOST_MACHINES <= machines <= MOST_MACHINES:
        raise BadInput.at(
            "dgx_per_pod64",
            "{value} is not between {least} and {most}",
            value=machines,
            least=1 / MOST_MACHINES,
            most=MOST_MACHINES,
        )
    if asked.pod64_price is not None:
        raise BadInput.at(
            "pod64_price",
            "the number of DGX A100 that it equals already gives its price; leave one of them out",
        )
