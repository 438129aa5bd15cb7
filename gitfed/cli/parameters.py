"""How an option of a command is declared: its types, its variable of the environment, and how several reach the command
as one value, so that commands have few parameters."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from gitfed.text import duration

Command = TypeVar("Command", bound=Callable[..., Any])


class Rfc3339(click.ParamType[datetime]):
    """A time with its offset. A time without one would mean another moment on every machine."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            when = datetime.fromisoformat(value.strip().replace("Z", "+00:00").replace("z", "+00:00"))
        except ValueError:
            self.fail(f"{value!r} is not an RFC 3339 time, such as 2026-08-22T10:04:00Z", param, ctx)
        if when.tzinfo is None or "T" not in value.upper():
            self.fail(
                f"{value!r} is not an RFC 3339 time: date, time and offset, such as 2026-08-22T10:04:00Z", param, ctx
            )
        return when.astimezone(UTC)


class Duration(click.ParamType[float]):
    """Kubernetes' durations: `90s`, `10m`, `1h30m`. The value is in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        seconds = duration.seconds(value)
        if seconds is None:
            self.fail(f"{value!r} is not a duration, such as 90s, 10m or 1h30m", param, ctx)
        return seconds


class Files(click.Path):
    def __init__(self, **settings: Any) -> None:
        super().__init__(path_type=Path, **settings)


class _Own(click.Option):
    """Its variable is called as people write the option; click would take what the command calls its value."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        name = self._variable(ctx)
        return os.environ.get(name) or None if name else super().resolve_envvar_value(ctx)

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra, name = super().get_help_extra(ctx), self._variable(ctx)
        return extra | {"envvars": (name,)} if name else extra

    def get_error_hint(self, ctx: click.Context | None) -> str:
        hint, name = super().get_error_hint(ctx), self._variable(ctx) if ctx is not None else ""
        return f"{hint} (env var: '{name}')" if name else hint

    def _variable(self, ctx: click.Context) -> str:
        long = next((name for name in self.opts if name.startswith("--")), "")
        if ctx.auto_envvar_prefix is None or not long:
            return ""
        return f"{ctx.auto_envvar_prefix}_{long[2:].replace('-', '_').upper()}"


def option(*names: str, shared: bool = True, **settings: Any) -> Callable[[Command], Command]:
    """A click option with its variable: `GITFED_<OPTION>` for shared ones, else `GITFED_<COMMAND>_<OPTION>`."""
    if shared:
        long = next(name for name in names if name.startswith("--"))
        variable = settings.pop("envvar", None) or f"GITFED_{long[2:].split('/')[0].replace('-', '_').upper()}"
        return click.option(*names, envvar=variable, show_envvar=True, **settings)
    return click.option(*names, show_envvar=True, cls=_Own, **settings)


def value(name: str, kind: type[Any]) -> Callable[[Command], Command]:
    """Hand the options that are called as the fields of this dataclass to the command as one value, `name`. It stands
    below the options: a command with many has a value for each idea."""
    fields = [field.name for field in dataclasses.fields(kind)]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapper(*args: Any, **values: Any) -> Any:
            values[name] = kind(**{field: values.pop(field) for field in fields})
            return command(*args, **values)

        wrapped: Any = wrapper
        result: Command = wrapped
        return result

    return decorate


def is_typed(name: str) -> bool:
    """Whether this parameter stands on the command line, and not in the environment only."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def gathered(
    command: Command,
    name: str,
    options: tuple[Callable[[Any], Any], ...],
    build: Callable[[Mapping[str, Any]], object],
) -> Command:
    """Adds options; their values reach the command as one argument `name`."""
    probe_function: Any = lambda: None  # noqa: E731 - click collects decorators' options on a function
    for add in reversed(options):
        probe_function = add(probe_function)
    members = [parameter.name for parameter in probe_function.__click_params__]

    @functools.wraps(command)
    def wrapper(*args: Any, **values: Any) -> Any:
        values[name] = build({member: values.pop(member) for member in members if member is not None})
        return command(*args, **values)

    wrapped: Any = wrapper
    for add in reversed(options):
        wrapped = add(wrapped)
    result: Command = wrapped
    return result
