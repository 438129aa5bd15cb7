"""Image references (Karmada: policies §4.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.render import image
from gitfed.render.image import Image

SHA = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.b/c", Image("a.b", "c")),
        ("localhost:5000/a/b:t", Image("localhost:5000", "a/b", "t")),
        ("localhost/x", Image("localhost", "x")),
        ("[::1]:5000/x:1", Image("[::1]:5000", "x", "1")),
        ("team/web", Image("", "team/web")),
        ("reg_x/app:1", Image("", "reg_x/app", "1")),
        ("busybox", Image("", "busybox")),
        ("a__b/c--d:x", Image("", "a__b/c--d", "x")),
        (f"r.io/x@{SHA}", Image("r.io", "x", "", SHA)),
        (f"r.io/x:1@{SHA}", Image("r.io", "x", "1", SHA)),
    ],
)
def test_a_reference_has_registry_repository_tag_and_digest(text: str, parts: Image) -> None:
    assert image.parse(text) == parts
    assert str(parts) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x:",
        "Foo:1",
        "-a/b",
        "a//b",
        "https://x/y",
        ".eu:81/search:1",
        "web@sha256:abc",
        "web@sha256:" + "A" * 64,
        "web@md5:" + "a" * 32,
        "web:" + "t" * 129,
        "a" * 256,
        "web:1\n",
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(image.ImageError):
        image.parse(text)


@pytest.mark.parametrize(
    ("component", "operator", "value", "long", "short"),
    [
        ("Tag", "replace", "v9", "reg.example:5000/team/web:v9", "busybox:v9"),
        ("Tag", "replace", SHA, f"reg.example:5000/team/web@{SHA}", f"busybox@{SHA}"),
        ("Tag", "replace", f"@{SHA}", "reg.example:5000/team/web:2.1", "busybox"),
        ("Tag", "add", "-rc1", "reg.example:5000/team/web:2.1-rc1", "busybox"),
        ("Tag", "remove", "", "reg.example:5000/team/web", "busybox"),
        ("Registry", "add", ".cn", "reg.example:5000.cn/team/web:2.1", ".cn/busybox"),
        ("Registry", "replace", "mirror.local", "mirror.local/team/web:2.1", "mirror.local/busybox"),
        ("Registry", "replace", "", "team/web:2.1", "busybox"),
        ("Registry", "remove", "", "team/web:2.1", "busybox"),
        ("Repository", "add", "-alpine", "reg.example:5000/team/web-alpine:2.1", "busybox-alpine"),
        ("Repository", "replace", "x/y", "reg.example:5000/x/y:2.1", "x/y"),
        ("Repository", "remove", "", "reg.example:5000/:2.1", ""),
    ],
)
def test_one_component_is_changed(component: str, operator: str, value: str, long: str, short: str) -> None:
    assert str(image.change(image.parse("reg.example:5000/team/web:2.1"), component, operator, value)) == long
    assert str(image.change(image.parse("busybox"), component, operator, value)) == short


def test_a_digest_beside_a_tag_survives_the_change_of_another_component() -> None:
    both = image.parse(f"r.io/x:1@{SHA}")
    assert str(image.change(both, "Registry", "replace", "m.io")) == f"m.io/x:1@{SHA}"
    assert str(image.change(both, "Repository", "add", "-y")) == f"r.io/x-y:1@{SHA}"


def test_a_new_tag_or_digest_takes_the_place_of_both() -> None:
    both = image.parse(f"r.io/x:1@{SHA}")
    assert str(image.change(both, "Tag", "replace", "2")) == "r.io/x:2"
    assert str(image.change(both, "Tag", "replace", OTHER)) == f"r.io/x@{OTHER}"
    assert str(image.change(both, "Tag", "remove", "")) == "r.io/x"


words = st.from_regex(r"[a-z0-9]+([._-][a-z0-9]+)?", fullmatch=True)


@given(
    st.sampled_from(["", "r.io", "localhost", "h:80", "[::1]:5000"]),
    st.lists(words, min_size=1, max_size=3),
    st.sampled_from(["", "1", "v1.2_x"]),
    st.sampled_from(["", SHA]),
)
def test_parsing_what_was_printed_is_identity(registry: str, path: list[str], tag: str, digest: str) -> None:
    text = "/".join([registry, *path] if registry else path)
    text += (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")
    assert str(image.parse(text)) == text
