"""Taints and what follows from them: toleration, eviction at its rate, preserved state."""
