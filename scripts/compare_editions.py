#!/usr/bin/env python3
"""Compares the numbers of two builds of the command on the same data.

Usage: compare_editions.py FIRST SECOND DATA [--work FOLDER] [--only WORD]

FIRST and SECOND are two `spadework` programs; DATA is the folder of `SPADEWORK_DATA` (CONTRIBUTING.md says what lies in it).
Both programs make the same calls of score, compare, sweep, layers, select and check with `--json`. Every number that both
documents have in the same place is compared. Models are matched by name, so that another order of a ranking is one difference
and not many. The table has a line per call: numbers compared, numbers that differ, and the largest relative difference with its
place. Numbers that differ by more than 1e-6, the default tolerance of the eigenpairs, are listed below it, and so are words that
differ and places that only one document has, counted by name. Seconds, notes and what says who made a document are left out.
"""

import argparse
import json
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

# Who made it, when and how long it took; what was asked for is the same call.
LEFT_OUT = re.compile(r"(_s|seconds|/version|/command|/schema|/iterations)$|^/(notes|warnings|timings|request)/")
# What a document's lists are matched by, where their items have it.
KEYS = ("name", "label", "index", "neighbors")
TOLERANCE = 1e-6

MNIST = "--inputs mnist:{data}/mnist:test --outputs {data}/logits/mnist_test_lenet5.npz:lenet5_eps0.1"
CIFAR = "--inputs cifar10:{data}/cifar10:test --outputs {data}/logits/cifar10_test_resnet18.npz:resnet18_l2_eps0.5"
DIGITS = "--inputs digits --outputs {work}/digits.npy"
MODELS = " ".join(f"--outputs {{data}}/logits/mnist_test_lenet5.npz:lenet5_eps0.{at}" for at in (0, 2, 4))
CALLS = {
    "score, digits": f"score {DIGITS} --interval --references --indices",
    "score, digits, all eigenpairs": f"score {DIGITS} --eigenpairs all",
    "score, MNIST": f"score {MNIST}",
    "score, CIFAR-10": f"score {CIFAR}",
    "compare, MNIST": f"compare --inputs mnist:{{data}}/mnist:test {MODELS}",
    "sweep, MNIST": f"sweep --inputs mnist:{{data}}/mnist:test {MODELS} -k 10,20",
    "layers, MNIST": "layers --model {data}/models/lenet5_eps0.0.onnx --inputs mnist:{data}/mnist:test",
    "select, MNIST": f"select {MNIST} --top 100",
    "check, MNIST": f"check {MNIST} --max-score 1e6",
}


def run(program, arguments):
    """What a call prints; a call that fails ends the comparison."""
    done = subprocess.run([program, *arguments.split()], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{program} {arguments}\n{done.stderr.strip()}")
    return done.stdout


def leaves(value, place=""):
    """Every number and word of a document with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{place}/{key}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            named = [f"{key}={item[key]}" for key in KEYS if isinstance(item, dict) and key in item]
            yield from leaves(item, f"{place}/{named[0] if named else at}")
    elif value is not None and not LEFT_OUT.search(place):
        yield place, value


def difference(first, second):
    """Relative, of two numbers."""
    return abs(first - second) / max(abs(first), abs(second), 1e-300) if first != second else 0.0


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def compared(first, second):
    """The numbers of both with their differences, the words that differ, and the places that only one has."""
    first, second = dict(leaves(first)), dict(leaves(second))
    shared = first.keys() & second.keys()
    numbers = {at: difference(first[at], second[at]) for at in shared if is_number(first[at]) and is_number(second[at])}
    words = [f"{at}: {first[at]!r}, {second[at]!r}" for at in sorted(shared - numbers.keys()) if first[at] != second[at]]
    large = [f"{at}: {first[at]!r}, {second[at]!r}" for at in sorted(numbers) if numbers[at] > TOLERANCE]
    names = [Counter(re.sub(r"/(\d+|\w+=[^/]*)", "/*", at) for at in only) for only in (first.keys() - shared, second.keys() - shared)]
    return numbers, words, large, names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, help="where documents are kept; a temporary folder by default")
    parser.add_argument("--only", default="", help="only the calls whose name contains this")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = asked.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        # Outputs that differ from the inputs: the same file for both programs.
        run(asked.first, f"corrupt --inputs digits --kind gaussian-noise --severity 2 --out {work}/digits.npy --quiet")
        print("| call | numbers | differ | largest relative difference | where |\n| --- | --- | --- | --- | --- |")
        listed = []
        for name, call in CALLS.items():
            if asked.only not in name:
                continue
            call = call.format(data=asked.data, work=work) + " --json --quiet"
            documents = [json.loads(run(program, call)) for program in (asked.first, asked.second)]
            for edition, document in zip(("first", "second"), documents):
                (work / f"{name.replace(', ', '-').replace(' ', '-')}.{edition}.json").write_text(json.dumps(document, indent=1))
            numbers, words, large, (only_first, only_second) = compared(*documents)
            worst = max(numbers, key=numbers.get)
            differing = sum(value > 0 for value in numbers.values())
            print(f"| {name} | {len(numbers)} | {differing} | {numbers[worst]:.1e} | {worst if differing else ''} |", flush=True)
            listed += [f"{name}: more than {TOLERANCE:g} apart: {line}" for line in large]
            listed += [f"{name}: another word: {line}" for line in words]
            listed += [f"{name}: only the first has {count} of {place}" for place, count in sorted(only_first.items())]
            listed += [f"{name}: only the second has {count} of {place}" for place, count in sorted(only_second.items())]
        print("\n" + "\n".join(listed))


if __name__ == "__main__":
    main()
