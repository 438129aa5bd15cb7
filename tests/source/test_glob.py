"""Include and exclude patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.source import glob


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("**/*.yaml", ["a.yaml", "x/a.yaml", "x/y/a.yaml"], ["a.yml", "a.yaml.txt/b"]),
        ("*.yaml", ["a.yaml", "x/y/a.yaml"], ["a.yml"]),
        ("/*.yaml", ["a.yaml"], ["x/a.yaml"]),
        (".github/**", [".github/a", ".github/x/y"], [".github", "x/.github/a"]),
        ("docs", ["docs", "docs/a", "x/docs/a"], ["docs2/a"]),
        ("docs/", ["docs/a", "x/docs/y/a"], ["docs2/a"]),
        ("/docs", ["docs/a"], ["x/docs/a"]),
        ("a/**/z.yaml", ["a/z.yaml", "a/b/c/z.yaml"], ["z.yaml", "b/a/z.yaml"]),
        ("apps/*/base", ["apps/x/base/a.yaml"], ["apps/base/a.yaml", "apps/x/y/base/a"]),
        ("a?.yaml", ["ab.yaml"], ["a/.yaml", "a.yaml"]),
        ("[ab].yaml", ["a.yaml"], ["c.yaml"]),
        ("[!ab].yaml", ["c.yaml"], ["a.yaml"]),
        ("**", ["a", "a/b"], []),
        ("./a.yaml", ["a.yaml"], ["x/a.yaml"]),
        ("**/**/x", ["x", "a/b/x"], ["y"]),
    ],
)
def test_patterns_mean_what_gitignore_means(pattern: str, yes: list[str], no: list[str]) -> None:
    compiled = glob.compile_all([pattern])
    assert [path for path in yes if not compiled.match(path)] == []
    assert [path for path in no if compiled.match(path)] == []


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("**/*.yaml", ["a.yaml", "x/a.yaml"], [".a.yaml", "x/.a.yaml", ".x/a.yaml", "x/.y/z/a.yaml"]),
        ("*.yml", ["a.yml"], [".gitlab-ci.yml"]),
        ("apps", ["apps/a.yaml"], ["apps/.x/a.yaml", "apps/.a.yaml"]),
        ("apps/**", ["apps/x/a.yaml"], ["apps/.x/a.yaml", "apps/x/.a.yaml"]),
        ("**", ["a"], [".a", ".x/a"]),
        ("?a.yaml", ["xa.yaml"], [".a.yaml"]),
        (".k8s/**", [".k8s/a.yaml", ".k8s/x/a.yaml"], [".k8s/.x/a.yaml", ".other/a.yaml"]),
        (".k8s", [".k8s/a.yaml", "x/.k8s/a.yaml"], [".k8s/.a.yaml"]),
        ("**/.*.yaml", [".a.yaml", "x/.a.yaml"], ["a.yaml", ".x/.a.yaml"]),
        ("**/*.yaml", [".git/a.yaml", "../a.yaml"], []),
    ],
)
def test_hidden_names_are_matched_only_by_patterns_that_write_the_dot(
    pattern: str, yes: list[str], no: list[str]
) -> None:
    """But for those that no file may have: whoever reads refuses them aloud."""
    compiled = glob.compile_all([pattern], hidden=False)
    assert [path for path in yes if not compiled.match(path)] == []
    assert [path for path in no if compiled.match(path)] == []


def test_no_pattern_matches_nothing() -> None:
    assert not glob.compile_all([]).match("a")


@given(st.text("a*?/[]!.", min_size=1, max_size=12), st.text("ab/.", min_size=1, max_size=12))
def test_no_pattern_raises(pattern: str, path: str) -> None:
    glob.compile_all([pattern]).match(path)


def test_patterns_made_to_backtrack_end() -> None:
    compiled = glob.compile_all(["**/" * 50 + "*a" * 50 + "/b"])
    assert not compiled.match("a" * 200 + "/" + "a/" * 200 + "c")
