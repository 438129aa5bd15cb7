"""How often clusters are looked at, and when one counts as failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gitfed.cli.parameters import Command, Duration, gathered, option

if TYPE_CHECKING:
    from gitfed.daemon.fleet.cluster_health import Timing
    from gitfed.placement.recorded_facts import Thresholds

_Option = Callable[[Any], Any]


def thresholds(*, failure: str, success: str) -> Callable[[Command], Command]:
    """--cluster-failure-threshold and --cluster-success-threshold, with these helps → `thresholds: Thresholds`."""
    return lambda command: gathered(command, "thresholds", _thresholds(failure, success), _to_thresholds)


def timing(*, frequency: str, failure: str, success: str) -> Callable[[Command], Command]:
    """--cluster-status-update-frequency and the thresholds, with these helps → `timing: Timing`."""
    options = (_duration("--cluster-status-update-frequency", 10.0, frequency), *_thresholds(failure, success))
    return lambda command: gathered(command, "timing", options, _to_timing)


def _thresholds(failure: str, success: str) -> tuple[_Option, ...]:
    return (
        _duration("--cluster-failure-threshold", 30.0, failure),
        _duration("--cluster-success-threshold", 30.0, success),
    )


def _duration(name: str, default: float, text: str) -> _Option:
    return option(name, type=Duration(), metavar="DURATION", default=default, help=f"{text}  [default: {default:g}s]")


def _to_thresholds(values: Mapping[str, Any]) -> Thresholds:
    from gitfed.placement.recorded_facts import Thresholds

    return Thresholds(values["cluster_failure_threshold"], values["cluster_success_threshold"])


def _to_timing(values: Mapping[str, Any]) -> Timing:
    from gitfed.daemon.fleet.cluster_health import Timing

    return Timing(max(values["cluster_status_update_frequency"], 0.1), _to_thresholds(values))
