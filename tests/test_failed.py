"""A failed test is named with its assertion at the end of the run, with one process and with several."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

SAMPLE = """\
import os
import pytest
def test_wrong():
    found = [1, 2]
    assert found == [1, 3], "the second" + " very long" * 60
def test_right(): pass
@pytest.fixture
def broken(): raise OSError("no disk")
def test_without_its_fixture(broken): pass
"""


def run(folder: Path, *arguments: str) -> str:
    """What pytest prints for the tests of a folder, shortened as for a person: where these two are set, it is not."""
    environment = {name: value for name, value in os.environ.items() if name not in {"CI", "BUILD_NUMBER"}}
    command = [sys.executable, "-m", "pytest", "-q", "-rN", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--rootdir", str(folder), "-c", "/dev/null", *arguments, str(folder)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("processes", ["0", "2"])
def test_the_end_of_a_run_says_what_failed_and_how(tmp_path: Path, processes: str) -> None:
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    before, title, after = run(tmp_path, "-n", processes).rpartition("What failed:\n")
    assert title
    assert "test_wrong" in before  # the whole report is above
    *paragraphs, counts = after.splitlines()
    very = " very long" * 60
    assert paragraphs == [
        "FAILED test_sample.py::test_without_its_fixture (setup)",
        f"    {tmp_path}/test_sample.py:8: OSError: no disk"[:204],
        "FAILED test_sample.py::test_wrong",
        f"    {tmp_path}/test_sample.py:5: AssertionError: the second{very}"[:204],
        "    assert [1, 2] == [1, 3]",
        "      ",
        "      At index 1 diff: 2 != 3",
        "      Use -v to get more diff",
    ]
    assert "1 failed, 1 passed, 1 error" in counts


def test_a_file_that_cannot_be_read_as_python_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text("def broken(:\n")
    after = run(tmp_path).rpartition("What failed:\n")[2].splitlines()
    assert after[0] == "FAILED test_sample.py (collect)"
    assert "    E   SyntaxError: invalid syntax" in after


def test_a_worker_that_dies_is_named_with_what_it_was_doing(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text("import os\ndef test_dies(): os._exit(3)\n")
    after = run(tmp_path, "-n", "1", "--max-worker-restart", "0").rpartition("What failed:\n")[2].splitlines()
    assert after[:2] == [
        "FAILED test_sample.py::test_dies",
        "    worker 'gw0' crashed while running 'test_sample.py::test_dies'",
    ]


def test_a_run_without_a_failure_has_no_such_paragraph(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text("def test_right(): pass\n")
    assert "failed" not in run(tmp_path)
