"""The tiny shell in a container: what people type when they try one."""

from __future__ import annotations

import pytest

from kubesim.containers import shell
from kubesim.containers.files import Files
from kubesim.containers.streams import Streams


class Terminal:
    """Types some pieces, and keeps what is printed and complained of."""

    def __init__(self, *typed: bytes, tty: bool = False) -> None:
        self.files = Files("web")
        self._typed, self.printed, self.complained = list(typed), b"", b""
        self._shell = shell.Shell(self.files, {"A": "b c"}, Streams(self._read, self._out, self._err), tty=tty)

    async def _read(self) -> bytes:
        return self._typed.pop(0) if self._typed else b""

    async def _out(self, data: bytes) -> None:
        self.printed += data

    async def _err(self, data: bytes) -> None:
        self.complained += data

    async def run(self, *command: str) -> tuple[int, str, str]:
        code = await self._shell.run(command)
        return code, self.printed.decode(), self.complained.decode()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo a  'b  c' \"$A\" '$A' \\$A", (0, "a b  c b c $A $A\n", "")),
        ("test -e /none; echo $?", (0, "1\n", "")),
        ("test -e /none && echo no; test -e /none || echo yes", (0, "yes\n", "")),
        ("X=1; echo ${X}2 a#b ' #' # not this\necho more", (0, "12 a#b  #\nmore\n", "")),
        ("echo -n a > /tmp/f; echo b >> /tmp/f; cat /tmp/f", (0, "ab\n", "")),
        ("echo lost > /no/where", (1, "", "sh: can't create /no/where: nonexistent directory\n")),
        ("echo a > /dev/null", (0, "", "")),
        ("vim", (127, "", "sh: vim: not found\n")),
        ("echo before; exit 3; echo after", (3, "before\n", "")),
        ("cat /no /etc", (1, "", "cat: /no: No such file or directory\ncat: /etc: Is a directory\n")),
        ("echo 'open", (2, "", "sh: unterminated quoted string\n")),
        ("env | cat", (2, "", "sh: | is not understood by the shell of an embedded cluster\n")),
        ("test -d /etc && test -f /etc/hostname && test -e /none", (1, "", "")),
        ("sh -c 'exit 4'", (4, "", "")),
        ("printenv A NONE", (1, "b c\n", "")),
    ],
)
async def test_a_script_does_what_it_does_elsewhere(script: str, expected: tuple[int, str, str]) -> None:
    assert await Terminal().run("sh", "-c", script) == expected


async def test_a_terminal_shows_what_is_typed_and_lets_it_be_corrected() -> None:
    terminal = Terminal(b"echx\x7fo a\r", b"ls\x03", b"exit 2\r", tty=True)
    assert await terminal.run("sh") == (2, "# echx\b \bo a\r\na\r\n# ls^C\r\n# exit 2\r\n", "")


async def test_a_shell_ends_with_what_is_typed() -> None:
    assert (await Terminal(b"\x04", tty=True).run("bash"))[:2] == (0, "# \r\n")
    assert await Terminal(b"echo a\nec", b"ho b\n").run("sh") == (0, "a\nb\n", "")


async def test_a_program_that_is_not_there_is_not_found() -> None:
    with pytest.raises(shell.NotFound, match="vim"):
        await Terminal().run("vim")


async def test_what_is_no_archive_is_not_unpacked() -> None:
    assert await Terminal(b"no archive").run("tar", "-xmf", "-", "-C", "/tmp") == (1, "", "tar: invalid tar magic\n")
    missing = await Terminal().run("tar", "cf", "-", "/none")
    assert (missing[0], missing[2]) == (1, "tar: /none: No such file or directory\n")


async def test_a_directory_is_packed_with_all_that_is_in_it() -> None:
    there, here = Terminal(), Terminal()
    there.files.write("/tmp/a", b"1")
    await there.run("tar", "cf", "-", "/tmp")
    here.files.unpack(there.printed, "/srv")
    assert here.files.files["/srv/tmp/a"] == b"1"
