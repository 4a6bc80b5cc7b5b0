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
    """Price of a used hour of an instance that is paid for its whole term.

    Parameters
    ----------
    price : FloatLike
        Paid for every hour of the term. [currency/h]
    used_share : FloatLike
        Share of the hours in which the instance is used. [-]

    Returns
    -------
    price : Floats
        Paid for an hour of use. [currency/h]

    Raises
    ------
    BadInput
        Where the share leaves 0 to 1.

    References
    ----------
    .. [1] W. Wang, B. Liang, B. Li, "Optimal online multi-instance acquisition in IaaS clouds," IEEE
       Trans. Parallel Distrib. Syst., vol. 26, no. 12, 2015.

    Examples
    --------
    >>> float(reserved_hourly_price(12.0, 0.5))
    24.0
    """
    share = np.asarray(used_share, dtype=float)
    if not np.all((share > 0) & (share <= 1)):
        raise BadInput(Message("utilisation must be above 0 and at most 1"))
    return np.asarray(np.asarray(price, dtype=float) / share)


def reservation_threshold(reserved_price: FloatLike, on_demand_price: FloatLike) -> Floats:
    """Share of the hours in use from which a reservation costs less than renting on demand.

    Parameters
    ----------
    reserved_price : FloatLike
        Paid for every hour of the term. [currency/h]
    on_demand_price : FloatLike
        Paid for the hours in use. [currency/h]

    Returns
    -------
    share : Floats
        Above 1 where reserving never pays. [-]

    Raises
    ------
    BadInput
        Where the price on demand is not above zero.

    References
    ----------
    .. [1] W. Wang, B. Liang, B. Li, IEEE Trans. Parallel Distrib. Syst., vol. 26, no. 12, 2015 (the
       ratio of reserved to on-demand price).

    Examples
    --------
    >>> round(float(reservation_threshold(13.92, 21.96)), 2)
    0.63
    """
    demand = np.asarray(on_demand_price, dtype=float)
    if not np.all(demand > 0):
        raise BadInput(Message("the price on demand must be above 0"))
    return np.asarray(np.asarray(reserved_price, dtype=float) / demand)


def storage_cost(stored_bytes: FloatLike, storage_price: FloatLike, seconds: FloatLike) -> Floats:
    """Cost of data kept in rented storage.

    Parameters
    ----------
    stored_bytes : FloatLike
        Kept all the time. [B]
    storage_price : FloatLike
        Rent of storage. [currency/(B s)]
    seconds : FloatLike
        How long. [s]

    Returns
    -------
    cost : Floats
        Rent over that time. [currency]

    References
    ----------
    .. [1] L. A. Barroso, U. Hölzle, P. Ranganathan, "The datacenter as a computer," 3rd ed.,
       Morgan & Claypool, 2018, chapter 6.

    Examples
    --------
    10 TB for a month of 30.4375 days at 0.023 for a gigabyte and month:

    >>> round(float(storage_cost(10e12, 0.023 / 1e9 / 2_629_800, 2_629_800.0)), 2)
    230.0
    """
    return np.asarray(np.asarray(stored_bytes, dtype=float) * storage_price * seconds)


def transfer_cost(transferred_bytes: FloatLike, transfer_price: FloatLike) -> Floats:
    """Cost of data moved out of a cloud.

    Parameters
    ----------
    transferred_bytes : FloatLike
        Moved out. [B]
    transfer_price : FloatLike
        Price of egress. [currency/B]

    Returns
    -------
    cost : Floats
        Paid for the transfer. [currency]

    References
    ----------
    .. [1] L. A. Barroso, U. Hölzle, P. Ranganathan, "The datacenter as a computer," 3rd ed.,
       Morgan & Claypool, 2018, chapter 6.

    Examples
    --------
    A terabyte at 0.09 for a gigabyte:

    >>> round(float(transfer_cost(1e12, 0.09e-9)), 2)
    90.0
    """
    return np.asarray(np.asarray(transferred_bytes, dtype=float) * transfer_price)
