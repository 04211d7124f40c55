"""What posviz costs in time and memory, measured side by side with the plain alternative.

``make bench``, or ``python -m benchmarks [NAME …] [--write]``. One file a measurement.
"""

import posviz  # noqa: F401 -- first, so that numpy takes as many threads as it does in the product
