"""One commit read and judged, for the daemon and for commands alike: its files, signatures, builds and interpreters."""
