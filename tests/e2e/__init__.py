"""Whole systems: a Git repository, real processes, and clusters (embedded, or real API servers)."""
