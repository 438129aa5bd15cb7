"""The demonstrations, step by step."""
