"""A browser that holds a client certificate needs no page to sign in: what `gitfed kubeconfig --admin` makes, as a
person brings it into Chromium, who trusts the hub's own authority and nobody else."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from gitfed.edges import certificates
from gitfed.hub.running import Running
from tests.hub import fleet
from tests.hub.pages import browser
from tests.hub.stage import EVERYWHERE
from tests.support import needs, patience

pytestmark = needs.program("chromium", "chromedriver", "certutil", "pk12util")


def _nss(home: Path, program: str, *arguments: str) -> None:
    database = home / ".pki" / "nssdb"
    database.mkdir(parents=True, exist_ok=True)
    command = [str(needs.path_of(program)), "-d", f"sql:{database}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience.SECONDS, check=False)
    assert done.returncode == 0, done.stderr


def _bundle(pair: certificates.Pair) -> bytes:
    key = serialization.load_pem_private_key(pair.key, None)
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    sealed = serialization.BestAvailableEncryption(b"carried over")
    return pkcs12.serialize_key_and_certificates(b"ann", key, certificate, None, sealed)  # type: ignore[arg-type]


@pytest.mark.parametrize("carried", [True, False], ids=["with a certificate", "without one"])
def test_a_client_certificate_in_the_browser_says_who_looks(tmp_path: Path, carried: bool) -> None:
    home = tmp_path / "home"
    with browser.hub(tmp_path / "hub", Running(fleet.planned()), options=EVERYWHERE) as hub:
        authority, bundle = tmp_path / "ca.crt", tmp_path / "ann.p12"
        authority.write_text(hub.authority, encoding="ascii")
        _nss(home, "certutil", "-N", "--empty-password")
        _nss(home, "certutil", "-A", "-n", "the hub", "-t", "CT,,", "-i", str(authority))
        if carried:
            made = certificates.Authority.open(tmp_path / "hub" / "hub").client("ann", [], timedelta(hours=1))
            bundle.write_bytes(_bundle(made))
            _nss(home, "pk12util", "-i", str(bundle), "-W", "carried over")
        with browser.chromium(home=home, chooses_for=hub.url) as chromium:
            chromium.driver.get(f"{hub.url}/ui")
            if carried:
                assert chromium.text("h1") == "Fleet"
                assert "ann" in chromium.text("header")
                assert chromium.complaints() == []
            else:
                assert "Sign in" in chromium.text("body")
