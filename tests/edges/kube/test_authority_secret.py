"""Replicas agree on one authority, whoever is first, and what they had before counts."""

from __future__ import annotations

import asyncio
import base64
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitfed.edges import certificates
from gitfed.edges.kube.authority_secret import AuthoritySecret
from gitfed.errors import ClusterUnreachable, InputError, Unauthorized
from gitfed.hub import shared_authority
from tests.edges.kube.conftest import Place


def _secret(place: Place) -> AuthoritySecret:
    return AuthoritySecret(place.session, namespace=place.namespace, name=shared_authority.NAME)


async def test_replicas_that_begin_at_once_have_one_authority(place: Place, tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(4)]
    await asyncio.gather(*(shared_authority.settle(folder, _secret(place)) for folder in folders))
    kept = {certificates.kept(folder) for folder in folders}
    assert len(kept) == 1
    (one,) = kept
    assert one is not None
    assert one == await _secret(place).read()
    assert all((folder / "ca.key").stat().st_mode & 0o077 == 0 for folder in folders)
    certificates.Authority.open(folders[0])


async def test_an_authority_from_before_goes_into_the_secret(place: Place, tmp_path: Path) -> None:
    before = certificates.Authority.open(tmp_path / "a").certificate
    await shared_authority.settle(tmp_path / "a", _secret(place))
    await shared_authority.settle(tmp_path / "b", _secret(place))
    assert (tmp_path / "a" / "ca.crt").read_bytes() == (tmp_path / "b" / "ca.crt").read_bytes() == before


async def test_the_secret_counts_for_a_replica_that_has_another_authority(place: Place, tmp_path: Path) -> None:
    await shared_authority.settle(tmp_path / "a", _secret(place))
    certificates.Authority.open(tmp_path / "b")
    (tmp_path / "b" / "ca.key").unlink()  # as after a crash in between
    await shared_authority.settle(tmp_path / "b", _secret(place))
    assert certificates.kept(tmp_path / "a") == certificates.kept(tmp_path / "b")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "holds no tls.crt and tls.key"),
        ({"tls.crt": "eA==", "tls.key": "eA=="}, "holds no usable certificate authority"),
    ],
    ids=["nothing", "no certificates"],
)
async def test_a_secret_of_something_else_is_refused(
    place: Place, tmp_path: Path, data: dict[str, str], said: str
) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": shared_authority.NAME}, "data": data}
    await place.session.json("POST", f"/api/v1/namespaces/{place.namespace}/secrets", body=body)
    with pytest.raises(InputError, match=f"^Secret {place.namespace}/gitfed-hub-ca {said}"):
        await shared_authority.settle(tmp_path / "a", _secret(place))
    assert certificates.kept(tmp_path / "a") is None


async def test_two_halves_that_do_not_belong_together_are_refused(place: Place, tmp_path: Path) -> None:
    one, other = (certificates.new_authority(datetime.now(UTC)) for _ in range(2))
    await _secret(place).create(one[0], other[1])
    with pytest.raises(InputError, match="do not belong together"):
        await shared_authority.settle(tmp_path / "a", _secret(place))


class Refusing(AuthoritySecret):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def __str__(self) -> str:
        return "Secret gitfed/gitfed-hub-ca"

    async def read(self) -> tuple[bytes, bytes] | None:
        raise self.error


async def test_without_the_right_a_replica_keeps_to_its_folder_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await shared_authority.settle(tmp_path / "a", Refusing(Unauthorized("secrets is forbidden")))
    assert caplog.messages == ["the hub's authority is not shared"]
    assert not (tmp_path / "a").exists(), "the hub makes its own when it starts"


async def test_without_an_answer_only_who_has_an_authority_already_goes_on(tmp_path: Path) -> None:
    silent = Refusing(ClusterUnreachable("no answer", cluster="host"))
    with pytest.raises(ClusterUnreachable):
        await shared_authority.settle(tmp_path / "a", silent)
    kept = certificates.Authority.open(tmp_path / "b").certificate
    await shared_authority.settle(tmp_path / "b", silent)
    assert (tmp_path / "b" / "ca.crt").read_bytes() == kept


async def test_the_key_stands_in_the_secret_as_kubernetes_writes_it(place: Place, tmp_path: Path) -> None:
    await shared_authority.settle(tmp_path, _secret(place))
    found = await place.session.json("GET", f"/api/v1/namespaces/{place.namespace}/secrets/{shared_authority.NAME}")
    assert found["type"] == "kubernetes.io/tls"
    assert base64.b64decode(found["data"]["tls.key"]) == (tmp_path / "ca.key").read_bytes()
