"""One repository of hostile manifests, through the real program: every file has its message, none harms another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.safety import bounded
from tests.safety.objects import CLUSTERS, SETTINGS, Objects, config

HEAD = "apiVersion: v1\nkind: ConfigMap\n"
LAUGHS = "a: &a [x, x, x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefghi", "bcdefghij", strict=True))  # fmt: skip  # noqa: E501
MERGES = "m0: &m0 {k0: v}\n" + "".join(
    f"m{n}: &m{n} {{{', '.join(f'k{n}x{i}: {{<<: *m{n - 1}}}' for i in range(10))}}}\n" for n in range(1, 10)
)

FATAL: Mapping[str, tuple[bytes, str]] = {
    "aliases.yaml": (LAUGHS.encode(), "aliases expand to more than 2000000 bytes"),
    "itself.yaml": (b"a: &a [*a]\n", "1:8: the alias *a stands inside the value it names"),
    "merges.yaml": (MERGES.encode(), "aliases expand to more than 2000000 bytes"),
    "documents.yaml": (b"---\n" * 100_000, "more than 10000 documents in one file"),
    "scalar.yaml": (b"a: " + b"x" * 7_000_000, "1:4: a text of more than 1500000 characters"),
    "large.yaml": (b"a: " + b"x" * 10_000_000, "the file has 10000003 bytes, at most 8388608 are read (split it)"),
    "flow.yaml": (b"[" * 10_000, "nested more than 100 levels deep"),
    "block.yaml": (b"- " * 10_000 + b"x", "nested more than 100 levels deep"),
    "keys.yaml": (b"".join(b"%ba:\n" % (b" " * n) for n in range(2000)), "nested more than 100 levels deep"),
    "deep.json": (b'{"a":' * 10_000, "nested more than 1000 levels deep"),
    "twice.yaml": (b"kind: A\na: 1\na: 2\n", "3:1: the key a stands twice (first on line 2)"),
    "tab.yaml": (b"a:\n\tb: 1\n", "2:1: a tab cannot indent YAML (use spaces)"),
    "object.yaml": (
        b"kind: A\na: !!python/object/apply:os.system [id]\n",
        "2:4: the tag !!python/object/apply:os.system is not",
    ),
    "infinite.yaml": (b"kind: A\na: 1e400\n", "2:4: 1e400 is not a number that JSON can hold (quote it if it is text)"),
    "nan.yaml": (b"kind: A\na: .nan\n", "2:4: .nan is not a number that JSON can hold (quote it if it is text)"),
    "digits.yaml": (b"kind: A\na: " + b"9" * 1_000_000 + b"\n", "2:4: 9999"),
    "half-utf16.yaml": (b"\xff\xfea\x00:", "not UTF-16 text (save the file as UTF-8)"),
    "latin1.yaml": (b"a: caf\xe9\n", "not UTF-8 text (save the file as UTF-8)"),
    "nul.yaml": (b"a: b\0c\n", "the character U+0000 is not allowed in YAML"),
    "open.yaml": (b"a: 'never closed\n" + b"x\n" * 500_000, "not valid YAML"),
    "cut.json": (b'{"apiVersion": "v1", "kind": "Conf', "cut.json:1:"),
    "one.yaml": (b"just text\n", "1:1: a document must be an object, not a single value"),
    "kindless.yaml": (b"apiVersion: v1\nmetadata: {name: a}\n", "1:1: not a Kubernetes object: kind missing"),
    "megabyte.yaml": (config("big", "{a: " + "x" * 1_100_000 + "}").encode(), "an API server takes at most 1048576"),
    "slash.yaml": (HEAD.encode() + b"metadata: {name: a/b}\n", "3:12: the name a/b "),
    "upper.yaml": (HEAD.encode() + b"metadata: {name: Web}\n", "3:12: the name Web "),
    "long.yaml": (HEAD.encode() + b"metadata: {name: " + b"n" * 300 + b"}\n", "3:12: the name nnn"),
    "label.yaml": (
        HEAD.encode() + b"metadata: {name: a, labels: {app: " + b"l" * 64 + b"}}\n",
        "3:30: the value of the label app ",
    ),
    "nested.yaml": (
        b"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n"
        b"  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: Inner}\n",
        "9:16: the name Inner ",
    ),
}

FINE: Mapping[str, tuple[bytes, str]] = {
    "bom.yaml": (b"\xef\xbb\xbf" + config("bom").encode(), ""),
    "utf16.yaml": (config("wide").encode("utf-16"), ""),
    "norway.yaml": (config("norway", "{country: NO}").encode(), "4:17: warning: NO is read as false"),
    "octal.yaml": (config("octal", '{mode: "0o17", when: "2001-01-01"}').encode(), ""),
    "other-namespace.yaml": (config("good").replace("shop", "elsewhere").encode(), ""),
    "unknown-kind.yaml": (b"apiVersion: v1\nkind: Pood\nmetadata: {name: a}\n", "warning: Kubernetes has no kind Pood"),
    "custom.yaml": (b"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: shop}\n", ""),
    "good.yaml": (config("good").encode(), ""),
    "scoped.yaml": (
        b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: b}\n",
        "3:21: warning: Namespace is cluster-scoped: its namespace is ignored (remove it)",
    ),
}


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> bounded.Ended:
    directory = tmp_path_factory.mktemp("manifests")
    store = Objects.create(directory / "fleet.git")
    files = {path: content for path, (content, _) in {**FATAL, **FINE}.items()}
    store.load({"gitfed.yaml": (SETTINGS + CLUSTERS).encode(), **files})
    return bounded.gitfed("validate", "--repo", store.path, cwd=directory)


@pytest.mark.parametrize("path", [path for path, (_, said) in {**FATAL, **FINE}.items() if said])
def test_each_hostile_file_has_a_message_with_its_place(validated: bounded.Ended, path: str) -> None:
    said = {**FATAL, **FINE}[path][1]
    lines = [line for line in validated.said.splitlines() if line.startswith(f"{path}:")]
    assert any(said in line for line in lines), lines


def test_good_files_beside_them_are_read_and_have_no_message(validated: bounded.Ended) -> None:
    for path, (_, said) in FINE.items():
        assert said or not [line for line in validated.out.splitlines() if line.startswith(f"{path}:")], path
    assert f"{len(FINE)} objects" in validated.err


def test_the_program_ends_with_3_and_prints_little(validated: bounded.Ended) -> None:
    assert validated.code == 3, validated.err[-500:]
    assert len(validated.said) < 40_000
    assert max(map(len, validated.said.splitlines())) < 1000
    assert "Traceback" not in validated.said


def test_two_files_with_one_object_are_both_named(tmp_path: Path) -> None:
    store = Objects.create(tmp_path / "fleet.git")
    files = {"one.yaml": config("same"), "two.yaml": config("same", "{a: other}"), "gitfed.yaml": SETTINGS}
    store.load({path: text.encode() for path, text in files.items()})
    done = bounded.gitfed("validate", "--repo", store.path, cwd=tmp_path)
    assert done.code == 3
    said = "one.yaml:1:1: two files define ConfigMap shop/same: one.yaml:1:1 and two.yaml:1:1 (remove one)"
    assert said in done.out


@pytest.mark.parametrize(
    "content",
    [
        b"? " * 2_000_000,
        b"&a " * 2_000_000,
        b"!!x " * 1_500_000,
        b"{a: " * 1_500_000,
        b"a: |\n" + b" " * 7_000_000,
        b"\n" * 8_000_000,
        b"#" * 8_000_000,
        b"a" * 8_000_000,
        b"'" * 8_000_000,
        b"%TAG ! x\n" * 800_000,
        b"- a\n" * 1_500_000,
        b"".join(b"k%d: v\n" % n for n in range(600_000)),
    ],
    ids=lambda content: repr(content[:8]),
)
def test_no_eight_megabytes_take_more_than_a_sane_time_to_refuse(content: bytes, tmp_path: Path) -> None:
    """The kernel is the judge: a process that computes for a minute or wants gigabytes is ended, and has no code 3."""
    store = Objects.create(tmp_path / "fleet.git")
    store.load({"gitfed.yaml": SETTINGS.encode(), "hostile.yaml": content[: 8 * 1024 * 1024], "good.yaml": config("g").encode()})  # fmt: skip  # noqa: E501
    done = bounded.gitfed("validate", "--repo", store.path, cwd=tmp_path)
    assert done.code in (0, 3), done.err[-500:]
    assert "1 object" in done.said
