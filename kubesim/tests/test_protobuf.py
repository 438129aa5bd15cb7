"""Kubernetes' binary form, read into JSON."""

from __future__ import annotations

import pytest

from kubesim import protobuf


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def envelope(version: str, kind: str, raw: bytes) -> bytes:
    return protobuf.PREFIX + field(1, field(1, version.encode()) + field(2, kind.encode())) + field(2, raw)


def entry(key: bytes, value: bytes) -> bytes:
    return field(1, key) + field(2, value)


def test_text_maps_and_bytes() -> None:
    meta = field(1, b"c") + field(11, entry(b"k", b"v"))
    raw = field(1, meta) + field(2, entry(b"a", b"b")) + field(3, entry(b"x", b"\x00\xff")) + field(4, 1)
    assert protobuf.decode(envelope("v1", "ConfigMap", raw)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "labels": {"k": "v"}},
        "data": {"a": "b"},
        "binaryData": {"x": "AP8="},
        "immutable": True,
    }


def test_numbers_may_be_negative_and_lists_repeat() -> None:
    toleration = field(1, b"k") + field(5, -1)
    spec = field(22, toleration) + field(22, field(1, b"l")) + field(4, -5)
    assert protobuf.decode(envelope("v1", "Pod", field(2, spec)))["spec"] == {
        "tolerations": [{"key": "k", "tolerationSeconds": -1}, {"key": "l"}],
        "terminationGracePeriodSeconds": -5,
    }


def test_quantities_times_and_ports_have_their_usual_form() -> None:
    hard = entry(b"pods", field(1, b"10"))
    quota = protobuf.decode(envelope("v1", "ResourceQuota", field(2, field(1, hard))))
    assert quota["spec"] == {"hard": {"pods": "10"}}
    created = protobuf.decode(envelope("v1", "Namespace", field(1, field(8, field(1, 1_767_225_600)))))
    assert created["metadata"] == {"creationTimestamp": "2026-01-01T00:00:00Z"}
    by_number, by_name = field(4, field(1, 0) + field(2, 8080)), field(4, field(1, 1) + field(3, b"http"))
    service = protobuf.decode(envelope("v1", "Service", field(2, field(1, by_number) + field(1, by_name))))
    assert [port["targetPort"] for port in service["spec"]["ports"]] == [8080, "http"]


def test_an_inlined_message_belongs_to_the_object_around_it() -> None:
    volume = field(1, b"data") + field(2, field(2, field(1, b"Memory")))
    pod = protobuf.decode(envelope("v1", "Pod", field(2, field(1, volume))))
    assert pod["spec"]["volumes"] == [{"name": "data", "emptyDir": {"medium": "Memory"}}]


def test_fields_newer_than_the_table_are_passed_over() -> None:
    assert protobuf.decode(envelope("v1", "Namespace", field(999, b"x")))["kind"] == "Namespace"


BAD = {
    "no prefix": b"{}",
    "a kind nobody knows": envelope("v1", "Nothing", b""),
    "a field that is cut off": envelope("v1", "Namespace", field(1, b"name")[:-2] + b"\xff"),
    "a number that never ends": protobuf.PREFIX + b"\x80" * 3,
    "groups": protobuf.PREFIX + varint(1 << 3 | 3),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(protobuf.ProtobufError):
        protobuf.decode(data)
