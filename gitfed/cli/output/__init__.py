"""Printers: they read values and return text or documents."""
