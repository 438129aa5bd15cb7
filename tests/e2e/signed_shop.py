"""The shop whose repository demands signatures."""

from __future__ import annotations

from tests.e2e.shop import BASE
from tests.e2e.world import World, settings
from tests.support.signing import Person


def signs(world: World, person: Person | None) -> None:
    """From now on pushes are signed by this person; None: by nobody."""
    world.git("config", "commit.gpgSign", "true" if person else "false")
    if person:
        world.git("config", "gpg.format", person.kind)
        world.git("config", "user.signingKey", person.key)
        world.environment["GNUPGHOME"] = str(person.home)


def demanding(person: Person, **guards: object) -> dict[str, str | None]:
    verify = {"commits": "all", "keys": ["keys/ada.asc"]}
    return {
        **BASE,
        "gitfed.json": settings(sources={"verify": verify}, guards={"approvers": ["keys/ada.asc"], **guards}),
        "keys/ada.asc": person.public,
    }
