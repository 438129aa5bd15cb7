"""The daemon's one HTTP server."""
