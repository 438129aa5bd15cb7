"""What things are.

What a person declares is a frozen pydantic model (`model/declared`); what flows through the program is a frozen
slotted dataclass in this package; Kubernetes bodies stay plain mappings (`Body`), are never changed in place and are
edited by path-copy.
"""
