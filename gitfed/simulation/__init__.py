"""Failover on a virtual clock: the plan's own decisions, with a fleet that fails as it is told."""
