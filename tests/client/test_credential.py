"""Who asks a hub: files, or a context of a kubeconfig, and what is refused of them."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitfed.client import credential
from gitfed.client.credential import Files
from gitfed.edges import certificates
from gitfed.errors import GitfedError, InputError, UsageError

URL = "https://hub.example:8443"


def _config(folder: Path, user: dict[str, Any], *, server: str = URL, name: str = "hub", **cluster: Any) -> Path:
    path = folder / f"{name}.conf"
    path.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    return path


def test_the_context_that_is_for_the_server_says_who_asks(tmp_path: Path) -> None:
    other = _config(tmp_path, {"token": "others"}, server="https://other.example", name="other")
    mine = _config(tmp_path, {"token": "mine"}, server=f"{URL}/", name="mine")
    for paths in ((other, mine), (mine,)):
        (merged,) = [paths] if len(paths) == 1 else [(mine, other)]
        assert credential.of_kubeconfig(merged, URL)[1].token == "mine"
    with pytest.raises(UsageError) as refused:
        credential.of_kubeconfig((other,), URL)
    assert refused.value.message == f"nothing says who asks {URL}: {other} has no context for it"


def test_a_named_context_says_where_the_hub_is_too(tmp_path: Path) -> None:
    path = _config(tmp_path, {"token": "mine"})
    assert credential.of_kubeconfig((path,), "", "hub")[0] == URL
    assert credential.of_kubeconfig((path,), "https://forwarded.example", "hub")[0] == "https://forwarded.example"
    with pytest.raises(UsageError) as refused:
        credential.of_kubeconfig((path,), "", "hab")
    assert (refused.value.message, refused.value.hint) == (f"{path}: no context 'hab'", "contexts: hub")


def test_what_gitfed_kubeconfig_prints_makes_a_connection(tmp_path: Path) -> None:
    authority = certificates.Authority.open(tmp_path / "ca")
    pair = authority.client("ann", ["platform"], timedelta(hours=1))
    inline = {
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
    }
    trusted = {"certificate-authority-data": base64.b64encode(authority.certificate).decode()}
    found = credential.of_kubeconfig((_config(tmp_path, inline, **trusted),), URL)[1]
    assert (found.certificate, found.key, found.authority) == (pair.certificate, pair.key, authority.certificate)
    assert found.context().get_ca_certs()[0]["subject"]
    assert repr(found) == "Credential(…)"


@pytest.mark.parametrize(
    ("user", "cluster", "told"),
    [
        ({"exec": {"command": "touch"}}, {}, "exec is not used here: a program is not started for a credential"),
        ({"auth-provider": {"name": "x"}}, {}, "auth-provider is not used here: a program is not started for a"),
        ({"username": "ann", "password": "s3cret"}, {}, "username is not used here: a hub takes no passwords"),
        ({"token": "t"}, {"insecure-skip-tls-verify": True}, "insecure-skip-tls-verify is not used here: a hub whose"),
        ({"token": "t", "as": "root"}, {}, "as is not used here: a hub knows no impersonation"),
        ({}, {}, "holds no credential"),
        ({"token": "two words"}, {}, "what it holds is no token"),
        ({"client-certificate-data": "!", "client-key-data": "!"}, {}, "client-certificate-data is no base64"),
        ({"client-certificate": "gone.crt", "client-key": "gone.key"}, {}, "No such file or directory"),
    ],
)  # fmt: skip
def test_what_a_kubeconfig_may_not_say_is_refused(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], told: str
) -> None:
    with pytest.raises(GitfedError) as refused:
        credential.of_kubeconfig((_config(tmp_path, user, **cluster),), URL)
    assert isinstance(refused.value, InputError)
    assert told in refused.value.message
    assert "s3cret" not in str(refused.value)


def test_files_say_once_who_asks(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("abc\n")
    assert credential.of_files(Files(token=token)).headers == {"Authorization": "Bearer abc"}
    for files, told in (
        (Files(certificate=token), "--client-certificate and --client-key need each other"),
        (Files(certificate=token, key=token, token=token), "--client-certificate and --token-file both say who asks"),
    ):
        with pytest.raises(UsageError) as refused:
            credential.of_files(files)
        assert refused.value.message == told
    for unusable, told in (
        (Files(authority=token), "--certificate-authority: there are no certificates in PEM form in it"),
        (Files(certificate=token, key=token), "the client certificate and its key cannot be used: they are not in PEM "
         "form"),
    ):  # fmt: skip
        with pytest.raises(InputError) as unread:
            credential.of_files(unusable).context()
        assert unread.value.message == told
