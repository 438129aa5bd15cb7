"""gitfed resume: see gitfed suspend."""

from gitfed.cli.commands.act.suspend import resume

command = resume
