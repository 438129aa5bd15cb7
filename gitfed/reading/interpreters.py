"""What knows the kinds of one commit: customizations, webhooks, our catalogue, Kubernetes' own rules, conditions.

The catalogue is read, and Lua started, when the first object asks for it: most repositories hold built-in kinds only,
and a command that looks at them is not to wait for either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitfed.edges import catalogue
from gitfed.errors import InputError
from gitfed.interpret import bundled, conditions, customized, kube_module, native, webhooks
from gitfed.interpret.conditions import Conditions
from gitfed.interpret.native import Native
from gitfed.interpret.registry import DEFAULT, Interpreter, Operation, OperationInputs, RuleSource
from gitfed.interpret.schema.kubernetes import Kubernetes
from gitfed.interpret.scripted import Rules, Scripted
from gitfed.model.base import Problem
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization
from gitfed.model.repo import RepoSnapshot
from gitfed.model.script import Call, Failed, Returned, Script
from gitfed.model.webhook import Find
from gitfed.reading import webhook_cache

if TYPE_CHECKING:
    from gitfed.edges.lua import Lua

_KUBERNETES = frozenset(
    {
        "v1", "apps/v1", "batch/v1", "autoscaling/v2", "policy/v1", "networking.k8s.io/v1", "storage.k8s.io/v1",
        "rbac.authorization.k8s.io/v1", "apiextensions.k8s.io/v1", "discovery.k8s.io/v1", "scheduling.k8s.io/v1",
    }
)  # fmt: skip
"""Versions that the catalogue has nothing about."""


KUBERNETES = Kubernetes(catalogue.kubernetes)
"""The types of its own kinds. One for the process: what was made of a file once serves every commit."""

BUILT_IN = frozenset({bundled.NAME, native.NAME, conditions.NAME, DEFAULT})
"""Sources of answers that no file of a repository changes."""


def of(
    repo: RepoSnapshot, find: Find | None = None, *, reaches_services: bool = True, kubernetes: Kubernetes | None = None
) -> Interpreter:
    """The interpreter of one commit. Its scripts live as long as it does; `find` knows what webhooks answered.

    Without it no answer is known: this contacts no webhook. `reaches_services` False: the caller runs in no cluster,
    so webhooks that are Services are problems. `kubernetes`: the types of another version than the clusters' own.
    """
    scripts = _Scripts()
    find = find or webhook_cache.recorded({})
    return Interpreter(
        (
            customized.source(repo.interpreters, scripts.run),
            *((webhooks.Webhooks(repo.webhooks, find),) if repo.webhooks else ()),
            _Catalogue(scripts),
            Native(),
            Conditions(),
        ),
        _Problems(repo.interpreters, scripts, () if reaches_services else webhooks.services(repo.webhooks)),
        kubernetes or KUBERNETES,
    )


def of_customizations(customizations: Sequence[ResourceInterpreterCustomization]) -> Interpreter:
    """Only these, and nothing else that could answer."""
    scripts = _Scripts()
    return Interpreter((customized.source(customizations, scripts.run),), _Problems(customizations, scripts))


def of_catalogue(files: Mapping[str, str]) -> Interpreter:
    """Only the rules of a folder in the catalogue's layout. Raises InputError for one that is not as it should be."""
    try:
        return Interpreter((bundled.source(files, _Scripts().run),))
    except bundled.CatalogueError as error:
        raise InputError(str(error)) from error


def of_scripts(rules: Mapping[str, Rules], others: Sequence[RuleSource]) -> Interpreter:
    """Scripts that another process read, by the name of their source; `others` are asked after them."""
    scripts = _Scripts()
    return Interpreter((*(Scripted(name, script_rules, scripts.run) for name, script_rules in rules.items()), *others))


def compiled(customization: ResourceInterpreterCustomization) -> Mapping[Operation, str]:
    """For every operation it has a script for: why that does not compile, "" if it does."""
    return customized.compiled(customization, _Scripts().lua.check)


def fault_of(name: str, text: str) -> str:
    """Why a script does not compile, "" if it does."""
    return _Scripts().lua.check(Script(name, text))


class _Problems:
    """What is wrong with the scripts of a repository: first what shows without running them, then what showed."""

    def __init__(
        self,
        customizations: Sequence[ResourceInterpreterCustomization],
        scripts: _Scripts,
        initial: tuple[Problem, ...] = (),
    ) -> None:
        """`initial`: what was wrong from the beginning."""
        self._customizations = customizations
        self._scripts = scripts
        self._initial = initial

    def __call__(self) -> tuple[Problem, ...]:
        if not self._customizations:
            return self._initial
        return (*self._initial, *self._unusable, *customized.noted(self._customizations, self._scripts.lua.notes()))

    @cached_property
    def _unusable(self) -> tuple[Problem, ...]:
        return customized.problems(self._customizations, self._scripts.lua.check)


class _Scripts:
    @cached_property
    def lua(self) -> Lua:
        from gitfed.edges.lua import Lua

        return Lua(kube_module.NAME)

    def run(self, calls: Sequence[Call]) -> Sequence[Returned | Failed]:
        return self.lua.run_all(calls)


class _Catalogue:
    """`interpret.bundled` as a source, read when a kind that is not Kubernetes' own is asked about."""

    name = bundled.NAME

    def __init__(self, scripts: _Scripts) -> None:
        self._scripts = scripts

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return api_version not in _KUBERNETES and self._source.handles(api_version, kind, operation)

    def scripts(self, api_version: str, kind: str, operation: Operation) -> Sequence[Script]:
        return self._source.scripts(api_version, kind, operation)

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        return self._source.answer(operation, inputs)

    def prepare(self, questions: Sequence[tuple[Operation, OperationInputs]]) -> None:
        self._source.prepare(questions)

    @cached_property
    def _source(self) -> Scripted:
        return bundled.source(catalogue.read(), self._scripts.run)
