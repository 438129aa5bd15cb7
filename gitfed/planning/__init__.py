"""Rendered manifests against live objects: what is kept, what differs, in which order it is written, what is held."""
