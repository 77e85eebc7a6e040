from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragctx.cli.config import Settings, cache_folder, corpus_names, find_project_file, load
from ragctx.errors import RagctxError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def settings(
    project: Path, *, toml: str = "", user: str = "", flags: Settings | None = None, **environment: str
) -> Settings:
    if toml:
        (project / "ragctx.toml").write_text(toml, encoding="utf-8")
    user_file = project.parent / "user.toml"
    if user:
        user_file.write_text(user, encoding="utf-8")
    deep = project / "a" / "b"
    deep.mkdir(parents=True, exist_ok=True)
    return load(flags or Settings(), environment=environment, folder=deep, user=user_file)


def test_without_anything_nothing_is_set(project: Path) -> None:
    assert settings(project) == Settings()
    assert corpus_names(Settings()) == ("shipped",)


VALUES = [
    ("budget", 1, 2, 3, 4),
    ("supplement", 1, 2, 3, 4),
    ("target", "v4", "v5e", "v5p", "v6e"),
    ("engine", "a", "b", "c", "d"),
    ("api", True, False, True, False),
    ("sections", ("api",), ("rules", "facts"), ("examples",), ("facts",)),
    ("modules", ("a",), ("b", "c"), ("d",), ("e",)),
    ("corpus", ("/a",), ("/b", "/c"), ("/d",), ("/e",)),
    ("index", "/a", "/b", "/c", "/d"),
    ("cache", "/a", "/b", "/c", "/d"),
    ("templates", "/a", "/b", "/c", "/d"),
    ("python", "/a", "/b", "/c", "/d"),
]


def toml(name: str, value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(list(value) if isinstance(value, tuple) else value)
    return f"{name} = {text}\n"


def variable(name: str, value: object) -> str:
    if isinstance(value, tuple):
        return (os.pathsep if name == "corpus" else ",").join(value)
    return str(value)


@pytest.mark.parametrize(("name", "flag", "variable_value", "file_value", "user_value"), VALUES)
def test_flag_then_variable_then_project_then_user(
    project: Path, name: str, flag: object, variable_value: object, file_value: object, user_value: object
) -> None:
    environment = {f"RAGCTX_{name.upper()}": variable(name, variable_value)}
    flags = Settings(**{name: flag})  # type: ignore[arg-type]
    user = toml(name, user_value)

    assert getattr(settings(project, user=user), name) == user_value
    assert getattr(settings(project, user=user, toml=toml(name, file_value)), name) == file_value
    assert getattr(settings(project, **environment), name) == variable_value
    assert getattr(settings(project, flags=flags, **environment), name) == flag


def test_layers_are_merged_key_by_key(project: Path) -> None:
    found = settings(project, user="budget = 1\ntarget = 'v4'\n", toml="budget = 2\n", RAGCTX_ENGINE="rank-bm25")
    assert found == Settings(budget=2, target="v4", engine="rank-bm25")


def test_off_is_a_value_and_nothing_is_none(project: Path) -> None:
    assert settings(project, toml="api = true\n", RAGCTX_API="0").api is False
    assert settings(project, flags=Settings(budget=0), toml="budget = 5\n").budget == 0
    assert settings(project, toml="budget = 5\n", RAGCTX_BUDGET=" ").budget == 5


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("Yes", True), ("on", True), ("false", False), ("OFF", False)]
)
def test_switches(project: Path, text: str, value: bool) -> None:
    assert settings(project, RAGCTX_API=text).api is value


def test_lists_in_variables(project: Path) -> None:
    found = settings(project, RAGCTX_SECTIONS=" api , rules,", RAGCTX_CORPUS=f"shipped{os.pathsep}docs")
    assert found == Settings(sections=("api", "rules"), corpus=("shipped", "docs"))


def test_one_string_is_a_list_of_one(project: Path) -> None:
    assert settings(project, toml="sections = 'api'\n").sections == ("api",)


def test_the_nearest_project_file_counts(project: Path) -> None:
    (project.parent / "ragctx.toml").write_text("budget = 9\n")
    assert settings(project).budget == 9
    assert settings(project, toml="target = 'v4'\n") == Settings(target="v4")
    assert find_project_file(project / "a") == project / "ragctx.toml"
    assert find_project_file(Path("/")) is None


def test_paths_of_a_file_are_relative_to_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    found = settings(
        project,
        toml="corpus = ['shipped', 'docs', '/abs', '~/own']\nindex = 'idx'\ncache = '../c'\ntemplates = 't'\n"
        "python = '.venv/bin/python'\n",
    )
    assert found == Settings(
        corpus=("shipped", f"{project}/docs", "/abs", "/home/me/own"),
        index=f"{project}/idx",
        cache=f"{project}/../c",
        templates=f"{project}/t",
        python=f"{project}/.venv/bin/python",
    )
    assert settings(project, toml="python = 'python3.12'\n").python == "python3.12"


def test_paths_of_variables_and_flags_stay_as_they_are(project: Path) -> None:
    found = settings(project, flags=Settings(index="idx"), RAGCTX_CACHE="c", RAGCTX_CORPUS="docs")
    assert (found.index, found.cache, found.corpus) == ("idx", "c", ("docs",))


def test_the_users_file_can_be_named(project: Path) -> None:
    own = project / "own.toml"
    own.write_text("budget = 77\n")
    assert load(Settings(), environment={"RAGCTX_CONFIG": str(own)}, folder=project).budget == 77


def test_the_users_file_in_its_usual_place(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "config"))
    (project / "config" / "ragctx").mkdir(parents=True)
    (project / "config" / "ragctx" / "config.toml").write_text("budget = 78\n")
    assert load(Settings(), environment={}, folder=project).budget == 78


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("budjet = 1\n", ": unknown key 'budjet'; use any of: corpus, modules, api, python, index, cache, budget,"),
        ("[tool]\nbudget = 1\n", ": unknown key 'tool'; use any of: "),
        ("budget = 'many'\n", ": budget: must be a whole number"),
        ("budget = true\n", ": budget: must be a whole number"),
        ("budget = 1.5\n", ": budget: must be a whole number"),
        ("api = 1\n", ": api: must be true or false"),
        ("sections = [1]\n", ": sections: must be a list of strings"),
        ("corpus = {a = 1}\n", ": corpus: must be a list of strings"),
        ("target = 6\n", ": target: must be a string"),
        ("budget = \n", ": not valid TOML: "),
    ],
)
def test_what_a_file_may_not_say(project: Path, content: str, says: str) -> None:
    with pytest.raises(RagctxError) as caught:
        settings(project, toml=content)
    assert str(caught.value).startswith(f"{project / 'ragctx.toml'}{says}")
    (project / "ragctx.toml").unlink()
    with pytest.raises(RagctxError) as caught:
        settings(project, user=content)
    assert str(caught.value).startswith(f"{project.parent / 'user.toml'}{says}")


def test_a_file_that_is_not_utf8(project: Path) -> None:
    (project / "ragctx.toml").write_bytes(b"target = '\xff'\n")
    with pytest.raises(RagctxError, match="the settings file is not UTF-8"):
        settings(project)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("RAGCTX_BUDGET", "many", "RAGCTX_BUDGET: 'many' is not a whole number"),
        ("RAGCTX_SUPPLEMENT", "1.5", "RAGCTX_SUPPLEMENT: '1.5' is not a whole number"),
        ("RAGCTX_API", "maybe", "RAGCTX_API: 'maybe' is neither on nor off; use 1 or 0"),
    ],
)
def test_what_a_variable_may_not_say(project: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(RagctxError) as caught:
        settings(project, **{name: text})
    assert str(caught.value) == says


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder(Settings()) == Path("/x/ragctx")
    assert cache_folder(Settings(cache="c")) == Path("c")
