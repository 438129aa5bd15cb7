"""CustomResourceDefinitions: kinds that users bring along.

A definition is an object like any other (``kind``, checked by ``definition`` and ``schemas``). Once its names are
accepted (``settle``), each served version becomes a ``Kind`` (``custom``) whose hooks prune, default and validate by
the version's schema, with rules in CEL (``rules``, ``cel/``). All of it is functions of their inputs; the server
stores, and calls them.
"""

from __future__ import annotations

from kubesim.crd.custom import kinds as custom_kinds
from kubesim.crd.custom import schema_of
from kubesim.crd.kind import definition_kind
from kubesim.crd.settle import begin_deletion, finish_deletion, is_terminating, progress_deletion, settle

__all__ = [
    "begin_deletion",
    "custom_kinds",
    "definition_kind",
    "finish_deletion",
    "is_terminating",
    "progress_deletion",
    "schema_of",
    "settle",
]
