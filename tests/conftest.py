"""What holds for every test: no test is judged by the clock; what could not run and what failed is named at the end."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests import failed, needs

# A deadline per example, or a complaint that data came slowly, would be an assertion about the machine's load.
settings.register_profile("gitfed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gitfed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in needs.not_run(terminalreporter.getreports("skipped")):
        terminalreporter.write_line(line)
    for line in failed.lines(terminalreporter.getreports("error") + terminalreporter.getreports("failed")):
        terminalreporter.write_line(line)
