"""Which URLs are one of a hub, and what is said of others."""

from __future__ import annotations

import pytest

from gitfed.client import address
from gitfed.errors import UsageError


@pytest.mark.parametrize(
    "url", ["https://hub.example:8443", "https://HUB.example:8443/", "http://127.0.0.1:8443", "http://localhost:1",
            "http://[::1]:8443"],
)  # fmt: skip
def test_a_hub_is_at_a_host_and_port(url: str) -> None:
    assert address.checked(url) == url.lower().rstrip("/")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://ann:s3cret@hub.example",
         "https://hub.example holds a user or a password, which would be in the history of your shell"),
        ("https://hub.example?token=s3cret", "https://hub.example has more than host and port"),
        ("http://hub.example:8443",
         "http://hub.example:8443 has no TLS: a credential is sent to another machine only with it"),
        ("http://127.0.0.1.example",
         "http://127.0.0.1.example has no TLS: a credential is sent to another machine only with it"),
        ("https://hub.example/ui", "https://hub.example/ui has more than host and port"),
        ("hub.example:8443", "'hub.example:8443' is no address of a hub"),
        ("ftp://hub.example", "ftp://hub.example is no address of a hub"),
        ("https://", "https:// is no address of a hub"),
        ("https://hub.example:port", "https://hub.example:port is no address"),
        ("ann:s3cret@hub", "'hub' is no address of a hub"),
    ],
)  # fmt: skip
def test_other_addresses_are_refused_and_never_shown_with_a_secret(url: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        address.checked(url)
    assert refused.value.message == told
    assert refused.value.hint
    assert "s3cret" not in str(refused.value)
