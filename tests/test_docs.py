"""What the program knows, the documentation names; what the documentation says, works."""

from __future__ import annotations

import argparse
import doctest
import importlib.util
import inspect
import pkgutil
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import posviz
from posviz import errors
from posviz.analysis.metrics import METRICS
from posviz.analysis.nulls import NULLS
from posviz.cli import commands, main
from posviz.export.arrays import ARRAY_FORMATS
from posviz.interpolation import GRIDS, METHODS
from posviz.model.ablations import ABLATIONS
from posviz.model.attention import PARTS
from posviz.model.heads import KINDS
from posviz.sources import FORMATS, PRESETS

PROJECT = Path(__file__).resolve().parents[1]
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (PROJECT / "docs").glob("*.md")}
README = (PROJECT / "README.md").read_text(encoding="utf-8")
PAGES = DOCS | {"README.md": README}
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")


def _code(name: str) -> str:
    return f"`{name}`"


# Named in the docs ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name, kind in vars(errors).items() if inspect.isclass(kind)]
)
def test_every_error_is_explained(name: str) -> None:
    assert name in DOCS["errors.md"]


@pytest.mark.parametrize(
    "registry", [METRICS, NULLS, METHODS, GRIDS, PARTS, KINDS, ABLATIONS], ids=lambda r: "-".join(r)
)
def test_every_key_of_a_registry_is_defined(registry: dict[str, object]) -> None:
    missing = [key for key in registry if _code(key) not in DOCS["methods.md"]]
    assert missing == []


def test_the_table_of_all_numbers_is_that_of_the_registry() -> None:
    place = PROJECT / "docs" / "generate.py"
    spec = importlib.util.spec_from_file_location("docs_generate", place)
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert DOCS["methods.md"] == generate.written(), "write it again: make docs"


def test_every_number_that_is_printed_is_defined() -> None:
    from posviz.analysis.compare import compare
    from posviz.analysis.summary import analyze

    table = posviz.load("random:40x8")
    data = analyze(table).as_dict() | compare(table, table).as_dict()
    words = {"ref", "parameter", "n_positions", "d_model", "rows_used", "verdict"}
    missing = [key for key in data if key not in words and _code(key) not in DOCS["methods.md"]]
    assert missing == []


def test_every_label_and_key_of_a_number_is_named() -> None:
    from posviz.analysis.definitions import DEFINITIONS

    text = DOCS["methods.md"]
    missing = [d.key for d in DEFINITIONS.values() if f"| {d.label} | `{d.key}` |" not in text]
    assert missing == []


def test_the_rules_for_rows_apart_have_the_limits_of_the_program() -> None:
    from posviz.analysis import special

    (rules,) = re.findall(r"## Rows apart\n(.*?)\n## ", DOCS["methods.md"], re.DOTALL)
    rules = " ".join(rules.split())
    for words in (
        f"over {special.LONG:g} times or under {special.SHORT:g} times",
        f"more than {special.ROBUST_DEVIATIONS:g} robust standard deviations",
        f"the {special.NEIGHBOURS} rows on each side",
        f"at least {special.ORDERED_SHARE:.0%} of its rows".replace("%", " %"),
        f"likeness above {special.FRESH:g}",
        f"of those is {special.ORDERED:g} or more",
    ):
        assert words in rules
    assert (special.PART, "under an eighth of that median" in rules) == (1 / 8, True)


def test_the_number_of_downloads_at_a_time_is_that_of_the_program() -> None:
    from posviz.export import fetching

    assert f"| {fetching.MOST} models are being downloaded on this server |" in DOCS["errors.md"]


@pytest.mark.parametrize("command", commands.COMMANDS)
def test_every_command_and_option_is_explained(command: str) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    commands.COMMANDS[command].configure(parser)
    options = [flag for action in parser._actions for flag in action.option_strings]
    assert re.search(rf"^\| `{command}[ `]", DOCS["using.md"], re.MULTILINE)
    for flag in [*options, "--json"]:
        assert re.search(rf"`{flag}[ `]", DOCS["using.md"]), f"{command} {flag}"


def test_every_format_is_named() -> None:
    endings = [ending for form in FORMATS.values() for ending in form.endings]
    for text in (README, DOCS["using.md"]):
        assert [ending for ending in endings if ending not in text] == []
    assert [ending for ending in ARRAY_FORMATS if _code(ending) not in DOCS["using.md"]] == []


def test_every_preset_is_named() -> None:
    assert [name for name in PRESETS if _code(name) not in DOCS["using.md"]] == []


def test_every_dependency_has_a_reason() -> None:
    for file in ("requirements.txt", "requirements-dev.txt"):
        for line in (PROJECT / file).read_text(encoding="utf-8").splitlines():
            if found := re.match(r"([\w.-]+)==", line):
                assert f"| {found[1]} |" in DOCS["dependencies.md"], f"{file}: {found[1]}"
    for model in re.findall(r"--no-deps ([\w-]+)==", MAKEFILE):
        assert f"| {model} |" in DOCS["dependencies.md"]


def test_every_page_is_named() -> None:
    titles = re.findall(r'listed\("\w+", "([\w ]+)"', (PROJECT / "app.py").read_text())
    assert titles, "app.py lists its pages in another way now: change this test"
    assert [title for title in titles if f"| {title} |" not in DOCS["using.md"]] == []


def test_every_setting_from_the_environment_is_named() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in _sources())
    settings = set(re.findall(r'"(POSVIZ_\w+)"', source))
    assert [name for name in settings if name not in "".join(DOCS.values())] == []


# True of the program ----------------------------------------------------------------------


def _sources() -> list[Path]:
    return [
        PROJECT / "app.py",
        *(PROJECT / "pages").glob("*.py"),
        *(PROJECT / "posviz").rglob("*.py"),
    ]


def test_make_has_every_target_that_is_named() -> None:
    named = {word for text in PAGES.values() for word in re.findall(r"`?make ([a-z]+)\b", text)}
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    in_code = {
        word
        for text in PAGES.values()
        for word in re.findall(r"(?:^|`)make ([a-z]+)\b", text, re.MULTILINE)
    }
    assert {"run", "test"} <= in_code & named
    assert in_code <= targets


def test_the_check_of_a_change_runs_a_command_of_the_readme() -> None:
    lines = (PROJECT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    made = [found[1] for line in lines if (found := re.search(r"\bmake (\w+)", line))]
    assert made == ["test"]
    assert re.search(r"^make test\b", README, re.MULTILINE)
    assert (PROJECT / ".ci" / "run").stat().st_mode & 0o111


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    folder = PROJECT if name == "README.md" else PROJECT / "docs"
    for target in re.findall(r"\]\(([^)#]+)\)", PAGES[name]):
        assert target.startswith("http") or (folder / target).exists(), target


@pytest.mark.parametrize("name", PAGES)
def test_paths_of_the_project_exist(name: str) -> None:
    for path in re.findall(r"`((?:posviz|tests|pages|benchmarks|docs)/[\w/.-]*)`", PAGES[name]):
        assert (PROJECT / path).exists(), path


def _console_lines() -> list[str]:
    blocks = "".join(re.findall(r"```console\n(.*?)```", "".join(PAGES.values()), re.DOTALL))
    return [line.partition("#")[0].strip() for line in re.findall(r"^\$ (.*)", blocks, re.M)]


def test_there_are_command_lines_to_try() -> None:
    assert len(_console_lines()) >= 4


@pytest.mark.parametrize("line", _console_lines())
def test_command_lines_are_right(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(line)
    words = words[words.index("posviz") + 1 :]
    options = commands.parse(words)[1]
    ref = getattr(options, "ref", "")
    if ref in PRESETS or ref.startswith("path/"):
        return  # needs the Hub, or the reader's own file: the grammar is all that can be tried
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0


@pytest.mark.parametrize("name", PAGES)
def test_python_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", PAGES[name], re.DOTALL):
        if "..." not in block:  # an excerpt, not a program
            exec(compile(block, name, "exec"), {})


def _modules() -> list[str]:
    found = pkgutil.walk_packages(posviz.__path__, "posviz.")
    return [module.name for module in found if not module.name.endswith("__main__")]


@pytest.mark.parametrize("name", _modules())
def test_examples_in_docstrings_are_right(name: str) -> None:
    source = importlib.util.find_spec(name)
    assert source is not None
    assert source.origin is not None
    if ">>>" in Path(source.origin).read_text(encoding="utf-8"):
        assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_proxy_sample_lets_through_what_the_app_accepts() -> None:
    config = tomllib.loads((PROJECT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    (limit,) = re.findall(r"client_max_body_size (\d+)m;", DOCS["using.md"])
    assert int(limit) >= config["server"]["maxUploadSize"]


# Fit for strangers ------------------------------------------------------------------------


def test_nothing_names_a_path_of_one_machine() -> None:
    for path in [
        *_sources(),
        *PROJECT.glob("*.md"),
        *PROJECT.glob("docs/*.*"),
        PROJECT / "Dockerfile",
    ]:
        found = re.search(r"/(?:home|root|Users|work)/\w+", path.read_text(encoding="utf-8"))
        assert found is None or found[0] == "/home/posviz", f"{path.name}: {found and found[0]}"
