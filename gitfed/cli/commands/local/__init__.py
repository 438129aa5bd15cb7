"""Commands to try gitfed with, on one machine."""
