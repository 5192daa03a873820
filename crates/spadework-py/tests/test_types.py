"""Types: the package passes mypy, and the stub of the native module is not stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import spadework


def run(*arguments, **options):
    found = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=600, **options)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_package_is_typed(tmp_path):
    package = Path(spadework.__file__).parent
    assert (package / "py.typed").exists()
    settings = Path(__file__).parents[1] / "pyproject.toml"
    run("mypy", "--config-file", settings, "--cache-dir", tmp_path, "-p", "spadework", cwd=tmp_path)


def test_the_stub_is_that_of_the_module(tmp_path):
    run("mypy.stubtest", "spadework._native", cwd=tmp_path)
