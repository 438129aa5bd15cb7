"""gitfed completion"""

from __future__ import annotations

from typing import Any, ClassVar

import click
from click import shell_completion
from click.shell_completion import CompletionItem, ShellComplete


class PowerShell(ShellComplete):
    """PowerShell asks with the line up to the cursor; answers are one per line: type, tab, value, tab, help."""

    name: ClassVar[str] = "powershell"
    source_template: ClassVar[str] = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $line = $commandAst.ToString()
    if ($line.Length -gt $cursorPosition) { $line = $line.Substring(0, $cursorPosition) }
    $before = @{ %(complete_var)s = $env:%(complete_var)s; COMP_LINE = $env:COMP_LINE; COMP_WORD = $env:COMP_WORD }
    $env:%(complete_var)s = 'powershell_complete'
    $env:COMP_LINE = $line
    $env:COMP_WORD = $wordToComplete
    try {
        & '%(prog_name)s' | ForEach-Object {
            $kind, $value, $help = $_ -split "`t", 3
            if ($kind -eq 'dir' -or $kind -eq 'file') {
                Get-ChildItem -Path "$value*" -ErrorAction SilentlyContinue | ForEach-Object {
                    [System.Management.Automation.CompletionResult]::new($_.FullName)
                }
            } elseif ($value) {
                if (-not $help) { $help = $value }
                [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $help)
            }
        }
    } finally {
        foreach ($name in $before.Keys) { Set-Item -Path "env:$name" -Value $before[$name] }
    }
}
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        import os

        words = shell_completion.split_arg_string(os.environ.get("COMP_LINE", ""))[1:]
        incomplete = os.environ.get("COMP_WORD", "")
        if incomplete and words and words[-1] == incomplete:
            words.pop()
        return words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        # A tab in a value would end it.
        return "\t".join(part.replace("\t", " ") for part in (item.type, str(item.value), item.help or ""))


def register() -> None:
    """Make PowerShell known to click. Called before a command line is read, for completion happens there."""
    shell_completion.add_completion_class(PowerShell)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "powershell"]))
def command(shell: str) -> int:
    """Print a script that lets a shell complete commands, options, and the names of clusters and objects from Git.

    \b
    bash         eval "$(gitfed completion bash)"           in ~/.bashrc
    zsh          eval "$(gitfed completion zsh)"            in ~/.zshrc
    fish         gitfed completion fish | source            in config.fish
    powershell   gitfed completion powershell | Out-String | Invoke-Expression     in $PROFILE

    \b
    Exit codes: 0.
    """
    register()
    kind = shell_completion.get_completion_class(shell)
    assert kind is not None
    root: Any = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "gitfed", "_GITFED_COMPLETE").source())
    return 0
