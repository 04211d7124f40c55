"""What posviz costs in time and memory, measured side by side with the plain alternative.

``make bench``, or ``python -m benchmarks [NAME …] [--write]``. One file a measurement.
"""
