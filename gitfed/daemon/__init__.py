"""When, and in which order: the loop that brings the fleet to the plan and keeps it there.

Level-based throughout: whatever woke the loop, it reads the present state, builds the whole plan and hands every
cluster its present list of changes. Nothing is lost when an event is.
"""
