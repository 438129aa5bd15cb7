"""gitfed keeps a fleet of Kubernetes clusters equal to a Git repository."""

__version__ = "0.1.0"
