"""Reading an uploaded model, whose format follows from its content, not from its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from app.errors import Message, Unprocessable
from app.profiles.config import config_profile
from app.profiles.documents import MOST_ONNX_BYTES, check_size, decode, printable, unreadable
from app.profiles.layer_table import layers_profile, read_layer_csv
from app.profiles.model import ModelProfile
from app.profiles.onnx_file import read_onnx_file
from app.profiles.readers.arguments import Arguments, script_arguments
from app.profiles.readers.loose import parse_config
from app.profiles.readers.native import native_of
from app.profiles.readers.printed import is_printed, printed_profile, refuse_lightning
from app.profiles.readers.weights import header_of, refuse_adapter, refuse_index, weights_profile
from app.profiles.summaries import is_summary, read_summary
from app.profiles.transformer import transformer_profile

MOST_TEXT_BYTES = 5_000_000
"""Largest configuration, layer table or summary. [B]"""

CONFIGURATION = re.compile(
    r"\s*(?:(?://|#)[^\n]*\n\s*|/\*.*?\*/\s*)*(?:[A-Z]\w{0,80}Config\s*)?\{", re.DOTALL
)
ACCEPTED = Message(
    "an ONNX model, a Hugging Face config.json, a layer table in CSV or JSON, "
    "or a summary by torchinfo or fvcore"
)


def read_profile(
    name: str, data: bytes, seq_len: int | None = None, image_size: int | None = None
) -> ModelProfile:
    """Return the model of a file at the asked length of a sample and size of an image."""
    return _read(name, data, seq_len, image_size).of_length(seq_len).of_side(image_size)


def _read(name: str, data: bytes, seq_len: int | None, image_size: int | None) -> ModelProfile:
    title = printable(name, 80) or "file"
    check_size(title, len(data), MOST_ONNX_BYTES)
    kind = foreign_kind(data)
    if kind:
        raise unreadable(
            "{file} is {kind}; accepted: {accepted}", file=title, kind=Message(kind), accepted=ACCEPTED
        )
    header = header_of(title, data)
    if header is not None:
        return weights_profile(title, header)
    if is_binary(data):
        return read_onnx_file(title, data, seq_len, image_size)
    check_size(title, len(data), MOST_TEXT_BYTES)
    text = decode(title, data)
    start = text.lstrip()[:1]
    if (start in {"{", "["} and not re.match(r"\s*\[[A-Za-z_]", text)) or CONFIGURATION.match(text):
        profile = _json(title, parse_config(title, text))
    elif is_printed(text):
        profile = printed_profile(title, text)
    elif is_summary(text):
        profile = read_summary(title, text)
    else:
        refuse_lightning(title, text)
        said = script_arguments(text)
        if said is None:
            return read_layer_csv(title, text)
        profile = arguments_profile(title, said)
    return profile


def arguments_profile(title: str, said: Arguments) -> ModelProfile:
    """Return the model of arguments; refuse those that do not state it."""
    if said.native is None:
        names = ", ".join(said.refusals or ("num_layers", "hidden_size", "num_attention_heads"))
        raise Unprocessable.at(
            f"config.{(said.refusals or ('num_layers',))[0]}",
            "{file} is a training configuration whose model is not stated in full ({fields}); choose the "
            "model, or send its config.json",
            file=title,
            fields=names,
        )
    profile = config_profile(said.native.config, name=title, where="config")
    doubts = tuple(
        Message("{field} is given more than once or by a variable and is not read", {"field": field})
        for field in said.unclear
    )
    return replace(profile, doubts=(*profile.doubts, *doubts))


def foreign_kind(data: bytes) -> str:
    """Return the kind of a file that cannot be read, or an empty string."""
    for start, kind in (
        (b"PK\x03\x04", "an archive (a PyTorch checkpoint is one)"),
        (b"\x80\x02", "a Python pickle, which is never opened"),
        (b"\x1f\x8b", "compressed"),
        (b"\x89HDF", "a Keras HDF5 file"),
        (b"PAR1", "a Parquet file, which holds data, not a model"),
        (b"%PDF", "a PDF"),
    ):
        if data.startswith(start):
            return kind
    return ""


def is_binary(data: bytes) -> bool:
    """Return whether content starts like a serialised ONNX model rather than like text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        return False
    # A model starts with its version or another field of the message; text has no such bytes.
    return any(byte < 9 or 13 < byte < 32 for byte in data[:64])


def _json(name: str, value: object) -> ModelProfile:
    if isinstance(value, list):
        return replace(layers_profile(value, name=name, where="layers"), name=name)
    if isinstance(value, Mapping):
        if "layers" in value and isinstance(value["layers"], list):
            return layers_profile(value["layers"], name=name, where="layers")
        if isinstance(value.get("transformer"), Mapping):
            return transformer_profile(value["transformer"], where="transformer")
        if "layers" in value and "kind" in value and "seq_len" in value:
            return transformer_profile(value, where="transformer")
        refuse_index(name, value)
        refuse_adapter(name, value)
        native = native_of(value)
        if native is not None:
            profile = config_profile(native.config, name=name, where="config")
            return replace(profile, name=name, assumptions=(*profile.assumptions, *native.assumed))
    return config_profile(value, name=name, where="config")
