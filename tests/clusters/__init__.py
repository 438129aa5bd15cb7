"""Whole clusters for tests: real API servers here, the embedded fleet wherever a test does not need to be sure."""
