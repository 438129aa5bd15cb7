"""gitfed interpret"""

from __future__ import annotations

import difflib
import functools
from pathlib import Path
from typing import Any

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.output import interpret_show
from gitfed.errors import InputError, UsageError
from gitfed.interpret import cases, judge
from gitfed.interpret.cases import CaseError
from gitfed.interpret.registry import Interpreter, Operation, Unknown
from gitfed.model.base import ObjectKey
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization
from gitfed.offline import inputs as daemon_inputs
from gitfed.offline import rule_files
from gitfed.reading import interpreters
from gitfed.text.values import dataclass
from gitfed.views import names

_CUSTOMIZATION = ("", "ric", "resourceinterpretercustomization", "resourceinterpretercustomizations")
RULES_SHOWN = (
    Operation.RETAIN, Operation.REPLICA, Operation.COMPONENT, Operation.REVISE, Operation.STATUS, Operation.AGGREGATE,
    Operation.HEALTH, Operation.DEPENDENCY,
)  # fmt: skip
"""In karmadactl's order."""
_FILE = click.Path(allow_dash=True)
_option = functools.partial(parameters.option, shared=False)


@dataclass(frozen=True, slots=True)
class Filenames:
    """Where rules are read; none: those of the repository."""

    filenames: tuple[str, ...]
    recursive: bool


@dataclass(frozen=True, slots=True)
class Doing:
    """What is done with them: one of these, or an object is asked about."""

    checking: bool
    editing: bool
    show_doc: bool
    operation: str
    folder: Path | None
    base: str


@dataclass(frozen=True, slots=True)
class OperationFiles:
    """The inputs of one operation, as files."""

    desired_file: str | None
    observed_file: str | None
    status_file: str | None
    desired_replica: int

    def read(self, operation: Operation, template: Any) -> Any:
        """`template` stands for the desired object where no file names one."""
        if template is not None and self.desired_file is not None:
            raise click.UsageError("--desired-file and an object of the repository cannot be combined")
        desired = template if self.desired_file is None else rule_files.single(self.desired_file)
        observed = None if self.observed_file is None else rule_files.single(self.observed_file)
        if template is not None and observed is not None and operation is not Operation.RETAIN:
            desired = None  # the template said whose kind it is about; the question is about the copy
        items = None if self.status_file is None else rule_files.objects(self.status_file)
        try:
            return cases.inputs(operation, desired, observed, items, self.desired_replica)._replace(now="")
        except CaseError as error:
            raise UsageError(str(error), hint="--desired-file, --observed-file, --status-file") from error


@click.command("interpret")
@click.argument("what", metavar="[KIND/[NS/]NAME | RULES]...", nargs=-1, shell_complete=complete.interpreted)
@options.source
@_option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="FILE",
    help="Rules: a file, a folder, a URL, or - for standard input.  [default: those of the repository]",
)
@_option("-R", "--recursive", is_flag=True, help="With -f: folders inside folders too.")
@_option("--check", "checking", is_flag=True, help="Compile every script, run none.")
@_option("--edit", "editing", is_flag=True, help="Edit the scripts of one file (-f) as one Lua text.")
@_option("--show-doc", is_flag=True, help="With --edit: say above each script what it is given and gives.")
@_option(
    "--operation",
    metavar="OP",
    default="",
    shell_complete=complete.operations,
    help="Ask for one operation, e.g. InterpretHealth; in any case.",
)
@_option("--desired-file", type=_FILE, metavar="FILE", help="The object as it is in the repository; a file as for -f.")
@_option("--observed-file", type=_FILE, metavar="FILE", help="The object as it is in a cluster.")
@_option("--status-file", type=_FILE, metavar="FILE", help="AggregatedStatusItems, a document each.")
@_option(
    "--desired-replica",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="For ReviseReplica.",
)
@_option(
    "--cases",
    "folder",
    type=parameters.Files(exists=True, file_okay=False),
    metavar="DIR",
    help="Run the cases below this folder, in our layout and in Karmada's.",
)
@_option(
    "--base",
    metavar="REV",
    default="",
    shell_complete=complete.revisions,
    help="Say which answers about the templates differ from those by the rules of this commit.",
)
@options.output("text", "json", "yaml")
@parameters.value("files", Filenames)
@parameters.value("doing", Doing)
@parameters.value("operation_files", OperationFiles)
def command(
    what: tuple[str, ...],
    inputs: options.Inputs,
    files: Filenames,
    doing: Doing,
    operation_files: OperationFiles,
    output: options.Output,
) -> int:
    """Check, try and compare the rules that say what kinds mean: karmadactl's command, and more.

    Rules are ResourceInterpreterCustomizations: exactly those that are named, in files (-f) or, by their names, in the
    repository; else those of the repository together with the catalogue and what is known of Kubernetes' own kinds. A
    URL that you type is fetched over HTTPS; one that stands in a file never is.

    \b
    gitfed interpret --check                            do all scripts compile?
    gitfed interpret widgets --check                    does the customization widgets?
    gitfed interpret deploy/shop/web                    what is known about a template, and from where
    gitfed interpret widget/shop/a --operation ReviseReplica --desired-replica 3
    gitfed interpret -f rules.yaml --operation InterpretHealth --observed-file live.yaml
    gitfed interpret --cases rules/                     run test data
    gitfed interpret -f rules.yaml --edit               all scripts of a file in your editor
    gitfed interpret --base main                        which answers a branch changes

    \b
    Exit codes: 0 done · 1 a case failed, or answers differ (--base) · 2 bad usage · 3 a script or an input is wrong ·
    4 the repository cannot be read.
    """
    rules, objects = _named(what)
    modes = {
        "--check": doing.checking,
        "--edit": doing.editing,
        "--cases": doing.folder is not None,
        "--base": bool(doing.base),
        "--operation or an object": bool(doing.operation or objects),
    }
    chosen = [name for name, requested in modes.items() if requested]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} cannot be combined")
    if not chosen:
        file = next((name for name in (*files.filenames, *what) if Path(name).exists()), "")
        hint = f"do its scripts compile? gitfed interpret -f {file} --check" if file else ""
        raise UsageError(f"nothing to do: one of {', '.join(modes)}", hint=hint or "gitfed interpret --help")
    if files.filenames and (what or doing.folder is not None or doing.base):
        raise click.UsageError("-f goes with --check, --edit or --operation")
    if len(objects) > 1 or (rules and (doing.folder is not None or doing.base)):
        raise click.UsageError(
            "one object at a time" if len(objects) > 1 else "names go with --check, --edit, --operation"
        )
    session = load.CommandSession(inputs)
    if doing.editing:
        from gitfed.cli.commands.look import interpret_edit

        interpret_edit.edit(files.filenames or _paths(session, rules), RULES_SHOWN, show_doc=doing.show_doc)
        return exits.OK
    if doing.folder is not None:
        return _run_cases(doing.folder, output)
    if doing.base:
        return _compare(session, doing.base, output)
    if doing.checking:
        read_rules = _rules(session, files, rules)
        if files.filenames and not read_rules.documents and not read_rules.problems:
            deeper = not files.recursive and any(
                inner.is_dir() for filename in files.filenames for inner in Path(filename).glob("*")
            )
            raise InputError(
                f"no ResourceInterpreterCustomization in {', '.join(files.filenames)}",
                hint="-R reads the folders inside a folder too" if deeper else "rules are documents of that kind",
            )
        return _check(read_rules, output)
    only = _rules(session, files, rules) if files.filenames or rules else None
    return _ask(session, only, "".join(objects), doing.operation, operation_files, output)


def _named(what: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(names of customizations, objects): karmadactl's positional names are of customizations."""
    rules, objects = [], []
    for word in what:
        kind, slash, name = word.rpartition("/")
        if kind.lower() in _CUSTOMIZATION and (name or not slash):
            rules.append(name)
        else:
            objects.append(word)
    return tuple(rules), tuple(objects)


def _customizations(session: load.CommandSession, rules: tuple[str, ...]) -> list[ResourceInterpreterCustomization]:
    """Those of the repository with these names. Raises UsageError."""
    by_name = {customization.metadata.name: customization for customization in session.repo.interpreters}
    for name in rules:
        if name not in by_name:
            near = difflib.get_close_matches(name, list(by_name), n=1, cutoff=0.6)
            raise UsageError(
                f"the repository has no ResourceInterpreterCustomization {name}",
                hint=f"did you mean {near[0]}?" if near else "an object is KIND/NAME or KIND/NAMESPACE/NAME",
            )
    return [by_name[name] for name in rules]


def _paths(session: load.CommandSession, rules: tuple[str, ...]) -> tuple[str, ...]:
    """The files in which they stand. Raises UsageError."""
    customizations = _customizations(session, rules)
    if customizations and session.opened.root is None:
        raise UsageError("this repository has no files to edit", hint="--edit needs a checkout, or -f FILE")
    return tuple(
        str(session.opened.root / customization.origin.path)
        for customization in customizations
        if session.opened.root is not None
    )


def _check(files: rule_files.RuleFiles, output: options.Output) -> int:
    checked = [
        interpret_show.Checked(
            document, {} if document.customization is None else interpreters.compiled(document.customization)
        )
        for document in files.documents
    ]
    interpret_show.checks(checked, RULES_SHOWN, output)
    failed = any(result.document.customization is None or any(result.faults.values()) for result in checked)
    return exits.first([load.tell(files.problems), exits.INVALID if failed else exits.OK])


def _rules(session: load.CommandSession, files: Filenames, rules: tuple[str, ...]) -> rule_files.RuleFiles:
    if files.filenames:
        return rule_files.read(files.filenames, recursive=files.recursive)
    wanted = _customizations(session, rules) if rules else session.repo.interpreters
    customizations = sorted(wanted, key=lambda customization: (customization.origin, customization.metadata.name))
    problems = tuple(problem for problem in session.repo.problems if problem.severity == "error")
    return rule_files.RuleFiles(
        tuple(rule_files.Found(customization.origin.path, customization) for customization in customizations), problems
    )


def _ask(
    session: load.CommandSession,
    only: rule_files.RuleFiles | None,
    what: str,
    operation: str,
    operation_files: OperationFiles,
    output: options.Output,
) -> int:
    """`only`: nothing else is asked than these rules."""
    template = None
    if what:
        key = names.find(what, session.repo.manifests)
        template = session.repo.manifests[key].body
    code = exits.OK
    if only is not None:
        code = load.tell(only.problems)
        interpreter = interpreters.of_customizations(only.customizations)
    else:
        interpreter = daemon_inputs.interpreter_of(session.repo, session.decisions())
    try:
        wanted = [cases.operation(operation)] if operation else None
    except CaseError as error:
        raise UsageError(str(error)) from error
    if wanted is None:
        assert template is not None
        questions = list(cases.template_questions(template, ()))
    else:
        questions = [(wanted[0], operation_files.read(wanted[0], template))]
    answers = []
    for doing, inputs in questions:
        if only is not None and operation and not interpreter.handles(inputs.object, doing):
            kind = f"{inputs.object['kind']} ({inputs.object['apiVersion']})"
            where = dict.fromkeys(document.path for document in only.documents)
            raise InputError(f"no rule for {doing} of {kind} in {', '.join(where) or 'what is given'}")
        answers.append(interpret_show.InterpretedOperation(doing, inputs, cases.ask(interpreter, doing, inputs)))
    interpret_show.answers(answers, output, with_source=not operation)
    load.tell(interpreter.problems())
    failed = any(isinstance(interpreted.answer, Unknown) for interpreted in answers)
    return exits.first([code, exits.INVALID if failed else exits.OK])


def _run_cases(folder: Path, output: options.Output) -> int:
    case_folder = rule_files.case_folder(folder)
    results: list[interpret_show.Ran] = []
    unusable: list[str] = []
    code = exits.OK
    for root, files in case_folder.ours.items():
        interpreter = interpreters.of_catalogue(files)
        selected = rule_files.our_cases(files, case_folder.asked[root])
        results += [interpret_show.Ran(case, judge.check(case, interpreter)) for case in selected]
    for rules, data in case_folder.karmada.items():
        read = rule_files.read([str(rules)], recursive=False)
        code = exits.first([code, load.tell(read.problems)])
        interpreter = interpreters.of_customizations(read.customizations)
        for case in rule_files.karmada_cases(data):
            if isinstance(case, str):
                unusable.append(case)
            else:
                results.append(interpret_show.Ran(case, judge.check(case, interpreter)))
    interpret_show.ran(results, unusable, output)
    failed = any(result.differences for result in results)
    return exits.first([code, exits.INVALID if unusable else exits.OK, exits.DIFFERENT if failed else exits.OK])


def _compare(session: load.CommandSession, base: str, output: options.Output) -> int:
    """The answers about every template of this revision, by the rules of `base` and by its own."""
    past = session.decisions()
    before = daemon_inputs.interpreter_of(session.at(daemon_inputs.resolve(session.opened, base)), past)
    after = daemon_inputs.interpreter_of(session.repo, past)
    decided = past.bindings
    changes: list[interpret_show.Changed] = []
    for key, manifest in sorted(session.repo.manifests.items()):
        shares = (
            [share.replicas for share in decided[key].scheduled.shares if share.replicas is not None]
            if key in decided
            else []
        )
        for doing, inputs in cases.template_questions(manifest.body, shares):
            change = _changed(key, doing, inputs, before, after)
            if change is not None:
                changes.append(change)
    interpret_show.changes(changes, len(session.repo.manifests), output)
    failed = any(isinstance(changed.after, Unknown) for changed in changes)
    return exits.first(
        [load.tell(after.problems()), exits.INVALID if failed else exits.OK, exits.DIFFERENT if changes else exits.OK]
    )


def _changed(
    key: ObjectKey, doing: Operation, inputs: Any, before: Interpreter, after: Interpreter
) -> interpret_show.Changed | None:
    """None: the same answer, whichever rule gave it."""
    names_ = {interpreter.source(inputs.object, doing) for interpreter in (before, after)}
    if names_ <= interpreters.BUILT_IN:
        return None  # no rule of the user's own, before and after
    old, new = cases.ask(before, doing, inputs), cases.ask(after, doing, inputs)
    same = isinstance(old, Unknown) == isinstance(new, Unknown) and (
        old == new if isinstance(old, Unknown) or isinstance(new, Unknown) else old.value == new.value
    )
    return None if same else interpret_show.Changed(key, doing, inputs, old, new)
