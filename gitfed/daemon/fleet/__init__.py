"""The clusters as the daemon keeps them: one member each, its queue, its worker, its health."""
