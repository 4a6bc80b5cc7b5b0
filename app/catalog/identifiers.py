"""Identifiers that other tools rely on: the catalogue must know every one of them."""

from __future__ import annotations

CHIPS = (
    "a100-sxm-40gb",
    "a100-sxm-80gb",
    "a100-pcie-40gb",
    "a100-pcie-80gb",
    "gc200",
    "bow",
    "v100",
    "p100",
)
SYSTEMS = (
    "dgx-a100-320gb",
    "dgx-a100-640gb",
    "dgx1-v100",
    "big-basin-p100",
    "ipu-m2000",
    "ipu-pod4",
    "ipu-pod16",
    "ipu-pod64",
    "ipu-pod128",
    "ipu-pod256",
    "bow-2000",
    "bow-pod16",
    "bow-pod64",
    "bow-pod128",
    "bow-pod256",
    "bow-pod1024",
    "a100-sxm-40gb",
    "a100-sxm-80gb",
    "a100-pcie-40gb",
    "a100-pcie-80gb",
    "aws-p4d",
    "aws-p4de",
    "azure-nd96amsr",
    "azure-nd96asr",
    "gcp-a2-highgpu-8g",
    "gcp-a2-ultragpu-8g",
    "lambda-8xa100",
)
FABRICS = (
    "hdr-infiniband",
    "edr-infiniband",
    "ndr-infiniband",
    "roce-200",
    "roce-100",
    "ethernet-100",
    "ethernet-50",
    "ethernet-25",
    "efa-400",
    "ipu-fabric",
)
TARGETS = ("mlperf-bert", "mlperf-resnet50")

REQUIRED = {"chip": CHIPS, "system": SYSTEMS, "fabric": FABRICS, "target": TARGETS}

ITEM_PARAMETERS = {
    "machine": (
        "devices",
        "chip",
        "intra",
        "bus_bandwidth",
        "collective_latency",
        "power_max",
        "power_typical",
        "rack_units",
    ),
    "system": ("machine", "machines", "hosts", "fabric", "ports_per_node", "acquisition", "availability"),
    "fabric": ("line_rate", "port_bandwidth", "hop_latency", "tree_latency", "message_latency", "protocol"),
    "target": ("model", "law_samples", "law_batch", "law_exponent", "run_scatter"),
    "switch": ("ports", "port_rate", "power_typical", "price"),
}
"""Parameters without which an item of the kind cannot be used."""
