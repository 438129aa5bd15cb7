"""One file per command, in the groups of `gitfed --help`."""
