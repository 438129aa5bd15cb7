"""A command in a container that is only said to run: as much of a system as people and ``kubectl cp`` try out."""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from kubesim.containers import script
from kubesim.containers.files import Files
from kubesim.containers.streams import Streams

_PROMPT: Final = b"# "
_INTERRUPT, _END, _ERASE = 0x03, 0x04, (0x08, 0x7F)


class NotFound(LookupError):
    """There is no such program."""


class _Exit(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


class Shell:
    """``environment`` is the container's; what a script sets is nobody else's."""

    def __init__(self, files: Files, environment: dict[str, str], streams: Streams, *, tty: bool) -> None:
        self._files, self._variables, self._streams, self._tty = files, {**environment, "?": "0"}, streams, tty
        self._out = self._translated if tty else streams.out
        self._err = self._translated if tty else streams.err
        self._commands: dict[str, Callable[[Sequence[str]], Awaitable[int]]] = {
            "cat": self._cat,
            "echo": self._echo,
            "env": self._env,
            "hostname": self._hostname,
            "printenv": self._env,
            "tar": self._tar,
            "test": self._test,
        }
        for name in ("sh", "bash", "ash"):
            self._commands[name] = self._sh

    async def _translated(self, data: bytes) -> None:
        """A terminal goes back to the left by itself."""
        await self._streams.out(data.replace(b"\n", b"\r\n"))

    async def run(self, command: Sequence[str]) -> int:
        """Its exit code. Raises NotFound for a program that is not there."""
        try:
            return await self._run(command)
        except _Exit as ended:
            return ended.code

    async def _run(self, command: Sequence[str]) -> int:
        program = self._commands.get(posixpath.basename(command[0]))
        if program is None:
            raise NotFound(command[0])
        return await program(command[1:])

    # a shell

    async def _sh(self, arguments: Sequence[str]) -> int:
        """A script, or lines as they are typed."""
        if arguments[:1] and arguments[0].startswith("-") and arguments[0].endswith("c"):
            return await self._script(arguments[1] if len(arguments) > 1 else "")
        code = 0
        async for line in self._lines():
            code = await self._script(line)
        return code

    async def _script(self, text: str) -> int:
        code = 0
        try:
            for command in script.parse(text):
                if (command.joint == "&&" and code) or (command.joint == "||" and not code):
                    continue
                code = await self._step(command)
                self._variables["?"] = str(code)
        except script.ScriptError as problem:
            await self._err(f"sh: {problem}\n".encode())
            return 2
        return code

    async def _step(self, command: script.Command) -> int:
        words = [script.expand(word, self._variables) for word in command.words]
        name, _, value = words[0].partition("=")
        if len(words) == 1 and value and name.isidentifier():
            self._variables[name] = value
            return 0
        if words[0] == "exit":
            raise _Exit(int(words[1]) if words[1:] and words[1].isdecimal() else int(self._variables["?"]))
        before, kept = self._out, bytearray()
        if command.target:

            async def keep(data: bytes) -> None:
                kept.extend(data)

            self._out = keep
        try:
            code = await self._run(words)
        except NotFound:
            await self._err(f"sh: {words[0]}: not found\n".encode())
            return 127
        finally:
            self._out = before
        return await self._redirect(command, bytes(kept)) or code if command.target else code

    async def _redirect(self, command: script.Command, data: bytes) -> int:
        path = self._path(script.expand(command.target, self._variables))
        if path == "/dev/null":
            return 0
        earlier = self._files.files.get(path, b"") if command.appends else b""
        if self._files.write(path, earlier + data):
            return 0
        await self._err(f"sh: can't create {path}: nonexistent directory\n".encode())
        return 1

    async def _lines(self) -> AsyncIterator[str]:
        if not self._tty:
            typed = await self._all()
            yield typed.decode(errors="replace")
            return
        line = bytearray()
        await self._out(_PROMPT)
        while data := await self._streams.read():
            for byte in data:
                if byte in (0x0A, 0x0D, _INTERRUPT):
                    await self._out(b"^C\n" if byte == _INTERRUPT else b"\n")
                    if byte != _INTERRUPT:
                        yield line.decode(errors="replace")
                    line.clear()
                    await self._out(_PROMPT)
                elif byte == _END and not line:
                    await self._out(b"\n")
                    return
                elif byte in _ERASE:
                    await self._out(b"\b \b" if line else b"")
                    del line[-1:]
                elif byte >= 0x20:
                    line.append(byte)
                    await self._out(bytes([byte]))

    async def _all(self) -> bytes:
        """Everything that is typed until nothing more comes."""
        found = bytearray()
        while data := await self._streams.read():
            found.extend(data)
        return bytes(found)

    def _path(self, path: str) -> str:
        return posixpath.normpath(posixpath.join("/", path))

    # programs

    async def _echo(self, arguments: Sequence[str]) -> int:
        end = "" if arguments[:1] == ["-n"] else "\n"
        words = arguments[1:] if not end else arguments
        await self._out((" ".join(words) + end).encode())
        return 0

    async def _cat(self, arguments: Sequence[str]) -> int:
        code = 0
        for name in arguments or ("-",):
            if name == "-":
                while data := await self._streams.read():
                    await self._out(data)
            elif (content := self._files.files.get(self._path(name))) is not None:
                await self._out(content)
            else:
                why = "Is a directory" if self._files.is_directory(self._path(name)) else "No such file or directory"
                await self._err(f"cat: {name}: {why}\n".encode())
                code = 1
        return code

    async def _env(self, arguments: Sequence[str]) -> int:
        if arguments:
            known = [self._variables[name] for name in arguments if name in self._variables]
            await self._out("".join(f"{value}\n" for value in known).encode())
            return int(len(known) < len(arguments))
        shown = (f"{name}={value}\n" for name, value in self._variables.items() if name != "?")
        await self._out("".join(shown).encode())
        return 0

    async def _hostname(self, arguments: Sequence[str]) -> int:
        await self._out(self._files.files["/etc/hostname"])
        return 0

    async def _test(self, arguments: Sequence[str]) -> int:
        """``-d``, ``-f``, ``-e`` of a path."""
        if len(arguments) != 2 or arguments[0] not in ("-d", "-f", "-e"):
            await self._err(b"test: only -d, -e and -f PATH are understood\n")
            return 2
        path = self._path(arguments[1])
        is_file, is_directory = path in self._files.files, self._files.is_directory(path)
        return int(not {"-d": is_directory, "-f": is_file, "-e": is_file or is_directory}[arguments[0]])

    async def _tar(self, arguments: Sequence[str]) -> int:
        """``c`` to and ``x`` from the streams."""
        flags, directory, paths = arguments[0] if arguments else "", "/", []
        rest = iter(arguments[1:])
        for one in rest:
            if one == "-C":
                directory = self._path(next(rest, "/"))
            elif one != "-" and not one.startswith("--"):
                paths.append(one)
        if "x" in flags:
            try:
                self._files.unpack(await self._all(), directory)
            except tarfile.TarError:
                await self._err(b"tar: invalid tar magic\n")
                return 1
            return 0
        data, missing = self._files.pack(posixpath.normpath(posixpath.join(directory, path)) for path in paths)
        for path in missing:
            await self._err(f"tar: {path}: No such file or directory\n".encode())
        await self._out(data)
        return int(bool(missing))
