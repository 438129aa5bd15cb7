"""How the program says that it can be called again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gitfed.cli.output import formatting


def test_the_program_is_called_by_its_name_by_its_path_or_by_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "gitfed"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script), "demo"])
    monkeypatch.setenv("PATH", str(script.parent))
    assert formatting.program() == "gitfed"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert formatting.program() == str(script)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bin/gitfed", "demo"])
    assert formatting.program() == str(script)
    monkeypatch.setattr(sys, "argv", ["/somewhere/gitfed/__main__.py", "demo"])
    assert formatting.program() == f"{sys.executable} -m gitfed"
