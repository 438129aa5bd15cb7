"""Which copies of what a Secret holds are told of, and what is no secret although a Secret holds it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from gitfed.planning.objects import secret_leaks
from gitfed.source import repo
from tests.source.trees import tree

KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
PEM = f"-----BEGIN PRIVATE KEY-----\n{KEY}\nq83ZVbF0T2xkbGluZXMgYXJlIGxvbmcsIHRvbw\n-----END PRIVATE KEY-----\n"
CERTIFICATE = f"-----BEGIN CERTIFICATE-----\n{KEY}\n-----END CERTIFICATE-----\n"
SOURCES = json.dumps({"apiVersion": 1, "datasources": [{"name": "prometheus", "password": "hunter2hunter2"}]}, indent=4)
PROPERTIES = (
    "driver=org.postgresql.Driver\nurl=db://u:very-long-word@db/x\nclient_secret: abcdefabcdef\nuser=administrator\n"
)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def told(held: dict[str, str], copy: str, **options: Any) -> list[str]:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}, **options}
    body.setdefault("stringData", held)
    other = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "shop"},
        "data": {"a": copy},
    }
    snapshot = repo.read(tree({"s.json": json.dumps(body), "c.json": json.dumps(other)}))
    assert len(snapshot.manifests) == 2
    return [one.message for one in secret_leaks.check(snapshot, lambda manifest, path: manifest.origin)]


@pytest.mark.parametrize(
    ("name", "held", "copy"),
    [
        ("password", "correct-horse-battery", "--password=correct-horse-battery"),
        ("password", "correct-horse-battery", encoded("correct-horse-battery")),
        ("webhook", "https://chat.example/hooks/T0/B1", "to: https://chat.example/hooks/T0/B1"),
        ("dsn", "postgres://u:very-long-word@db", "postgres://u:very-long-word@db"),
        ("datasources.yaml", SOURCES, SOURCES),
        ("datasources.yaml", SOURCES, "GF_PASSWORD=hunter2hunter2"),
        ("app.properties", PROPERTIES, "very-long-word"),
        ("app.properties", PROPERTIES, "abcdefabcdef"),
        ("tls.key", PEM, PEM),
        ("tls.key", PEM, f"line: {KEY}"),
        ("tls.key", PEM, encoded(PEM)),
        ("both.pem", CERTIFICATE + PEM, PEM),
        ("config", "users:\n- token: eyJhbGciOiJSUzI1NiIsImtpZCI6\n", "eyJhbGciOiJSUzI1NiIsImtpZCI6"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("member", ["data", "stringData"])
def test_a_copy_of_what_is_secret_is_told(name: str, held: str, copy: str, member: str) -> None:
    values = {name: encoded(held) if member == "data" else held}
    assert told({}, copy, **{member: values, "stringData" if member == "data" else "data": {}}) == [
        "data.a holds a value of Secret/shop/s in the open"
    ]


@pytest.mark.parametrize(
    ("name", "held", "copy"),
    [
        ("datasources.yaml", SOURCES, '{\n    "datasources": [\n            "name": "prometheus",\n'),
        ("app.properties", PROPERTIES, "driver=org.postgresql.Driver\nuser=administrator\n"),
        ("app.yaml", "password: ${DATABASE_PASSWORD}\nexistingSecret: database-credentials\n",
         "database-credentials ${DATABASE_PASSWORD}"),
        ("ca.crt", CERTIFICATE, encoded(CERTIFICATE)),
        ("tls.key", PEM, "-----BEGIN PRIVATE KEY-----"),
        ("POSTGRES_USER", "administrator", "administrator"),
        ("db-host", "postgres.shop.svc.cluster.local", "postgres.shop.svc.cluster.local"),
        ("url", "http://prometheus-k8s.monitoring.svc:9090", "http://prometheus-k8s.monitoring.svc:9090/graph"),
        ("password", "${DATABASE_PASSWORD}", "${DATABASE_PASSWORD}"),
    ],
)  # fmt: skip
def test_what_many_files_say_is_no_leak(name: str, held: str, copy: str) -> None:
    assert told({name: held}, copy) == []
