"""How long things take in an embedded cluster, and which images never work. Seconds of the machine's own time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    start_seconds: float = 0.2
    """From being placed on a node to running and ready."""
    stop_seconds: float = 0.05
    """From being asked to go to being gone."""
    job_seconds: float = 0.5
    """How long a container that is meant to end runs."""
    missing_images: tuple[str, ...] = ("does-not-exist", "broken")
    """Parts of image names that cannot be pulled."""
    failing_images: tuple[str, ...] = ("failing",)
    """Parts of image names whose containers end with an error."""
    crashing_images: tuple[str, ...] = ("example.invalid/crash",)
    """Parts of image names whose containers end with an error as soon as they start, again and again."""
    unready_images: tuple[str, ...] = ("never-ready",)
    """Parts of image names whose containers run without becoming ready."""
    events_kept: int = 1000
    """How many of the newest events there are at most; with 0, none are told."""
    lease_seconds: float = 10.0
    """How often each node renews its lease; 0: never after the first time."""
