"""``python -m spadework``: the command line."""

from __future__ import annotations

import os
import sys

from . import _native


def main() -> int:
    """Run the command line with the arguments of this process; gives its exit code."""
    # As the binary does: onnxruntime keeps no events for its makers.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return _native.run_command(["spadework", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
