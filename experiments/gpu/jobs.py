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


def awaited(path, seconds=3600):
    """The path, once the file is there."""
    end = time.time() + seconds
    while not path.exists():
        if time.time() > end:
            raise TimeoutError(f"{path} did not come within {seconds} s")
        time.sleep(0.2)
    return path


def meet(folder, count):
    """Returns when `count` processes of one parent have called it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{os.getppid()}.{os.getpid()}.here").touch()
    while len(list(folder.glob(f"{os.getppid()}.*.here"))) < count:
        time.sleep(0.01)


def work(names, folder, archive, deadline, expected, run, can_begin=lambda name: True, weight=lambda name: 1, patience=0):
    """Takes jobs in their order until none is left or time is short. `run(name)` gives the record of a job, which is expected to take
    `expected` seconds times its weight. A job that cannot begin yet is waited for, `patience` seconds in all; then others go first."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        left = [name for name in names if not (folder / f"{name}.json").exists()]
        fitting = [name for name in left if time.time() + expected * weight(name) <= deadline]
        if left and not fitting:
            print(f"{', '.join(left)}: left for another call, {deadline - time.time():.0f} s are left", flush=True)
        record, waits = None, False
        for name in fitting:
            if not can_begin(name):
                waits = True
                if patience > 0:
                    break
                continue
            record = claimed(name, folder, run)
            if record is not None:
                break
        if record is None:
            if not waits:
                return  # nothing is left that others are not working on
            time.sleep(0.5)
            patience -= 0.5
            continue
        if weight(name) == 1:
            expected = 1.05 * record["seconds"]
        if archive:
            with locked(folder / "archive.lock"):
                pack(folder, archive)


def claimed(name, folder, run):
    """Runs a job unless another process is at work on it or has finished it."""
    result, claim = folder / f"{name}.json", folder / f"{name}.claim"
    with open(claim, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        if result.exists():
            return None
        begun = time.time()
        record = run(name)
        record["seconds"] = time.time() - begun
        write_json(result, record)
        return record


def spawn(count, arguments, tries=2):
    """The same script as worker processes, each begun again once if it fails; returns the largest exit status."""

    def begun():
        return subprocess.Popen([sys.executable, sys.argv[0], *arguments, "--worker"])

    running = {begun(): tries - 1 for _ in range(count)}
    worst = 0
    while running:
        time.sleep(0.1)
        for process, left in list(running.items()):
            status = process.poll()
            if status is None:
                continue
            del running[process]
            if status == 0:
                continue
            print(f"a process ended with {status}; {left} more tries", flush=True)
            if left:
                running[begun()] = left - 1
            else:
                worst = max(worst, status, 1)
    return worst
