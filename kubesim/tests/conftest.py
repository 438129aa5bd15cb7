"""What holds for every test: properties are tried with the same examples every time, no test is judged by the clock,
and what could not run for want of a program is named at the end."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests import needs

for name in [name for name in os.environ if name.lower().endswith("_proxy") or name == "KUBECONFIG"]:
    del os.environ[name]

settings.register_profile("kubesim", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("kubesim")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in needs.not_run(terminalreporter.getreports("skipped")):
        terminalreporter.write_line(line)
