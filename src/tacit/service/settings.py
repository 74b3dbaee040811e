"""The settings of the service: from a file, the environment and flags; the later wins."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from tacit.errors import FileError, ServiceError, unknown
from tacit.files import read_text
from tacit.service.collect.rate_limits import parse_limit

#: Names of environment variables begin with this; one more of them names the file.
PREFIX = "TACIT_"
CONFIG = "TACIT_CONFIG"


def _several(value: Any) -> Any:
    """A text stands for a list, separated by commas."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


class ServiceSettings(BaseModel):
    """How `tacit serve` runs; every field is a flag, a variable and a key of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    surveys: Annotated[tuple[Path, ...], BeforeValidator(_several)] = Field(
        default=(), description="Published surveys to serve, beside those already in the database."
    )
    database: str = Field(
        default="tacit.db",
        min_length=1,
        description="Where responses are kept: a file for SQLite, or postgresql://...",
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on.")
    port: int = Field(
        default=8000, ge=0, le=65535, description="Port to listen on; 0 takes any that is free."
    )
    rate: str = Field(
        default="600/minute",
        description="Submissions that one address may send, such as 600/minute, or off.",
    )
    open_rate: str = Field(
        default="6000/minute",
        description="Submissions that one open survey takes from everybody, or off.",
    )
    trusted_proxy: Annotated[tuple[IPv4Network | IPv6Network, ...], BeforeValidator(_several)] = (
        Field(
            default=(),
            description="Addresses or networks of proxies whose X-Forwarded-For is believed.",
        )
    )
    queue: int = Field(
        default=1000,
        ge=1,
        description="Responses that may wait to be stored, half as many as connections at most; "
        "more get 503.",
    )
    batch: int = Field(
        default=512,
        ge=1,
        le=10_000,
        description="Responses that are made durable together, at most.",
    )
    connections: int = Field(
        default=2000,
        ge=1,
        description="Connections at a time; idle ones give way, and if all are busy, more get 503.",
    )
    connections_per_address: int = Field(
        default=500,
        ge=1,
        description="Connections of one address at a time; those of trusted proxies do not count.",
    )
    request_seconds: float = Field(
        default=10.0, gt=0, description="Seconds for a whole request to arrive; else 408."
    )
    write_seconds: float = Field(
        default=5.0, gt=0, description="Seconds for the database to store a batch; else 503."
    )
    drain_seconds: int = Field(
        default=30, ge=1, description="Seconds for requests to end after SIGTERM or Ctrl-C."
    )
    metrics: bool = Field(default=False, description="Whether /metrics answers, for Prometheus.")
    log: Literal["auto", "json", "console"] = Field(
        default="auto", description="How logs look; auto is console on a terminal, else json."
    )

    @property
    def queue_length(self) -> int:
        """Responses that may wait: few enough that connections are left when the queue is full.

        Each response that waits, or is being stored, holds a connection.
        """
        return min(self.queue, max(1, self.connections // 2))

    @field_validator("trusted_proxy", mode="wrap")
    @classmethod
    def _networks(cls, value: Any, check: ValidatorFunctionWrapHandler) -> Any:
        try:
            return check(value)
        except ValidationError:
            raise ValueError(
                "must be addresses or networks, such as 10.0.0.1 or fd00::/8"
            ) from None

    @field_validator("rate", "open_rate")
    @classmethod
    def _limit(cls, value: str) -> str:
        try:
            parse_limit(value)
        except ValueError:
            raise ValueError("must be such as 600/minute or 20/second, or off") from None
        return value


def settings(
    flags: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    config: Path | None = None,
) -> ServiceSettings:
    """The settings of a run; flags that are None were not given.

    The file is `config`, else what the variable TACIT_CONFIG names.
    """
    file = config or (Path(environment[CONFIG]) if environment.get(CONFIG) else None)
    sources = [
        {} if file is None else _from_file(file),
        _from_environment(environment),
        {name: (value, option(name)) for name, value in flags.items() if value is not None},
    ]
    merged = {name: found for source in sources for name, found in source.items()}
    try:
        return ServiceSettings(**{name: value for name, (value, _) in merged.items()})
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][0])
        said = problem["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        raise ServiceError(f"{merged[name][1]}: {said}, got {merged[name][0]!r:.80}") from None


def option(name: str) -> str:
    """The flag of a setting."""
    return "PUBLISHED" if name == "surveys" else f"--{name.replace('_', '-')}"


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def _from_file(path: Path) -> dict[str, tuple[Any, str]]:
    try:
        found = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path}: not TOML: {error}") from None
    _check_known(found, f"{path}: ")
    return {name: (value, f"{path}: {name}") for name, value in found.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    """Only the known variables, since others may begin alike; an empty one counts as not set."""
    names = {variable(name): name for name in ServiceSettings.model_fields}
    return {
        names[key]: (value, key) for key, value in environment.items() if value and key in names
    }


def _check_known(names: Iterable[str], where: str) -> None:
    for name in names:
        if name not in ServiceSettings.model_fields:
            raise ServiceError(where + unknown("setting", name, ServiceSettings.model_fields))
