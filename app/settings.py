"""What the surroundings decide: where data lives, how much is taken in.

Nothing else reads the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from app.errors import BadInput

VARIABLES = {
    "RACKLINE_DATABASE_URL": "database_url",
    "RACKLINE_DATA_DIR": "data_dir",
    "RACKLINE_MAX_BODY_BYTES": "max_body_bytes",
    "RACKLINE_MAX_UPLOAD_BYTES": "max_upload_bytes",
    "RACKLINE_DASK": "dask",
    "RACKLINE_QUEUE_URL": "queue_url",
    "RACKLINE_JOBS": "jobs",
    "RACKLINE_LOG": "log",
    "RACKLINE_LOG_LEVEL": "log_level",
    "RACKLINE_METRICS_TOKEN": "metrics_token",
    "RACKLINE_STOP_SECONDS": "stop_seconds",
}


class Settings(BaseModel):
    """Every setting; :data:`VARIABLES` names the environment variables that give them."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    data_dir: Path
    """Directory of the database, made on first use."""
    database_url: str
    """SQLAlchemy address of the database; SQLite in the data directory unless given."""
    max_body_bytes: int = Field(8_000_000, gt=0)
    """Largest JSON or form body. [B]"""
    max_upload_bytes: int = Field(256_000_000, gt=0)
    """Largest multipart upload. [B]"""
    dask: str = Field("", pattern=r"^$|^(tcp|tls|ws|wss|ucx)://\S+$")
    """Address of the Dask scheduler that sweeps are computed by; empty for this machine's processors."""
    queue_url: str = Field("", pattern=r"^$|^(sqlite:///|postgresql(\+psycopg)?://|rediss?://)\S+$")
    """Address of the job queue; empty for the database where that is PostgreSQL, else for a file in the
    data directory."""
    jobs: Literal["here", "elsewhere"] = "here"
    """Whether the server does jobs itself, or leaves them to `rackline worker`."""
    log: Literal["console", "json"] = "console"
    """Form of the log on the error output: lines to read, or one JSON object a line."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severity that is logged."""
    metrics_token: SecretStr = SecretStr("")
    """What who reads `/metrics` sends as a bearer token; empty for this machine alone."""
    stop_seconds: int = Field(10, ge=1, le=600)
    """How long the end of the server waits for requests under way. [s]"""
    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "[::1]"})
    """Host names answered to, with any port. Without accounts only this machine's own: a page of
    another site that resolves its name to this machine must not reach a customer's data."""

    @classmethod
    def at(cls, data_dir: Path, **values: object) -> Settings:
        """Return the settings of a data directory, with its SQLite database unless another is given."""
        values.setdefault("database_url", f"sqlite:///{data_dir / 'rackline.sqlite3'}")
        return cls.model_validate({"data_dir": data_dir, **values})

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read ``RACKLINE_…``; an empty variable counts as not set.

        Raises
        ------
        BadInput
            When a variable's value cannot be used; names the variable.
        """
        environment = os.environ if environment is None else environment
        given: dict[str, object] = {
            field: environment[name] for name, field in VARIABLES.items() if environment.get(name)
        }
        data_dir = Path(str(given.pop("data_dir", "") or default_data_dir(environment))).expanduser()
        try:
            return cls.at(data_dir.absolute(), **given)
        except ValidationError as error:
            names = {field: name for name, field in VARIABLES.items()}
            first = error.errors(include_url=False, include_input=False)[0]
            name = names[str(first["loc"][0])]
            message = "{name} cannot be used: {reason}"
            raise BadInput.at(name, message, name=name, reason=first["msg"]) from None


def default_data_dir(environment: Mapping[str, str]) -> Path:
    """Return the user's directory for application data (XDG Base Directory Specification 0.8)."""
    base = environment.get("XDG_DATA_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share") / "rackline"


TABLE_BEGIN, TABLE_END = "<!-- settings -->", "<!-- end of settings -->"
"""What the table of settings stands between."""


def with_settings(page: str) -> str:
    """Return a page of the documentation with the table of all settings as it is now."""
    head, begin, rest = page.partition(TABLE_BEGIN)
    _, end, tail = rest.partition(TABLE_END)
    return f"{head}{begin}\n{settings_table()}\n{end}{tail}" if end else page


def settings_table() -> str:
    """Return every setting with its default and its meaning, as a table in Markdown."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in VARIABLES.items():
        info = Settings.model_fields[field]
        default = "" if info.is_required() or not info.default else f"`{info.default}`"
        if isinstance(info.default, SecretStr):
            default = ""
        meaning = " ".join((info.description or "").split())
        lines.append(f"| `{name}` | {default} | {meaning} |")
    return "\n".join(lines)
