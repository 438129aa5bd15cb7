"""Endpoints from cluster to cluster: `exchange` for the whole fleet, `station` for one cluster of it."""
