"""Kubernetes clusters inside one Python process: they speak the REST API over loopback, and nothing runs in them.

A tool that deploys to many clusters can only be tried, shown and tested against many clusters. Real ones need machines,
images and minutes; these need a port each. They are exact where clients look: versions, field ownership, watches,
refusals and their texts. A Pod is a record that the controllers of this package move along.

The request pipeline reads top to bottom in ``server/``; what a kind *means* is a value (``kind.Kind``) made by
``kinds/`` for built-in kinds and by ``crd/`` for custom ones; ``store`` holds versions and wakes watchers and knows
nothing of HTTP.
"""

__version__ = "0.1.0"
