"""Clusters that this process cannot reach: what it tells their agents, and what these tell."""
