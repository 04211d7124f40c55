"""``posviz extend``: stretch or shrink a table, see what that does to it, save it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posviz.cli.command import Command, LazyKeys, access, add_ref, count, grid_size, grids, methods
from posviz.cli.output import Answer, columns, complain, number
from posviz.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from posviz.export.recipe import Recipe
    from posviz.table import PositionTable

_FILES = {".txt", ".json", ".md", ".gz", ".tar", ".pkl", ".pickle", ".onnx", ".msgpack"}


def _configure(options: argparse.ArgumentParser) -> None:
    add_ref(options)
    options.add_argument(
        "--length", metavar="N", type=count, help="positions of the new table, more or fewer"
    )
    options.add_argument(
        "--method",
        metavar="M",
        choices=LazyKeys(methods),
        default="linear",
        help="how new rows are made: %(choices)s (default %(default)s)",
    )
    options.add_argument(
        "--grid",
        metavar="G",
        choices=LazyKeys(grids),
        default="align-corners",
        help="where new positions lie among the old, for methods that resample: %(choices)s "
        "(default %(default)s)",
    )
    options.add_argument(
        "--grid-size", metavar="HxW", type=grid_size, help="new height and width of an image table"
    )
    options.add_argument(
        "--keep",
        metavar="ROWS",
        default="",
        help="positions kept as they are: 0, first:20, special",
    )
    options.add_argument(
        "--antialias", action="store_true", help="smooth before shrinking (linear and bicubic)"
    )
    options.add_argument(
        "--seed", metavar="S", type=int, default=0, help="for methods that draw (default 0)"
    )
    options.add_argument(
        "-o",
        "--out",
        metavar="OUT",
        type=Path,
        help="write the table (.npy, .safetensors), or the whole checkpoint (a folder, or .zip)",
    )


def _run(options: argparse.Namespace) -> Answer:
    from posviz import sources
    from posviz.export.recipe import Recipe
    from posviz.interpolation import geometry

    if options.length is None and options.grid_size is None:
        raise SettingError("extend needs --length N, or --grid-size HxW for a table with a grid.")
    options.ref = sources.plain(options.ref)
    recipe = Recipe(
        length=options.length,
        method=options.method,
        grid=options.grid,
        keep=options.keep,
        seed=options.seed,
        grid_size=options.grid_size,
        antialias=options.antialias,
    )
    whole = options.out is not None and _is_checkpoint(options.out)
    if options.out is not None:
        _check_out(Path(options.ref), options.out, whole=whole)
    table = sources.load(options.ref, parameter=options.parameter, access=access())
    result = recipe.apply(table)
    data = {
        "ref": options.ref,
        "parameter": table.provenance.parameter,
        "method": result.method,
        "grid": result.grid,
        "from": table.n_positions,
        "to": result.table.n_positions,
        "kept": list(result.kept),
        "metrics": asdict(geometry(result.table.weights)),
        "metrics_before": asdict(geometry(table.weights)),
        "holdout": _holdout(table),
        "out": None if options.out is None else str(options.out),
        "changed": [],
        "left_out": [],
    }
    if whole:
        data |= _write_checkpoint(options, recipe)
    elif options.out is not None:
        from posviz.export.arrays import save_table

        save_table(result.table, options.out)
    return Answer(data, _text(data))


def _is_checkpoint(out: Path) -> bool:
    """Whether OUT asks for a whole checkpoint: a folder, or a zip of one.

    A name that ends like a file of tensors or text is a slip of the keyboard, not a folder.
    """
    from posviz.sources import FORMATS

    endings = {ending for form in FORMATS.values() for ending in form.endings}
    return out.is_dir() or out.suffix.lower() not in endings | _FILES


def _check_out(source: Path, out: Path, *, whole: bool) -> None:
    """Say what is wrong with OUT before the work, not after."""
    from posviz.export.arrays import array_format
    from posviz.export.checkpoint import check_target

    if whole:
        check_target(out, source=source)
    else:
        array_format(out.suffix)
        _spare(source, out)


def _write_checkpoint(options: argparse.Namespace, recipe: Recipe) -> dict[str, list[str]]:
    from posviz.export.checkpoint import write
    from posviz.export.plan import plan
    from posviz.sources.bundle import open_bundle

    bundle = open_bundle(options.ref, access=access(), told=complain)
    done = write(bundle, plan(bundle, recipe, parameter=options.parameter), options.out)
    return {"changed": list(done.changed), "left_out": list(done.left_out)}


def _spare(source: Path, out: Path) -> None:
    """Refuse to write over the very file that is read."""
    try:
        same = source.samefile(out)
    except OSError:  # one of them is no file
        return
    if same:
        raise SettingError(
            f"{out} is the table that is read; writing there would lose it. Give another -o."
        )


def _holdout(table: PositionTable) -> dict[str, float]:
    """Errors by method, special rows left out; none for a grid, whose rows are no sequence."""
    from posviz.analysis.special import special_rows
    from posviz.interpolation import holdout

    if table.grid is not None:
        return {}
    special = [row.position for row in special_rows(table.weights)]
    return holdout(table.weights, exclude=special)


def _text(data: dict[str, Any]) -> str:
    title = f"{data['ref']}: {data['from']} to {data['to']} positions, {data['method']}"
    if data["grid"]:
        title += f", {data['grid']}"
    if data["kept"]:
        title += f", {len(data['kept'])} rows kept"
    rows = [
        (name, number(data["metrics_before"][name]), number(after))
        for name, after in data["metrics"].items()
    ]
    parts = [title, columns([("", "before", "after"), *rows], indent="  ")]
    if data["holdout"]:
        parts.append("Every second row left out and rebuilt: relative error, smallest first")
        errors = sorted(data["holdout"].items(), key=lambda item: item[1])
        parts.append(columns([(name, number(error)) for name, error in errors], indent="  "))
    if data["out"]:
        parts.append(f"written to {data['out']}")
    parts += [f"  {line}" for line in data["changed"]]
    parts += [f"  left out: {line}" for line in data["left_out"]]
    return "\n".join(parts)


COMMAND = Command("stretch or shrink a table to another length", _configure, _run)
