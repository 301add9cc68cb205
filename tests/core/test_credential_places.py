"""The list of places where programs keep credentials, as data: what its users rely on."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from netclaw.core.credential_places import FILES, FOLDERS, PLACES


@pytest.mark.requirement("sandbox.private-places")
def test_the_places_are_relative_and_each_is_named_once() -> None:
    assert sorted({*FOLDERS, *FILES}) == sorted(PLACES)
    assert len(set(PLACES)) == len(PLACES)
    for place in PLACES:
        path = PurePosixPath(place)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert path.as_posix() == place


@pytest.mark.requirement("sandbox.private-places")
def test_no_place_lies_in_a_folder_that_is_one_already() -> None:
    for place in PLACES:
        parents = {parent.as_posix() for parent in PurePosixPath(place).parents}
        assert not parents & set(FOLDERS), place


@pytest.mark.requirement("sandbox.private-places")
@pytest.mark.parametrize(
    "place", [".ssh", ".aws", ".gnupg", ".netrc", ".npmrc", ".git-credentials"]
)
def test_the_best_known_places_are_there(place: str) -> None:
    assert place in PLACES
