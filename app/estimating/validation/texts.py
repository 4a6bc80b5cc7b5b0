"""Free texts of measured rows brought into one spelling: software, models, systems, networks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MANY = 4096
"""Texts whose plain spelling is kept: tables repeat theirs thousands of times."""
LONGEST = 1000
"""Characters of a text that are read: no name of software, model or network is longer."""
DASHES = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2212\u00d7", "------x")
"""Typographic dashes and the sign of multiplication, as keyboards write them."""
ENVIRONMENT = re.compile(
    r"[(,;/+|]?[ ]?\b(?:CUDA|cuDNN|cuBLAS|NCCL|Ubuntu|RHEL|Rocky|Debian|CentOS|Linux|kernel|Python|GCC|driver"
    r"|OFED|DOCA|HPC-?X|Open ?MPI|Docker|Slurm)(?: Linux| Toolkit| driver)?[ :=v_-]{0,3}\d[\w.-]{0,20}[)]?",
    re.IGNORECASE,
)
"""What a stack runs on: its versions look like those of frameworks, and decide nothing."""
SPELLING = (
    (r"\s+", " "),
    (r"(?<=\d)_(?=\d)", "."),
    (r"_", " "),
    *((r"(?<![a-z0-9])(?:v|ver|version|release|rel)[ .:=(-]*(?=v?\d)", " "),) * 2,
    (r"(?<=[a-z])v(?=\d+[._]\d)", " "),
    # A container's year and month written as one number.
    (r"(?<![\d.])(2[1-9])(0[1-9]|1[0-2])(?![\d.])", r"\1.\2"),
    (r"(?<=[a-z])[-_./:=@ (]*(?=\d)", " "),
    (r"(?<=[a-z0-9])[-_](?=[a-z])", " "),
    (r"\s+", " "),
)
"""Separators of names and versions, in the order in which they are replaced."""
REPLACEMENTS = tuple((re.compile(pattern, re.IGNORECASE), text) for pattern, text in SPELLING)


@lru_cache(maxsize=MANY)
def plain(text: str) -> str:
    """Return a text with one space between words, and between a name and its version.

    >>> [plain(text) for text in ("NeMo25.04", "NeMo_v25_04", "nemo.2504", "Megatron-LM (2022)", "ZeRO-3")]
    ['NeMo 25.04', 'NeMo 25.04', 'nemo 25.04', 'Megatron LM 2022)', 'ZeRO 3']
    """
    text = text[:LONGEST].translate(DASHES)
    text = ENVIRONMENT.sub("", text).strip(" ,;/+|") or text
    for pattern, replacement in REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return text.strip()


def model_words(text: str) -> str:
    """Return the name of a model with one space in place of its separators but points.

    >>> model_words("GPT-3_175B"), model_words("Mask R–CNN R50-FPN")
    ('GPT 3 175B', 'Mask R CNN R50 FPN')
    """
    return re.sub(r"[-_\s]+", " ", text[:LONGEST].translate(DASHES)).strip()


SEPARATORS = re.compile(r"(?<!\d)[.]|[.](?!\d)|[^a-z0-9.]")


def squashed(text: str) -> str:
    """Return a name without separators but the points of its versions.

    >>> squashed("Llama-3.1 8B"), squashed("DeepSeek_V3")
    ('llama3.18b', 'deepseekv3')
    """
    return SEPARATORS.sub("", text.lower())


@lru_cache(maxsize=MANY)
def system_key(text: str) -> str:
    """Return the name of a system or chip without separators, maker and unit of memory.

    >>> system_key("NVIDIA H100-SXM-80GB"), system_key("h100 sxm 80g"), system_key("GB300 NVL72")
    ('h100sxm80', 'h100sxm80', 'gb300nvl72')
    """
    name = re.sub(
        r"\b(?:nvidia|amd|intel|google|aws|habana|instinct|tesla|geforce|graphcore)\b", "", text.lower()
    )
    return squashed(re.sub(r"(?<=\d)[ -]?(?:gib|gb|g)(?![a-z0-9])|(?<=sxm)[2-6](?![0-9])", "", name))


INSIDE = re.compile(
    r"nvlink|nvswitch|nvl\d|\bpcie\b(?!-nic)|intra|xgmi|infinity fabric|ipu-link|neuronlink|\bici\b|GPU-PCIe",
    re.IGNORECASE,
)
"""Words of links inside a machine."""
ROLES = (
    (
        "compute",
        re.compile(
            r"compute|\bE[/-]?W\b|east|back-?end|scale-?out|inter-?node|\binter\b|\bgpu", re.IGNORECASE
        ),
    ),
    ("storage", re.compile(r"storage|\bN[/-]?S\b|north|front-?end", re.IGNORECASE)),
    ("management", re.compile(r"management|mgmt|\bBMC\b|\bhost\b", re.IGNORECASE)),
)
LABEL = re.compile(r"\s*([A-Za-z+&/ ]{3,24}):")
COUNT = re.compile(
    r"(?<![\d.])(\d{1,2}) ?[x×]|(?<![\d.])(\d{1,2}) (?:ports|adapters|NICs|HCAs)", re.IGNORECASE
)
RATE = re.compile(
    r"(?<![\d.])(\d{2,4}) ?"
    r"(?:[Gg]b(?:it)?s? ?/ ?s(?:ec)?|(?i:gbps|gbits?/s|gbit)|[Gg][Bb]?[Ee]\b|[Gg]b\b|G\b)"
)
SPEEDS = (
    (r"NDR ?200", 200), (r"HDR ?100", 100), (r"XDR|ConnectX ?-? ?8|CX-?8", 800),
    (r"NDR|ConnectX ?-? ?7|CX-?7|BlueField ?-?3|\bBF-?3|MT43244|MT2910|Quantum-2", 400),
    (r"HDR|ConnectX ?-? ?6|CX-?6|MT28908|MT4123|Slingshot", 200),
    (r"EDR|ConnectX ?-? ?5|CX-?5|Omni-?Path|HFI", 100),
)  # fmt: skip
"""Adapters by the speed of their ports [Gb/s], which holds where the text states none."""
INFINIBAND = re.compile(r"infini ?band|\bIB\b|NDR|HDR|XDR|EDR|Quantum", re.IGNORECASE)
ETHERNET = re.compile(r"ethernet|RoCE|GbE\b|spectrum", re.IGNORECASE)
MELLANOX = re.compile(r"ConnectX|\bCX-?\d|BlueField|\bBF-?3|Mellanox", re.IGNORECASE)
FABRICS = {
    "infiniband": {
        800: "xdr-infiniband",
        400: "ndr-infiniband",
        200: "hdr-infiniband",
        100: "edr-infiniband",
    },
    "ethernet": {400: "roce-400", 200: "roce-200", 100: "roce-100", 50: "ethernet-50"},
}
EACH_DEVICE = re.compile(r"per (?:GPU|accelerator|device|chip)|endpoint", re.IGNORECASE)
EACH_MACHINE = re.compile(r"per (?:node|machine|server|host|instance)", re.IGNORECASE)
PORT_PER_DEVICE = 200
"""Gb/s from which a machine has several ports where a text counts none."""
MOST_PORTS = 16
LEAST_RATE = 40
"""Gb/s below which an adapter is no network for gradients but one for management."""


NETWORK_SPELLING = tuple(
    (re.compile(pattern, re.IGNORECASE), text)
    for pattern, text in (
        (r"\s+", " "),
        (r"infini ?band", "IB"),
        (r"\b(?:Mellanox|NVIDIA)(?: Technologies)? ?(?=ConnectX|CX)", ""),
        (r"\b(?:ConnectX|CX) ?-? ?(?=[3-9])", "ConnectX-"),
        (r"(?<![\d.])(\d{1,2}) ?x ?(?=[a-z])", r"\1x "),
    )
)


BITS = re.compile(r"(\d{2,4}) ?GB ?/ ?S(?:EC)?\b", re.IGNORECASE)
"""A rate in a text of one case, which does not tell bits from bytes: ports are told in bits."""


def is_network(text: str) -> bool:
    """Return whether a part of a text names a network between machines."""
    words = (INFINIBAND, ETHERNET, MELLANOX, EACH_DEVICE, EACH_MACHINE)
    return not INSIDE.search(text) and any(word.search(text) for word in words)


@lru_cache(maxsize=MANY)
def network_text(text: str) -> str:
    """Return the text of a network with adapters and their number in one spelling.

    >>> network_text("NVLink | 2 × Mellanox CX6 InfiniBand HDR 200Gb/s")
    'NVLink | 2x ConnectX-6 IB HDR 200Gb/s'
    """
    text = text[:LONGEST].translate(DASHES)
    if text in (text.upper(), text.lower()):
        parts = re.split(r"([|;,+])", text)
        text = "".join(BITS.sub(r"\1 Gb/s", part) if is_network(part) else part for part in parts)
    for pattern, replacement in NETWORK_SPELLING:
        text = pattern.sub(replacement, text)
    return text


@dataclass(frozen=True, slots=True)
class StatedPorts:
    """The ports of a machine that a text names for the network between machines."""

    fabric: str
    ports: int
    """0 where the text counts none, and a machine has several."""
    text: str
    named: bool
    """Whether the text names the kind of network too."""


def compute_adapters(text: str, devices_per_node: int) -> StatedPorts | None:
    """Return the adapters that carry gradients: those named for it, else the fastest that are named.

    >>> text = "NVLINK | Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-6 IB HDR 200Gb/s"
    >>> found = compute_adapters(text, 8)
    >>> found.fabric, found.ports
    ('hdr-infiniband', 8)
    >>> compute_adapters("NVLINK 900 GB/s | 25Gb/s Ethernet", 8) is None
    True
    """
    found: dict[str, list[tuple[int, StatedPorts]]] = {}
    role, inside = "", False
    for part in re.split(r"[|;,+]| and (?=\d)", re.sub(r"(?i)\([^)]*NVLink[^)]*\)", "", text)):
        label = LABEL.match(part)
        role = _role(label.group(1)) if label else role if "|" not in part else ""
        body = part[label.end() :] if label else part
        # A bare rate behind a link of the machine is that link's.
        of_link = inside and not BITS.sub("", body).strip()
        inside = bool(INSIDE.search(body))
        adapters = None if of_link else _adapters(body, devices_per_node)
        if adapters is not None:
            found.setdefault(role or _role(body), []).append(adapters)
    for kind in ("compute", "", "storage", "management"):
        if kind in found:
            return max(found[kind], key=lambda entry: entry[0])[1]
    return None


def _role(text: str) -> str:
    return next((name for name, pattern in ROLES if pattern.search(text)), "")


def _adapters(text: str, devices_per_node: int) -> tuple[int, StatedPorts] | None:
    """Return the rate of all ports that a part of a text names [Gb/s], and the ports."""
    if INSIDE.search(text):
        return None
    count, stated = COUNT.search(text), RATE.search(text)
    rate = int(stated.group(1)) if stated else _speed(text)
    if rate is None or rate < LEAST_RATE:
        return None
    ports = int(count.group(1) or count.group(2)) if count else 1 if rate < PORT_PER_DEVICE else 0
    if EACH_DEVICE.search(text):
        ports = devices_per_node
    elif count is None and EACH_MACHINE.search(text):
        ports = next((ports for ports in (8, 4, 2) if rate / ports >= PORT_PER_DEVICE), 1)
        rate = rate // ports
    speeds = FABRICS[_kind(text, rate)]
    nearest = min(speeds, key=lambda speed: (abs(speed - rate), speed))
    named = bool(INFINIBAND.search(text) or ETHERNET.search(text))
    return max(ports, 1) * rate, StatedPorts(speeds[nearest], min(ports, MOST_PORTS), text.strip(), named)


def _speed(text: str) -> int | None:
    return next((rate for pattern, rate in SPEEDS if re.search(pattern, text, re.IGNORECASE)), None)


def _kind(text: str, rate: int) -> str:
    """Return the kind of network; fast ports of an unnamed one are InfiniBand in most clusters of GPUs."""
    if INFINIBAND.search(text):
        return "infiniband"
    if ETHERNET.search(text):
        return "ethernet"
    return "infiniband" if MELLANOX.search(text) or rate >= PORT_PER_DEVICE else "ethernet"
