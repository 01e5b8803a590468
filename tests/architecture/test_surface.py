"""The public surface is what `understudy.__all__` says, and all of it is there."""

import pytest

import understudy


@pytest.mark.parametrize("name", understudy.__all__)
def test_public_name_exists(name):
    assert getattr(understudy, name) is not None


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = understudy.nonsense


def test_dir_lists_the_surface():
    assert set(understudy.__all__) == set(dir(understudy))


def test_version_matches_the_project_file():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["version"] == understudy.__version__
