"""Running Kustomize: the real program, on files taken from Git's objects, in a scratch folder, shut off.

What it may do is bounded from several sides. It sees the files of one build and nothing else; a name that leads out of
them is refused before (`source.kustomize`). It has no plugins and no Helm, no program to start (PATH is empty), no home
and no credentials, a limit on time, memory and output, and no network: a namespace without one where the machine allows
it, and a proxy that does not exist everywhere.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from gitfed.errors import SourceError
from gitfed.text import yaml

_TIMEOUT = 60.0
_LARGEST_OUTPUT = 32 * 1024 * 1024
_LIMITS = "ulimit -c 0; ulimit -t 60; ulimit -v 2097152; ulimit -f 65536; "
"""seconds of processor time, kilobytes of memory, half kilobytes of one file"""
_CAPS = yaml.YamlLimits(aliased=200_000)
"""Of a file that is built: the program keeps every node several times, with its comments and its place."""
_ANCHOR, _ALIAS = re.compile(rb"&[^\s&]"), re.compile(rb"\*[^\s*]")
_NO_PROXY = "http://127.0.0.1:9"
_TREE = "tree"
_LOGGED = re.compile(r'[EF]\d{4} \S+ +\d+ \S+\] "command failed" err="(.*)"')
"""Newer kubectl write their errors as log lines."""
_CHAIN = re.compile(
    r"(?:(?:accumulating resources: )?accumulation err='accumulating resources from '[^']*': '[^']*' must resolve to a "
    r"file': recursed accumulation of path '[^']*': )+"
)
_REMEMBERED = 16
_ALONE = "this machine does not allow `unshare --map-root-user --net`"
_NO_PROGRAM = "install kubectl or kustomize, or commit what `kustomize build` prints"


class File(Protocol):
    @property
    def path(self) -> str: ...
    @property
    def blob_id(self) -> str: ...


class Root(Protocol):
    """A folder to build and all files that the build may see (`source.kustomize.Root`)."""

    @property
    def folder(self) -> str: ...
    @property
    def files(self) -> Iterable[File]: ...
    @property
    def plugins(self) -> bool: ...
    @property
    def digest(self) -> str: ...


class Kustomize:
    """The program of this machine. The last outputs are remembered: a caller that needs a line number asks twice."""

    def __init__(self) -> None:
        self._outputs: OrderedDict[str, bytes] = OrderedDict()
        self._isolation: tuple[str, ...] | None = None

    def build(self, root: Root, read: Callable[[str], bytes]) -> bytes:
        """What the build prints, every object annotated with its file (`source.kustomize` takes that away).

        Raises SourceError: no program, it failed, it took too long or printed too much.
        """
        if root.digest not in self._outputs:
            if self._isolation is None:
                self._isolation = _isolation()
            self._outputs[root.digest] = _build(root, read, self._isolation)
            while len(self._outputs) > _REMEMBERED:
                self._outputs.popitem(last=False)
        return self._outputs[root.digest]


def _build(root: Root, read: Callable[[str], bytes], isolation: tuple[str, ...]) -> bytes:
    program = _program()
    if not program:
        raise SourceError("it needs the program kustomize or kubectl, and there is none", hint=_NO_PROGRAM)
    if root.plugins and not isolation:
        # Their files may name addresses, and a proxy that does not exist is not asked for this machine's own.
        raise SourceError(
            "generators, transformers and validators are only run where they have no network", hint=_ALONE
        )
    with tempfile.TemporaryDirectory(prefix="gitfed-kustomize-") as name, contextlib.ExitStack() as stack:
        scratch = Path(name).resolve()
        try:
            secret = _materialise(root, read, scratch)
            complaint = stack.enter_context((scratch / "said").open("w+b"))
            printed = stack.enter_context((scratch / "printed").open("w+b"))
        except OSError as error:
            raise SourceError(f"the files to build cannot be written: {error.strerror}") from error
        code = _run([*isolation, *program, str(scratch / "build")], scratch, printed.fileno(), complaint.fileno())
        if code is None:
            raise SourceError(f"the build did not end within {_TIMEOUT:.0f} seconds")
        if code:
            complaint.seek(0)
            raise _failed(complaint.read(64 * 1024).decode("utf-8", "replace"), scratch, root.folder, secret)
        size = printed.seek(0, os.SEEK_END)
        if size > _LARGEST_OUTPUT:
            raise SourceError(f"the build prints {size} bytes, at most {_LARGEST_OUTPUT} are read")
        printed.seek(0)
        return printed.read()


def _materialise(root: Root, read: Callable[[str], bytes], scratch: Path) -> bool:
    """Write the files, and a kustomization above that asks for origins. True: some file speaks of Secrets.

    Paths come from a tree that a user made: Git allows no `..` in one, and nothing here follows a link.
    """
    build = scratch / "build"
    tree = build / _TREE
    tree.mkdir(parents=True)
    secret = False
    for file in root.files:
        parts = file.path.split("/")
        if any(part in ("", ".", "..") for part in parts) or "\0" in file.path:
            raise SourceError("a file name has a part that is no name")
        path = tree.joinpath(*(os.fsencode(part).decode("utf-8", "surrogateescape") for part in parts))
        path.parent.mkdir(parents=True, exist_ok=True)
        content = read(file.blob_id)
        _check(file.path, content)
        secret = secret or b"Secret" in content or b"secretGenerator" in content
        path.write_bytes(content)
    above = f"resources: [{_quoted(f'{_TREE}/{root.folder}' if root.folder else _TREE)}]\n"
    (build / "kustomization.yaml").write_text(above + "buildMetadata: [originAnnotations]\n", encoding="utf-8")
    return secret


def _check(path: str, content: bytes) -> None:
    """Raises SourceError for a file that could grow in the program's memory beyond all measure.

    Only aliases and depth make much of little. What is no YAML to us may still be some to the program, so where a text
    cannot be read to its end and holds what could be aliases, it is refused if its name says that it is YAML.
    """
    aliased = _ANCHOR.search(content) is not None and _ALIAS.search(content) is not None
    if not aliased and max(content.count(sign) for sign in (b"{", b"[", b"- -")) < _CAPS.depth:
        return
    named = aliased and path.endswith((".yaml", ".yml", "Kustomization"))
    for fault in yaml.parse(content, limits=_CAPS).faults:
        if fault.beyond or (named and not fault.warning):
            raise SourceError(f"{path}:{fault.line}:{fault.column}: {fault.message}")


def _run(command: list[str], scratch: Path, printed: int, complaint: int) -> int | None:
    """The exit code; None when the time was over. The whole process group ends with it."""
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _NO_PROXY)
    environment = {"HOME": str(scratch), "PATH": str(scratch / "none"), "TMPDIR": str(scratch), "LANG": "C.UTF-8"}
    environment |= proxies
    process = subprocess.Popen(
        ["/bin/sh", "-c", f'{_LIMITS} exec "$@"', "sh", *command],
        cwd=scratch,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=complaint,
        start_new_session=True,
    )
    try:
        return process.wait(_TIMEOUT)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failed(complaint: str, scratch: Path, folder: str, secret: bool) -> SourceError:
    hint = f"see it with: kustomize build {folder or '.'}"
    if secret:
        # It quotes lines of files, and those may be a Secret's.
        return SourceError("Kustomize cannot build it; its message may quote a Secret and is not repeated", hint=hint)
    text = complaint.replace(f"{scratch}/build/{_TREE}/", "").replace(f"{scratch}/build/", "").replace(str(scratch), "")
    text = " ".join(text.split())
    if logged := _LOGGED.fullmatch(text):
        text = logged[1].replace('\\"', '"')
    # Every base puts its own name before what went wrong in it.
    cause = _CHAIN.sub("", text.removeprefix("Error: ").removeprefix("error: "))
    shown = "".join(letter if letter.isprintable() else "?" for letter in cause)[:600]
    return SourceError(f"Kustomize cannot build it: {shown or 'it gives no reason'}", hint=hint)


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def _program() -> tuple[str, ...]:
    """With the words that make it build; () when there is none."""
    for name, words in (("kustomize", ("build",)), ("kubectl", ("kustomize",))):
        path = shutil.which(name)
        if path:
            return (os.path.abspath(path), *words)
    return ()


def _isolation() -> tuple[str, ...]:
    """What gives a command a network of its own, with nothing in it; () where the machine does not allow that."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    command = (unshare, "--map-root-user", "--net")
    try:
        done = subprocess.run([*command, "/bin/true"], capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return command if done.returncode == 0 else ()
