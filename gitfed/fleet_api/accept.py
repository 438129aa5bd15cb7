"""In which forms a client takes an answer, of those that can be put together: JSON, and Tables and metadata in JSON."""

from __future__ import annotations

JSON = "application/json"


def in_json(header: str) -> str:
    """What members are asked for; "" when the client takes no JSON."""
    kept: list[str] = []
    for clause in header.split(","):
        kind, *parameters = [part.strip() for part in clause.split(";")]
        if kind in (JSON, "*/*", "application/*", ""):
            text = ";".join([JSON, *(parameter for parameter in parameters if not parameter.startswith("q="))])
            kept.append(text)
    return ",".join(dict.fromkeys(kept))
