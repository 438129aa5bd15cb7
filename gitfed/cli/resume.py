"""gitfed resume: see gitfed suspend."""

from gitfed.cli.suspend import resume

command = resume
