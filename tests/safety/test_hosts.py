"""No host is asked because an unsigned commit names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitfed.daemon import wiring
from gitfed.errors import RevisionNotFound
from gitfed.model.base import Commit
from tests.reading.trusted import Place, accepted
from tests.support import signing
from tests.support.signing import Person

EVIL = "https://evil.example/state.git"


def state_at(place: Place, trusted_keys: Path | None = None) -> str:
    """Where a daemon that starts now reads and writes its state."""
    options = wiring.DaemonOptions(str(place.work), data_dir=place.folder / "data", trusted_keys=trusted_keys)
    return wiring._opened(options, place.readers.append)[3]


def names_a_host(place: Place, ada: Person) -> Commit:
    place.settings(ada, "none")
    settings = place.work / "gitfed.yaml"
    settings.write_text(settings.read_text() + f"  state: {{url: {EVIL}}}\n")
    return Commit(ada.commit(place.work, signed=False))


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    return signing.with_ssh("ada", tmp_path / "people")


def test_an_unsigned_commit_sends_a_starting_daemon_to_no_other_host(tmp_path: Path, ada: Person) -> None:
    place = Place(tmp_path)
    place.settings(ada, "all")
    ada.commit(place.work)
    home = state_at(place)
    accepted_record = place.folder / "accepted.json"
    accepted(place.reader())
    accepted_record.rename(place.folder / "data" / "accepted.json")
    names_a_host(place, ada)
    assert state_at(place) == home
    assert EVIL not in home
    for reader in place.readers:
        reader.repository.close()


def test_with_trusted_keys_not_even_a_daemon_without_memory_is_sent(tmp_path: Path, ada: Person) -> None:
    place = Place(tmp_path)
    keys = tmp_path / "trusted"
    keys.mkdir()
    (keys / "ada.pub").write_text(ada.public)
    place.settings(ada, "all")
    names_a_host(place, ada)
    with pytest.raises(RevisionNotFound, match="is not signed"):
        state_at(place, keys)
    for reader in place.readers:
        reader.repository.close()
