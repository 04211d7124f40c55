"""What leaves the Interpolation page: the new table, the whole checkpoint, the lines of Python."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING

import streamlit as st

from posviz.errors import PosvizError, SourceError
from posviz.export.arrays import ARRAY_FORMATS, save_table
from posviz.export.recipe import Recipe
from posviz.ui import page, stream, uploads, wholemodel
from posviz.ui.access import visitor_access
from posviz.ui.format import data_size, literal

if TYPE_CHECKING:
    from posviz.export.plan import Plan
    from posviz.sources.bundle import Bundle
    from posviz.table import PositionTable
    from posviz.ui.opened import Opened
    from posviz.ui.stretch import Choice

AT_ONCE = 32 << 20  # bytes up to which the browser gets a checkpoint in one piece


def take_home(found: Opened, new: PositionTable, choice: Choice) -> None:
    """Buttons and sections that give the stretched table away in every form.

    Parameters
    ----------
    found : Opened
        The table before.
    new : PositionTable
        The table after.
    choice : Choice
        What was done to it.
    """
    recipe = _recipe(choice)
    name = f"{_plain(new.name)}-{new.n_positions}"
    for column, form in zip(st.columns(4), ARRAY_FORMATS.values(), strict=False):
        column.download_button(
            f"Table as {form.key}",
            data=partial(_table, new, form.key),
            file_name=f"{name}{form.key}",
            mime="application/octet-stream",
            on_click="ignore",
            help=form.explanation,
            width="stretch",
            key=f"download{form.key}",
        )
    with page.heavy_section("Take the whole checkpoint home") as is_open:
        if is_open:
            st.fragment(_checkpoint)(found, recipe)
    with page.section("The table in Python"):
        from posviz.export.card import table_snippet

        st.code(table_snippet(_ref(found), recipe, f"{name}.safetensors", parameter=_named(found)))


def _recipe(choice: Choice) -> Recipe:
    whole = isinstance(choice.size, int)
    return Recipe(
        length=choice.size if isinstance(choice.size, int) else None,
        grid_size=None if whole else choice.size,  # type: ignore[arg-type]
        method=choice.method,
        grid=choice.grid,
        keep=choice.keep,
    )


def _checkpoint(found: Opened, recipe: Recipe) -> None:
    from posviz.export.plan import plan

    try:
        bundle = _bundle(found)
        if bundle is None:
            return
        planned = plan(bundle, recipe, parameter=_named(found))
    except PosvizError as error:
        st.info(literal(str(error)), icon=":material/info:")
        return
    _button(planned)
    st.markdown("**What changes**")
    st.markdown("\n".join(f"- {literal(line)}" for line in planned.changed))
    if planned.left_out:
        st.markdown("**What stays behind**")
        st.markdown("\n".join(f"- {literal(line)}" for line in planned.left_out))
    from posviz.export.card import loading, snippet

    st.code(
        snippet(_ref(found), recipe, planned.name, loading(bundle), parameter=_named(found)),
    )


def _button(planned: Plan) -> None:
    from posviz.export.checkpoint import zip_pieces

    file, label = f"{planned.name}.zip", f"Download {planned.name}.zip, {data_size(planned.size)}"
    if planned.size > AT_ONCE:
        stream.download(label, file, planned.size, partial(zip_pieces, planned), key="whole-zip")
    else:
        st.download_button(
            label,
            data=lambda: b"".join(zip_pieces(planned)),
            file_name=file,
            mime="application/zip",
            on_click="ignore",
            key="whole",
        )


def _bundle(found: Opened) -> Bundle | None:
    """All files of the open checkpoint; None while something is still asked of the visitor."""
    from posviz.sources.bundle import open_bundle, open_uploaded_bundle

    access = visitor_access()
    if found.ref.startswith(uploads.PREFIX):
        files = st.file_uploader(
            "The files of an upload are not kept. Give them once more: the weights, config.json "
            "and what else should go along.",
            accept_multiple_files=True,
            key="whole_files",
        )
        return _again(found, open_uploaded_bundle({f.name: f for f in files})) if files else None
    if found.facts.source == "hub" and not wholemodel.is_here(found.ref):
        return None
    with st.spinner("Reading the checkpoint …"):
        return open_bundle(found.ref, access=access)


def _again(found: Opened, bundle: Bundle) -> Bundle:
    """An upload that was given once more; raises where it holds another table."""
    parameter = found.table.provenance.parameter
    if bundle.checkpoint.table(parameter).fingerprint != found.table.fingerprint:
        raise SourceError(
            f"These files hold another {parameter} than the table that is open. Give the files of "
            f"{found.ref.removeprefix(uploads.PREFIX)}."
        )
    return bundle


def _named(found: Opened) -> str | None:
    """The open table's parameter, where the checkpoint would open another one by itself."""
    parameter = found.table.provenance.parameter
    tables = found.facts.tables
    return None if found.facts.source == "run" or (
        tables and tables[0].parameter == parameter
    ) else parameter  # fmt: skip


def _ref(found: Opened) -> str:
    """The reference as somebody else would write it."""
    if not found.ref.startswith(uploads.PREFIX):
        return found.ref
    return PurePath("path/to", found.ref.removeprefix(uploads.PREFIX)).as_posix()


def _table(table: PositionTable, ending: str) -> bytes:
    held = BytesIO()
    save_table(table, held, ending=ending)
    return held.getvalue()


def _plain(name: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else "-" for char in name).strip("-")
