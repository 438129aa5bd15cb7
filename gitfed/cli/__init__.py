"""Arguments in, exit codes out.

Each command is a module that is imported only when it is called, so that `gitfed --help` and `gitfed validate` feel
instant. A command reads its inputs through `offline.inputs`, hands values to a printer (`show` and the modules beside
it), and returns an exit code of `exits`. Nothing is decided here.
"""
