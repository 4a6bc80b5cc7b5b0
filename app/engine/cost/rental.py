"""What renting really costs: interruptions, hours paid and not used, data kept and moved."""

from __future__ import annotations

import numpy as np

from app.engine.checkpoints import checkpoint_overhead
from app.engine.records import FloatLike, Floats
from app.engine.reliability import failure_overhead, mean_time_to_failure
from app.errors import BadInput, Message


def spot_hourly_price(
    price: FloatLike,
    useful_time: FloatLike,
    checkpoint_time: FloatLike,
    interval: FloatLike,
    interruption_rate: FloatLike,
    restart_time: FloatLike,
) -> Floats:
    r"""Price of an hour of progress on instances that the provider may take back.

    .. math:: p_e = p\, \frac{T + t_{checkpoint} + t_{lost}}{T}

    Parameters
    ----------
    price : FloatLike
        Paid for an hour, whether it advances the run or not, :math:`p`. [currency/h]
    useful_time : FloatLike
        Run time without checkpoints and interruptions, :math:`T`. [s]
    checkpoint_time : FloatLike
        Time of one checkpoint. [s]
    interval : FloatLike
        Useful time between checkpoints; infinite for none. [s]
    interruption_rate : FloatLike
        Interruptions of the whole job, all its instances together. [1/s]
    restart_time : FloatLike
        From an interruption to the first step after it. [s]

    Returns
    -------
    price : Floats
        Paid for an hour that advances the run, at least :math:`p`. [currency/h]

    Raises
    ------
    BadInput
        Where the useful time is not above zero, or the rate is below it.

    Notes
    -----
    An interruption is a failure with another cause: work since the last checkpoint is done again.
    Hours in which no instance is to be had are not paid, but lengthen the run; they belong into
    the restart time of a schedule, not into that of a price.

    References
    ----------
    .. [1] J. T. Daly, Future Gener. Comput. Syst., vol. 22, pp. 303-312, 2006.
    .. [2] S. Yi, D. Kondo, A. Andrzejak, "Reducing costs of spot instances via checkpointing in the
       Amazon Elastic Compute Cloud," IEEE CLOUD, 2010.

    Examples
    --------
    Ten days at 10 an hour, a checkpoint of 5 minutes every 2 hours, one interruption a day and 20
    minutes to restart: a tenth is lost.

    >>> round(float(spot_hourly_price(10.0, 864_000.0, 300.0, 7200.0, 1 / 86_400, 1200.0)), 2)
    11.03
    """
    useful = np.asarray(useful_time, dtype=float)
    if not np.all(useful > 0):
        raise BadInput(Message("useful time must be above 0 s, got {time}", {"time": float(np.min(useful))}))
    if not np.all(np.asarray(interruption_rate) >= 0):
        raise BadInput(Message("interruption rate must be 0 or more"))
    mean = mean_time_to_failure(interruption_rate)
    lost = checkpoint_overhead(useful, checkpoint_time, interval)
    lost = lost + failure_overhead(useful, checkpoint_time, interval, mean, restart_time)
    return np.asarray(np.asarray(price, dtype=float) * (useful + lost) / useful)


def reserved_hourly_price(price: FloatLike, used_share: FloatLike) -> Floats:
    """Return the price of a used hour of an instance paid for its whole term [currency/h].

    ``price`` is paid for every hour of the term; a share of hours in use that leaves 0 to 1 raises
    :class:`BadInput`.
    """
    share = np.asarray(used_share, dtype=float)
    if not np.all((share > 0) & (share <= 1)):
        raise BadInput(Message("utilisation must be above 0 and at most 1"))
    return np.asarray(np.asarray(price, dtype=float) / share)


def reservation_threshold(reserved_price: FloatLike, on_demand_price: FloatLike) -> Floats:
    """Return the share of the hours in use from which reserving costs less than renting on demand.

    Both prices are of an hour [currency/h], one paid for every hour and the other for those in use. Above 1
    reserving never pays. A price on demand that is not above zero raises :class:`BadInput`.
    """
    demand = np.asarray(on_demand_price, dtype=float)
    if not np.all(demand > 0):
        raise BadInput(Message("the price on demand must be above 0"))
    return np.asarray(np.asarray(reserved_price, dtype=float) / demand)


def storage_cost(stored_bytes: FloatLike, storage_price: FloatLike, seconds: FloatLike) -> Floats:
    """Return the cost of so many bytes kept so long [s] at a rent in [currency/(B s)]."""
    return np.asarray(np.asarray(stored_bytes, dtype=float) * storage_price * seconds)


def transfer_cost(transferred_bytes: FloatLike, transfer_price: FloatLike) -> Floats:
    """Return the cost of so many bytes moved out of a cloud at a price in [currency/B]."""
    return np.asarray(np.asarray(transferred_bytes, dtype=float) * transfer_price)
