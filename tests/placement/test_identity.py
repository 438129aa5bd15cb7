"""The id of a template's decision."""

from __future__ import annotations

import re

from gitfed.model.base import ObjectKey
from gitfed.placement.scheduling.identity import binding_id


def test_an_id_is_short_lower_case_and_stable() -> None:
    identity = binding_id(ObjectKey("apps", "Deployment", "shop", "web"))
    assert identity == "7fqziu4cb5sitr6s"
    assert re.fullmatch("[a-z2-7]{16}", identity)


def test_every_part_of_the_key_counts() -> None:
    keys = [
        ObjectKey("apps", "Deployment", "shop", "web"),
        ObjectKey("", "Deployment", "shop", "web"),
        ObjectKey("apps", "StatefulSet", "shop", "web"),
        ObjectKey("apps", "Deployment", "", "web"),
        ObjectKey("apps", "Deployment", "shop", "api"),
    ]
    assert len({binding_id(key) for key in keys}) == len(keys)
