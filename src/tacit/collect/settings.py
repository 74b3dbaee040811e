"""The settings of the service, from a TOML file, environment variables and flags; the last wins."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode, SettingsConfigDict

from tacit.collect.limits import parse_limit
from tacit.errors import FileError, ServiceError, unknown
from tacit.records import read_text

#: Prefix of the environment variables; CONFIG names the file.
PREFIX = "TACIT_"
CONFIG = "TACIT_CONFIG"


def _split(value: Any) -> Any:
    """Split a text at its commas; leave a list as it is."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def networks(value: Any) -> tuple[IPv4Network | IPv6Network, ...]:
    """Addresses or networks, as a list or a text with commas. Raises ValueError."""
    try:
        return tuple(ip_network(part) for part in _split(value))
    except (TypeError, ValueError):
        raise ValueError("must be addresses or networks, such as 10.0.0.1 or fd00::/8") from None


class ServiceSettings(BaseSettings):
    """How `tacit serve` runs; every field is a flag, a variable and a key of the file."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=PREFIX,
        env_ignore_empty=True,
        use_attribute_docstrings=True,
    )

    surveys: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split)] = ()
    """Published surveys to serve, beside those already in the database."""
    database: str = Field(default="tacit.db", min_length=1)
    """Where responses are kept: a file for SQLite, or postgresql://..."""
    host: str = Field(default="127.0.0.1", min_length=1)
    """Address to listen on."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Port to listen on; 0 takes any that is free."""
    reuse_port: bool = False
    """Whether several servers on this machine may listen on the port."""
    rate: str = "600/minute"
    """Submissions that one address may send, such as 600/minute, or off."""
    open_rate: str = "6000/minute"
    """Submissions that one open survey takes from everybody, or off."""
    trusted_proxy: Annotated[
        tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(networks)
    ] = ()
    """Addresses or networks of proxies whose X-Forwarded-For is believed."""
    queue: int = Field(default=1000, ge=1)
    """Responses that may wait to be stored, half as many as connections at most; more get 503."""
    batch: int = Field(default=512, ge=1, le=10_000)
    """Responses that are made durable together, at most."""
    connections: int = Field(default=2000, ge=1)
    """Connections at a time; idle ones give way, and if all are busy, more get 503."""
    connections_per_address: int = Field(default=500, ge=1)
    """Connections of one address at a time; those of trusted proxies do not count."""
    request_seconds: float = Field(default=10.0, gt=0)
    """Seconds for a whole request to arrive; else 408."""
    write_seconds: float = Field(default=5.0, gt=0)
    """Seconds for the database to store a batch; else 503."""
    drain_seconds: int = Field(default=30, ge=1)
    """Seconds for requests to end after SIGTERM or Ctrl-C."""
    metrics: bool = False
    """Whether /metrics answers, for Prometheus."""
    log: Literal["auto", "json", "console"] = "auto"
    """How logs look; auto is console on a terminal, else json."""

    @property
    def queue_length(self) -> int:
        """Responses that may wait: at most half as many as connections.

        Each waiting response holds a connection, so some stay free when the queue is full.
        """
        return min(self.queue, max(1, self.connections // 2))

    @field_validator("rate", "open_rate")
    @classmethod
    def _limit(cls, value: str) -> str:
        parse_limit(value)
        return value


def settings(flags: Mapping[str, Any], config: Path | None = None) -> ServiceSettings:
    """The settings of a run; a flag that is None was not given.

    The file is `config`, or else the one that the variable TACIT_CONFIG names.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    named = config or os.environ.get(CONFIG)
    try:
        from_file = tomllib.loads(read_text(named)) if named else {}
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{named}: not TOML: {error}") from None
    from_environment = EnvSettingsSource(ServiceSettings)()
    merged = {**from_file, **from_environment, **given}
    try:
        return ServiceSettings(**merged)
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][0])
        if problem["type"] == "extra_forbidden":
            what = unknown("setting", name, ServiceSettings.model_fields)
            raise ServiceError(f"{named}: {what}") from None
        origin = variable(name) if name in from_environment else f"{named}: {name}"
        origin = option(name) if name in given else origin
        what = problem["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        raise ServiceError(f"{origin}: {what}, got {merged[name]!r:.80}") from None


def option(name: str) -> str:
    """The flag of a setting."""
    return "PUBLISHED" if name == "surveys" else f"--{name.replace('_', '-')}"


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()
