#!/usr/bin/env python3
"""Compares the numbers of two builds of the command on the same data.

Usage: compare_editions.py FIRST SECOND DATA [--work FOLDER] [--only WORD]

FIRST and SECOND are two `spadework` programs; DATA is the folder of `SPADEWORK_DATA` (CONTRIBUTING.md says what lies in it).
Both programs make the same calls of score, compare, sweep, layers, select and check with `--json`, and every number that both
documents have in the same place is compared. Models are matched by name, so that another order of a ranking is one difference and
not many. Calls of score also write their tables and graphs, whose columns are compared too: the edges of both graphs, and the
scores of all edges and samples. For every call the places whose numbers are equal to the last bit are listed, and a table has the
others, with the numbers that differ by more than 1e-6, the default tolerance of the eigenpairs. Words that differ and places that
only one document has follow. Seconds, notes and what says who made a document are left out.
"""

import argparse
import csv
import json
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

# Who made it, when and how long it took; what was asked for is the same call.
LEFT_OUT = re.compile(r"(_s|seconds|/version|/command|/schema|/iterations)$|^/(notes|warnings|timings|request)/")
# Names of fields in earlier builds, and their names now.
RENAMED = {"enclosure": "numerical_bounds", "edge_overlap": "overlap", "held": "survived", "top_overlap": "top_shared"}
# Names that other places have too.
RENAMED_AT = [(re.compile(r"/agreement/\d+/overlap$"), "top_shared")]
# What a document's lists are matched by, where their items have it.
KEYS = ("name", "index", "label", "neighbors")
TOLERANCE = 1e-6
# Words that differ, of which this many are listed.
MOST_WORDS = 20

MNIST = "--inputs mnist:{data}/mnist:test --outputs {data}/logits/mnist_test_lenet5.npz:lenet5_eps0.1"
CIFAR = "--inputs cifar10:{data}/cifar10:test --outputs {data}/logits/cifar10_test_resnet18.npz:resnet18_l2_eps0.5"
DIGITS = "--inputs digits --outputs {work}/digits.npy"
MODELS = " ".join(f"--outputs {{data}}/logits/mnist_test_lenet5.npz:lenet5_eps0.{at}" for at in (0, 2, 4))
RESNETS = " ".join(f"--outputs {{data}}/logits/cifar10_test_resnet18.npz:resnet18_l2_eps{at}" for at in ("0.0", "0.5", "1.0"))
CALLS = {
    "score, digits": f"score {DIGITS} --interval --references --indices",
    "score, digits, all eigenpairs": f"score {DIGITS} --eigenpairs all",
    "score, MNIST": f"score {MNIST}",
    "score, CIFAR-10": f"score {CIFAR}",
    "sweep, digits": f"sweep {DIGITS} -k 10,20",
    "select, digits": f"select {DIGITS} --top 100 --by fragility",
    "check, digits": f"check {DIGITS} --max-score 1e6",
    "compare, CIFAR-10": f"compare --inputs cifar10:{{data}}/cifar10:test {RESNETS}",
    "sweep, CIFAR-10": f"sweep --inputs cifar10:{{data}}/cifar10:test {RESNETS} -k 10,20",
    "select, CIFAR-10": f"select {CIFAR} --top 100 --by fragility",
    "select by node, CIFAR-10": f"select {CIFAR} --top 100 --by node",
    "check, CIFAR-10": f"check {CIFAR} --max-score 1e6",
    "compare, MNIST": f"compare --inputs mnist:{{data}}/mnist:test {MODELS}",
    "sweep, MNIST": f"sweep --inputs mnist:{{data}}/mnist:test {MODELS} -k 10,20",
    "layers, MNIST": "layers --model {data}/models/lenet5_eps0.0.onnx --inputs mnist:{data}/mnist:test",
    "select, MNIST": f"select {MNIST} --top 100 --by fragility",
    "select by node, MNIST": f"select {MNIST} --top 100 --by node",
    "check, MNIST": f"check {MNIST} --max-score 1e6",
}


def run(program, arguments):
    """What a call prints; a call that fails ends the comparison."""
    done = subprocess.run([program, *arguments.split()], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{program} {arguments}\n{done.stderr.strip()}")
    return done.stdout


def tables(folder):
    """The columns of all tables in a folder; those without a header are lists of edges."""
    found = {}
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="") as lines:
            rows = list(csv.reader(lines))
        header = rows.pop(0) if not rows[0][0].replace(".", "", 1).isdigit() else ["p", "q", "weight"]
        for name, column in zip(header, zip(*rows)):
            found[f"{file.stem}:{name}"] = [number_of(cell) for cell in column]
    return found


def number_of(cell):
    """A cell as a number where it is one."""
    try:
        return float(cell)
    except ValueError:
        return cell


def name_of(key, place):
    """The name that a field has now."""
    moved = [name for at, name in RENAMED_AT if at.search(f"{place}/{key}")]
    return moved[0] if moved else RENAMED.get(key, key)


def leaves(value, place=""):
    """Every number and word of a document with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{place}/{name_of(key, place)}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            named = [f"{key}={str(item[key]).replace('/', ':')}" for key in KEYS if isinstance(item, dict) and key in item]
            yield from leaves(item, f"{place}/{named[0] if named else at}")
    elif value is not None and not LEFT_OUT.search(place):
        yield place, value


def difference(first, second):
    """Relative, of two numbers."""
    return abs(first - second) / max(abs(first), abs(second), 1e-300) if first != second else 0.0


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def place_of_all(place):
    """The place of all items of lists that an item is in."""
    return re.sub(r"/(\d+|\w+=[^/]*)", "/*", place)


def compared(first, second):
    """Differences of the numbers by the place of all items, the words that differ, and the places that only one has."""
    first, second = dict(leaves(first)), dict(leaves(second))
    numbers, words = defaultdict(dict), []
    for at in sorted(first.keys() & second.keys()):
        if is_number(first[at]) and is_number(second[at]):
            numbers[place_of_all(at)][at] = difference(first[at], second[at])
        elif first[at] != second[at]:
            words.append(f"{at}: {first[at]!r}, {second[at]!r}")
    only = [Counter(map(place_of_all, one.keys() - other.keys())) for one, other in ((first, second), (second, first))]
    return numbers, words, only


def document_of(program, call, folder):
    """What a call prints, with the tables that it writes."""
    if call.startswith("score "):
        call += f" --out {folder} --save-graphs csv"
    document = json.loads(run(program, f"{call} --json --quiet"))
    return {**document, "tables": tables(folder)} if folder.is_dir() else document


def report(name, numbers, words, only):
    """Prints what differs, and what is equal to the last bit."""
    equal = [place for place, found in numbers.items() if not any(found.values())]
    count = sum(len(numbers[place]) for place in equal)
    print(f"\n## {name}\n\n{count} numbers equal to the last bit: {', '.join(equal)}\n", flush=True)
    if len(equal) < len(numbers):
        print("| place | numbers | differ | more than the tolerance | largest relative difference |\n| --- | --- | --- | --- | --- |")
    for place in numbers.keys() - set(equal):
        found = numbers[place].values()
        cells = [len(found), sum(one > 0 for one in found), sum(one > TOLERANCE for one in found), f"{max(found):.1e}"]
        print(f"| {place} | {' | '.join(map(str, cells))} |")
    print("\n".join([f"- another word: {line}" for line in words[:MOST_WORDS]]))
    for edition, places in zip(("first", "second"), only):
        if places:
            print(f"- only in the {edition}: {', '.join(f'{place} ({count})' for place, count in sorted(places.items()))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, help="where documents and tables are kept; a temporary folder by default")
    parser.add_argument("--only", default="", help="only the calls whose name contains this")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = asked.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        # Outputs that differ from the inputs: the same file for both programs.
        run(asked.first, f"corrupt --inputs digits --kind gaussian-noise --severity 2 --out {work}/digits.npy --quiet")
        for name, call in CALLS.items():
            if asked.only not in name:
                continue
            documents = []
            for edition, program in (("first", asked.first), ("second", asked.second)):
                folder = work / f"{re.sub('[^a-z0-9]+', '-', name.lower())}-{edition}"
                documents.append(document_of(program, call.format(data=asked.data, work=work), folder))
                folder.with_suffix(".json").write_text(json.dumps(documents[-1], indent=1))
            report(name, *compared(*documents))


if __name__ == "__main__":
    main()
