"""The state and the facts branch: read, merged, written by compare-and-swap."""
