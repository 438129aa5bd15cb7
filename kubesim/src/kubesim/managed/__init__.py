"""Server-side apply and the tracking of field owners.

``writing`` is the door: ``update`` and ``apply`` compute managedFields of a body about to be written, ``settle`` keeps
a write that changes nothing from being one. Below it: ``configuration`` (what an apply was sent), ``tracking`` (who
owns what after a write), ``compare``, ``merge`` and ``typed`` (walks over bodies), ``fieldset`` (sets of fields),
``entries`` (the stored form). All pure; time comes in with the writer.
"""

from kubesim.managed.configuration import described
from kubesim.managed.entries import invalid
from kubesim.managed.scale import parent_fields, scale_fields
from kubesim.managed.tracking import Convert
from kubesim.managed.writing import Writer, apply, settle, update

__all__ = ["Convert", "Writer", "apply", "described", "invalid", "parent_fields", "scale_fields", "settle", "update"]
