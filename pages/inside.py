"""Inside the model: what enters the first layer, and what attention reads from position."""

from posviz.ui import (
    address,
    inside,
    inside_ablations,
    inside_heads,
    inside_subspaces,
    inside_sum,
    page,
)

VIEWS = {
    "sum": ("The sum", inside_sum.view),
    "subspaces": ("Subspaces", inside_subspaces.view),
    "heads": ("Heads", inside_heads.view),
    "ablations": ("Ablations", inside_ablations.view),
}

found = page.question("What enters the first layer?")
opened = inside.model(found)
if opened is None:
    page.provenance(found)
else:
    labels = {key: label for key, (label, _) in VIEWS.items()}
    chosen = address.choice("View", labels, key="inside", label_visibility="collapsed")
    VIEWS[chosen][1](opened)
