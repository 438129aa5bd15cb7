"""`python -m gitfed` is `gitfed`."""

from gitfed.cli.main import main

main()
