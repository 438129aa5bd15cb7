"""What of the machine's own settings must not reach a test: who runs the suite, and where, is not what it is about.

A developer signs commits and writes a default branch of his own into ~/.gitconfig; a commit hook exports GIT_DIR; a CI
job has the variables by which `gitfed review` knows its pull request; an office has a proxy; a log in colour has other
characters than one without; what a shell runs in the background ignores Ctrl-C, and so does all that it starts. Tests
of such things set what they need themselves.
"""

from __future__ import annotations

import os
import signal

_PREFIXES = ("GIT_", "GITHUB_", "GITLAB_", "CI_", "BITBUCKET_", "KUBECONFIG", "GITFED_FORGE_")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_TERMINAL = ("columns", "force_color", "no_color", "py_colors", "pytest_addopts")
_NAMES = frozenset((*_PROXIES, *_TERMINAL))


def forget() -> None:
    """For this process and all that it starts."""
    for name in list(os.environ):
        if name.startswith(_PREFIXES) or name.lower() in _NAMES:
            del os.environ[name]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # No file, and none can be made there: `git config --global` of a test run by root would replace /dev/null itself.
    os.environ["GIT_CONFIG_GLOBAL"] = "/nonexistent/gitconfig"
    os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
