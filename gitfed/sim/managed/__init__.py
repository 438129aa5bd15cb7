"""Server-side apply and the tracking of field owners.

``writing`` is the door: ``update`` and ``apply`` compute managedFields of a body about to be written, ``settle`` keeps
a write that changes nothing from being one. Below it: ``configuration`` (what an apply was sent), ``tracking`` (who
owns what after a write), ``compare``, ``merge`` and ``typed`` (walks over bodies), ``fieldset`` (sets of fields),
``entries`` (the stored form). All pure; time comes in with the writer.
"""

from gitfed.sim.managed.configuration import described
from gitfed.sim.managed.entries import invalid
from gitfed.sim.managed.scale import parent_fields, scale_fields
from gitfed.sim.managed.tracking import Convert
from gitfed.sim.managed.writing import Writer, apply, settle, update

__all__ = ["Convert", "Writer", "apply", "described", "invalid", "parent_fields", "scale_fields", "settle", "update"]
