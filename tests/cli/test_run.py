"""What `gitfed run` refuses before it begins."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gitfed.cli.main import cli


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--leader-elect", "--leader-elect-lease-duration", "5s"],
            "lease duration 5s, renew deadline 40s and retry period 15s: the first must be longer than the second, "
            "and that longer than 1.2 times the third, which is a second at least",
        ),
        (
            ["--leader-elect", "--leader-elect-context", "hub", "--leader-elect-retry-period", "9s"],
            "lease duration 15s, renew deadline 10s and retry period 9s: the first must be longer than the second, "
            "and that longer than 1.2 times the third, which is a second at least",
        ),
        (
            ["--forge", "bitbucket", "--repo", "https://git.example/scm/ops/fleet.git"],
            "https://git.example/scm/ops/fleet.git is not on Bitbucket Cloud, and of Bitbucket Data Center gitfed "
            "knows no statuses",
        ),
        (["--health-address", "here"], "--health-address 'here' is not HOST:PORT"),
    ],
)
def test_settings_that_cannot_work_are_bad_usage(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    result = CliRunner().invoke(cli, ["run", *arguments], standalone_mode=True)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
