"""Recorded inputs and outputs of the reference implementation, and what runs them through this project's code."""
