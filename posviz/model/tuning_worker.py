"""A training run of any model in its own process: ``python -m posviz.model.tuning_worker``.

It speaks as :mod:`posviz.training.worker` does, and knows the models of others as well.
"""

from __future__ import annotations

import sys

from posviz.training.worker import main

WORKER = (sys.executable, "-m", "posviz.model.tuning_worker")

if __name__ == "__main__":
    from posviz.model.tuner import trainer_of

    main(trainer_of)
