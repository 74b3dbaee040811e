"""Settings: a file, the environment and flags, in this order; and their documentation."""

from __future__ import annotations

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import typer

from tacit.cli import command_line
from tacit.collect.http import PROBLEMS
from tacit.collect.settings import ServiceSettings, option, settings, variable
from tacit.errors import FileError, ServiceError

PAGE = Path(__file__).parents[3] / "docs" / "service.md"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tacit.toml"
    path.write_text('port = 1111\nhost = "0.0.0.0"\nrate = "5/minute"\nsurveys = ["a.json"]\n')
    return path


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ServiceSettings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)


def test_without_anything_the_defaults_hold() -> None:
    assert settings({}) == ServiceSettings()


def test_flags_win_over_the_environment_and_that_over_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PORT": "2222", "RATE": "off", "OTHER": "x"}.items():
        monkeypatch.setenv(f"TACIT_{name}", value)
    found = settings({"port": 3333, "host": None}, file)
    assert (found.port, found.rate, found.host) == (3333, "off", "0.0.0.0")
    assert found.surveys == (Path("a.json"),)
    monkeypatch.delenv("TACIT_PORT")
    monkeypatch.setenv("TACIT_CONFIG", str(file))
    assert settings({}).port == 1111


@pytest.mark.parametrize(("connections", "queue"), [(2000, 1000), (100, 50), (1, 1), (9000, 1000)])
def test_the_queue_is_full_before_connections_run_out(connections: int, queue: int) -> None:
    found = settings({"connections": connections})
    assert found.queue_length == queue
    assert settings({"connections": connections, "queue": 10**6}).queue_length == max(
        1, connections // 2
    )


def test_lists_in_the_environment_are_separated_by_commas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TACIT_SURVEYS", "a.json, b.json")
    monkeypatch.setenv("TACIT_TRUSTED_PROXY", "10.0.0.1,fd00::/8")
    monkeypatch.setenv("TACIT_METRICS", "true")
    monkeypatch.setenv("TACIT_PORT", "")
    monkeypatch.setenv("TACIT_CONFIG", "")
    found = settings({})
    assert found.surveys == (Path("a.json"), Path("b.json"))
    assert found.trusted_proxy == (ip_network("10.0.0.1/32"), ip_network("fd00::/8"))
    assert (found.metrics, found.port) == (True, 8000)


@pytest.mark.parametrize(
    ("flags", "environment", "said"),
    [
        ({"port": 70000}, {}, "--port: must be less than or equal to 65535, got 70000"),
        ({}, {"TACIT_PORT": "web"}, "TACIT_PORT: must be a valid integer"),
        ({"rate": "often"}, {}, "--rate: must be such as 600/minute or 20/second, or off"),
        ({"trusted_proxy": "me"}, {}, "--trusted-proxy: must be addresses or networks, such as"),
        ({"batch": 10**6}, {}, "--batch: must be less than or equal to 10000"),
        ({"log": "loud"}, {}, "--log: must be 'auto', 'json' or 'console', got 'loud'"),
        ({"queue": 0}, {}, "--queue: must be greater than or equal to 1, got 0"),
        ({"request_seconds": -1.0}, {}, "--request-seconds: must be greater than 0"),
    ],
)
def test_a_wrong_setting_is_an_error_with_its_origin(
    flags: dict[str, Any], environment: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ServiceError) as error:
        settings(flags)
    assert said in str(error.value)


def test_a_wrong_file_is_an_error_with_its_place(file: Path) -> None:
    file.write_text("prot = 1")
    with pytest.raises(
        ServiceError, match=r"tacit.toml: unknown setting 'prot'; did you mean 'port'"
    ):
        settings({}, file)
    file.write_text("port = \n")
    with pytest.raises(FileError, match=r"tacit.toml: not TOML: .*line 1"):
        settings({}, file)
    file.write_text("port = -1")
    with pytest.raises(ServiceError, match=r"tacit.toml: port: must be greater"):
        settings({}, file)
    with pytest.raises(FileError, match="no such file"):
        settings({}, file.with_name("none.toml"))


def shown(value: Any) -> str:
    """A default as the page writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value or "none")


def test_the_page_documents_every_setting() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| `([^`]+)` \| `([^`]+)` \| (.+?) \| (.+?) \|$",
        PAGE.read_text(),
        re.MULTILINE,
    )
    expected = [
        (name, option(name), variable(name), shown(field.default), field.description)
        for name, field in ServiceSettings.model_fields.items()
    ]
    assert [(n, o, v, d.strip("`"), s) for n, o, v, d, s in rows] == expected


def test_the_example_file_is_right() -> None:
    found = settings({}, PAGE.parent / "examples" / "tacit.toml")
    assert found.trusted_proxy == (ip_network("127.0.0.1/32"), ip_network("::1/128"))


def test_the_page_documents_every_problem() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (\d+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    expected = [(problem.name, str(problem.status), problem.title) for problem in PROBLEMS]
    assert rows == expected


def test_the_help_has_every_setting_with_its_default() -> None:
    command: Any = typer.main.get_command(command_line()).commands["serve"]
    given = {p.name: p for p in command.params}
    assert given.keys() >= ServiceSettings.model_fields.keys()
    for name, field in ServiceSettings.model_fields.items():
        if name != "surveys":
            text = {False: "no", (): "none", 10.0: "10", 5.0: "5"}.get(
                field.default, str(field.default)
            )
            assert f"({text})" in given[name].help, name
