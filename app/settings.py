"""What the surroundings decide: where data lives, how much is taken in.

Nothing else of the server reads the environment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from app.errors import BadInput

SECRETS = frozenset(
    {
        "RACKLINE_DATABASE_URL",
        "RACKLINE_METRICS_TOKEN",
        "RACKLINE_OIDC_CLIENT_SECRET",
        "RACKLINE_S3_ACCESS_KEY_ID",
        "RACKLINE_S3_SECRET_ACCESS_KEY",
        "RACKLINE_SECRET",
        "RACKLINE_SECRET_FALLBACKS",
    }
)
"""Variables that may hold a secret: each may be given as the name of a file instead, by ``…_FILE``."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Names of this machine."""


def comma_separated(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


class Settings(BaseModel):
    """Every setting; :data:`VARIABLES` names the environment variables that give them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    database_url: str
    """SQLAlchemy address of the database; SQLite in the data directory unless given."""
    data_dir: Path
    """Directory of database and uploads, made on first use; one of the user's unless given."""
    uploads: str = Field(
        "", max_length=500, pattern=r"^$|^/\S*$|^s3://[a-z0-9][a-z0-9.-]{1,62}(/[A-Za-z0-9/._-]*)?$"
    )
    """Where uploaded files are: a directory, or `s3://BUCKET/PREFIX` of a store that speaks S3; in the data
    directory unless given. Servers and workers on several machines share it."""
    s3_endpoint: str = Field("", max_length=500, pattern=r"^$|^https?://[^\s?#@]+$")
    """Address of the store that speaks S3; that of AWS unless given."""
    s3_region: str = Field("us-east-1", pattern=r"^[A-Za-z0-9-]{1,60}$")
    """Region of the bucket."""
    s3_access_key_id: str = Field("", repr=False)
    """Identifier of the key of the bucket; without a key that of the machine or its role is used."""
    s3_secret_access_key: str = Field("", repr=False)
    """Secret of the key of the bucket."""
    max_body_bytes: int = Field(2_000_000, gt=0)
    """Largest JSON or form body; of JSON with few fields at most 256 kB are taken. [B]"""
    max_upload_bytes: int = Field(256_000_000, gt=0)
    """Largest multipart upload. [B]"""
    dask: str = Field("", pattern=r"^$|^(tcp|tls|ws|wss|ucx)://\S+$")
    """Address of the Dask scheduler that sweeps are computed by; empty for this machine's processors."""
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
    rate_read: int = Field(600, ge=1, le=1_000_000)
    """Requests that a key may read with in a minute. [1/min]"""
    rate_estimate: int = Field(120, ge=1, le=1_000_000)
    """Requests of a key in a minute that compute little or change something. [1/min]"""
    rate_search: int = Field(30, ge=1, le=1_000_000)
    """Requests of a key in a minute that search, size, compare or set a document. [1/min]"""
    rate_processor: int = Field(120, ge=1, le=1_000_000)
    """Processor time that the searches of a workspace use in a minute before the next one waits. [s/min]"""
    niceness: int = Field(10, ge=0, le=19)
    """How far processes that compute for long give way to whoever answers pages, as of nice(1)."""
    rate_person: int = Field(10, ge=1, le=1_000)
    """How many times as much as a key a person who is signed in may ask."""
    shared_limits: bool = False
    """Whether requests are counted in the database, by all processes and servers together."""
    webhook_http: bool = False
    """Whether webhooks may be told without TLS."""
    webhook_hosts: tuple[str, ...] = ()
    """Hosts, addresses and networks inside that webhooks may be sent to, such as
    `crm.corp.internal, 10.1.0.0/16, localhost`; without it public addresses alone."""
    retention_days: str = Field("", max_length=200)
    """Days for which each kind is kept, as :meth:`Retention.read` reads them; empty for its defaults."""
    public_url: str = Field("", pattern=r"^$|^https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?/?$")
    """Address of the server as people write it, in small letters; needed to be reached from elsewhere."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto count."""
    session_idle_minutes: int = Field(720, ge=1, le=43_200)
    """A session ends so long after its last request. [min]"""
    session_days: int = Field(14, ge=1, le=365)
    """A session ends so long after the sign-in. [d]"""
    secret: str = Field("", repr=False)
    """Seals secrets in the database; made in the data directory unless given."""
    secret_fallbacks: tuple[str, ...] = Field((), repr=False)
    """Secrets of before, separated by spaces or lines: what they have sealed still opens, until
    `rackline rotate-secret` has sealed it again."""
    mail_command: tuple[str, ...] = ()
    """Command that sends a mail given on its standard input; without it links are shown."""
    mail_from: str = Field("", max_length=254, pattern=r"^[^\r\n]*$")
    """Sender of mails."""
    oidc_issuer: str = Field(
        "",
        max_length=500,
        pattern=r"^$|^https://[^\s?#]+$|^http://(localhost|127\.0\.0\.1)(:\d+)?(/[^\s?#]*)?$",
    )
    """Provider that people may sign in through, as it calls itself; empty for none."""
    oidc_client_id: str = Field("", max_length=300)
    """How this server is known to the provider."""
    oidc_client_secret: str = Field("", repr=False)
    """Secret that this server shares with the provider; empty where PKCE alone is agreed on."""
    oidc_domains: tuple[str, ...] = ()
    """Domains of e-mail addresses whose people are let in without an invitation, as viewers."""

    @property
    def https(self) -> bool:
        """Whether people reach the server by https."""
        return self.public_url.startswith("https://")

    @property
    def public_host(self) -> str:
        """Name of the server as people write it, without a port; empty where none is set."""
        netloc = urlsplit(self.public_url).netloc
        return netloc[: netloc.index("]") + 1] if netloc.startswith("[") else netloc.partition(":")[0]

    @property
    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        return tuple(ip_network(proxy) for proxy in self.trusted_proxies)

    @field_validator("public_url")
    @classmethod
    def without_slash(cls, value: str) -> str:
        """Return the address as paths are put behind it."""
        return value.rstrip("/")

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def networks(cls, value: object) -> object:
        """Return the entries of a list that is written with commas, each an address or a network."""
        entries = comma_separated(value) if isinstance(value, str) else value
        if isinstance(entries, list | tuple):
            for entry in entries:
                try:
                    ip_network(str(entry))
                except ValueError:
                    raise ValueError("give addresses or networks, such as 10.0.0.2, 10.1.0.0/16") from None
        return entries

    @field_validator("webhook_hosts", mode="before")
    @classmethod
    def hosts(cls, value: object) -> object:
        """Return the entries of a list that is written with commas, each a name, an address or a network."""
        entries = comma_separated(value) if isinstance(value, str) else value
        if isinstance(entries, list | tuple):
            for entry in entries:
                try:
                    ip_network(str(entry).strip("[]"))
                except ValueError:
                    if not re.fullmatch(r"(?=.*[A-Za-z])[A-Za-z0-9._-]{1,253}", str(entry)):
                        raise ValueError(
                            "give hosts, addresses or networks, such as crm.corp.internal, 10.1.0.0/16"
                        ) from None
        return entries

    @field_validator("oidc_domains", mode="before")
    @classmethod
    def domains(cls, value: object) -> object:
        """Return the entries of a list of domains that is written with commas."""
        if not isinstance(value, str):
            return value
        domains = [entry.lower().removeprefix("@") for entry in comma_separated(value)]
        if not all(re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", domain) for domain in domains):
            raise ValueError("give domains, such as example.com, example.co.kr")
        return domains

    @field_validator("secret")
    @classmethod
    def long_enough(cls, value: str) -> str:
        """Refuse a secret that could be guessed."""
        if value and len(value) < 32:
            raise ValueError("a secret has at least 32 characters")
        return value

    @field_validator("secret_fallbacks", mode="before")
    @classmethod
    def secrets(cls, value: object) -> object:
        """Return the secrets of a list that is written with spaces or lines."""
        return [cls.long_enough(secret) for secret in value.split()] if isinstance(value, str) else value

    @field_validator("mail_command", mode="before")
    @classmethod
    def arguments(cls, value: object) -> object:
        """Return the arguments of a command that is written as a JSON list."""
        if not isinstance(value, str):
            return value
        try:
            command = json.loads(value)
        except ValueError:
            command = None
        if not isinstance(command, list) or not command or not all(isinstance(part, str) for part in command):
            raise ValueError('give the command as a JSON list, such as ["/usr/sbin/sendmail", "-t", "-i"]')
        return command

    @classmethod
    def at(cls, data_dir: Path, **values: object) -> Settings:
        """Return the settings of a data directory, with its SQLite database unless another is given."""
        values.setdefault("database_url", f"sqlite:///{data_dir / 'rackline.sqlite3'}")
        return cls.model_validate({"data_dir": data_dir, **values})

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read ``RACKLINE_…``; an empty variable counts as not set."""
        environment = os.environ if environment is None else environment
        settings: dict[str, object] = {
            field: value for name, field in VARIABLES.items() if (value := stated(environment, name))
        }
        data_dir = Path(str(settings.pop("data_dir", "") or default_data_dir(environment))).expanduser()
        try:
            return cls.at(data_dir.absolute(), **settings)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            name = f"RACKLINE_{str(first['loc'][0]).upper()}"
            message = "{name} cannot be used: {reason}"
            reason = first["msg"].removeprefix("Value error, ")
            raise BadInput.at(name, message, name=name, reason=reason) from None


VARIABLES = {f"RACKLINE_{field.upper()}": field for field in Settings.model_fields}
"""Environment variable → setting."""


def stated(environment: Mapping[str, str], name: str) -> str:
    """Return the value of a variable; of one that may hold a secret, perhaps the content of a file."""
    path = environment.get(f"{name}_FILE", "") if name in SECRETS else ""
    if not path:
        return environment.get(name, "")
    if environment.get(name):
        raise BadInput.at(name, "set {name} or {name}_FILE, not both", name=name)
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise BadInput.at(
            f"{name}_FILE", "{path} cannot be used: {reason}", path=path, reason=reason
        ) from None


def default_data_dir(environment: Mapping[str, str]) -> Path:
    """Return the user's directory for application data (XDG Base Directory Specification 0.8)."""
    base = environment.get("XDG_DATA_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share") / "rackline"
