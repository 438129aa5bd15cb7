"""The three ways to change a stored object by telling the difference: JSON patch, merge patch, strategic merge patch.

All pure: they take and return plain JSON values, never change what they are given, and share what did not change. What
the *result* must look like (known fields, right types, valid values) is decided afterwards by ``schema`` and the kind,
and how an error becomes an answer by the server.
"""

from kubesim.patch.error import PatchError
from kubesim.patch.json_patch import json_patch, unknown_fields
from kubesim.patch.merge_patch import merge_patch
from kubesim.patch.strategic import misfit, strategic_merge

__all__ = ["PatchError", "json_patch", "merge_patch", "misfit", "strategic_merge", "unknown_fields"]
