"""Conversations recorded with a real API server, and what holds them again."""
