"""Runs a list of jobs in several processes of one GPU, each result a file of its own as soon as it is there.

A job whose file exists is not run again, so a call that was cut short goes on where it stopped. A process takes no job that it cannot
expect to finish before the deadline. After every job, all results are packed into one archive.
"""

import base64
import fcntl
import hashlib
import json
import os
import platform
import subprocess
import sys
import tarfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np


def packed(flags):
    """Flags as text: eight to a byte, the first in the highest bit, base64."""
    return base64.b64encode(np.packbits(np.asarray(flags, bool))).decode()


def unpacked(text, count):
    return np.unpackbits(np.frombuffer(base64.b64decode(text), np.uint8))[:count].astype(bool)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def scores(path, count):
    """The scores of the first `count` training images by name; none where there is no file."""
    return {name: values[:count] for name, values in np.load(path).items()} if path.exists() else {}


def versions():
    """What the numbers depend on besides the settings."""
    import torch

    cuda = torch.cuda.is_available()
    code = sorted(Path(__file__).parent.glob("*.py"))
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version() if cuda else None,
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "code": {path.name: digest(path.read_bytes()) for path in code},
    }


@contextmanager
def locked(path):
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_json(path, record):
    """All of it or nothing: a reader never sees half a file."""
    beside = path.with_suffix(f".{os.getpid()}.part")
    beside.write_text(json.dumps(record, indent=1) + "\n")
    beside.replace(path)


def pack(folder, archive):
    """All results in one file."""
    beside = archive.with_suffix(f".{os.getpid()}.part")
    with tarfile.open(beside, "w:gz") as tar:
        for path in sorted(folder.glob("*.json")):
            tar.add(path, path.name)
    beside.replace(archive)


def work(names, folder, archive, deadline, expected, run):
    """Takes jobs until none is left or time is short. `run(name)` gives the record of a job."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        result, claim = folder / f"{name}.json", folder / f"{name}.claim"
        if result.exists():
            continue
        if time.time() + expected > deadline:
            print(f"{name}: left for another call, {deadline - time.time():.0f} s are left", flush=True)
            return
        with open(claim, "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if result.exists():
                continue
            begun = time.time()
            record = run(name)
            record["seconds"] = time.time() - begun
            write_json(result, record)
            expected = 1.05 * record["seconds"]
        if archive:
            with locked(folder / "archive.lock"):
                pack(folder, archive)


def spawn(count, arguments):
    """The same script as worker processes; returns the largest exit status."""
    processes = [subprocess.Popen([sys.executable, sys.argv[0], *arguments, "--worker"]) for _ in range(count)]
    return max(process.wait() for process in processes)
