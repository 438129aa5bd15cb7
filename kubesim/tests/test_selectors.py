"""Selectors of a query: what they mean and what is wrong with them."""

from __future__ import annotations

import pytest

from kubesim import status
from kubesim.kind import Kind
from kubesim.server import field_selectors, selectors

LABELS = {"app": "web", "tier": "front", "size": "5"}
POD = Kind(group="", version="v1", kind="Pod", plural="pods", field_labels={"spec.nodeName": lambda body: body["node"]})
MAP = Kind(group="", version="v1", kind="ConfigMap", plural="configmaps")


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("", True),
        ("app=web", True),
        ("app==db", False),
        ("app!=db", True),
        ("none!=x", True),
        ("app in (web,db)", True),
        ("app notin (web)", False),
        ("none notin (web)", True),
        ("app", True),
        ("!app", False),
        ("!none", True),
        ("size>4", True),
        ("size<4", False),
        ("app>1", False),
        ("app=", False),
        ("none=", False),
        ("app=web,tier in (front,back),!none", True),
        ("app in ()", False),
        ("app in (,web)", True),
        ("example.com/x notin (a)", True),
    ],
)
def test_a_label_selector_means_what_it_says(text: str, fits: bool) -> None:
    assert selectors.matches(selectors.parse_labels(text), LABELS) is fits


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a,", "found '', expected: identifier after ','"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        (
            "a>9223372036854775808",
            'unable to parse requirement: values[0]: Invalid value: "9223372036854775808": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
    ],
)
def test_a_label_selector_that_cannot_be_read_is_400(text: str, complaint: str) -> None:
    with pytest.raises(status.ApiError) as caught:
        selectors.parse_labels(text)
    assert (caught.value.code, str(caught.value)) == (400, complaint)


def test_a_field_selector_reads_the_fields_its_kind_knows() -> None:
    chosen, pinned = field_selectors.parse("metadata.name=a,spec.nodeName!=n1", POD)
    assert pinned == {"metadata.name": "a"}
    assert field_selectors.matches(chosen, {"metadata": {"name": "a"}, "node": "n2"})
    assert not field_selectors.matches(chosen, {"metadata": {"name": "a"}, "node": "n1"})


@pytest.mark.parametrize(
    ("kind", "text", "complaint"),
    [
        (MAP, "data.k=v", '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        (POD, "spec.x=v", "field label not supported: spec.x"),
        (MAP, "metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
    ],
)
def test_a_field_selector_with_an_unknown_field_is_400(kind: Kind, text: str, complaint: str) -> None:
    with pytest.raises(status.ApiError) as caught:
        field_selectors.parse(text, kind)
    assert (caught.value.code, str(caught.value)) == (400, complaint)


def test_a_comma_can_be_escaped_in_a_field_selector() -> None:
    chosen, pinned = field_selectors.parse("metadata.name=a\\,b", MAP)
    assert pinned == {"metadata.name": "a,b"}
    assert len(chosen) == 1
