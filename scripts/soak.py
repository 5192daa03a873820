#!/usr/bin/env python3
"""Runs the command on random graphs, mutated files and through random kills for some minutes, and compares it with what others say.

    scripts/soak.py target/release/spadework --minutes 3 --seed 1

Needs numpy, scipy and mpmath, and onnx and onnxruntime for the last part, which is left out without them. Every part has an equal
part of the time:

graphs  random pairs of graphs, with weights over up to eight decades and scales up to 1e±250. The score must agree with a dense
        solution in 60 digits (mpmath, up to 14 nodes) or in double precision (SciPy, when the graphs are well conditioned),
        and lie within its bounds; otherwise the command must refuse with exit code 3.
files   files of every format, mutated: bytes flipped, cut out, repeated or put in. Exit codes are 0, 2 or 3, stderr has one
        message, no run takes more than 2 GB or 20 seconds.
results folders of results, of which one file is mutated, read by `report`, `check`, `eigen` and `scores`. As above; a page is
        complete or absent.
kills   `score --out` and `compare --out`, of arrays and of a model that is probed, killed with SIGKILL at random moments, then run
        again: numbers and tables must be those of a run that was not interrupted. Parts are kept ten times per second, so that
        most kills are within a stage; how many runs took up parts is counted.
models  random models against onnxruntime (scripts/check_random_models.py).

The last line has the figures; the exit code is 1 where anything was wrong. Files that made it so are kept.
"""
import argparse
import importlib.util
import json
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import mpmath
import numpy as np
import scipy.linalg

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "crates/spadework-io/tests/fixtures"
MODEL = ROOT / "crates/spadework-model/tests/fixtures/onnx/mlp.onnx"
MEMORY = 2 << 30
SECONDS = 20


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def call(binary, arguments, folder, **options):
    """The finished process; None where it took too long."""
    environment = {"PATH": "/usr/bin:/bin", "RAYON_NUM_THREADS": "1"}
    try:
        return subprocess.run([binary, *arguments], cwd=folder, env=environment, capture_output=True, timeout=SECONDS, **options)
    except subprocess.TimeoutExpired:
        return None


def laplacian(nodes, edges, number):
    matrix = [[number(0)] * nodes for _ in range(nodes)]
    for p, q, weight in edges:
        weight = number(weight)
        matrix[p][q] -= weight
        matrix[q][p] -= weight
        matrix[p][p] += weight
        matrix[q][q] += weight
    return matrix


def largest(nodes, input_edges, output_edges):
    """The largest eigenvalue of L_X v = λ L_Y v; both Laplacians lose their last node."""
    if nodes <= 14:
        with mpmath.workdps(60):
            # By the largest weights, since the decompositions of mpmath have absolute tolerances.
            scales = [mpmath.mpf(max(weight for *_, weight in edges)) for edges in (input_edges, output_edges)]
            grounded = [
                mpmath.matrix([row[:-1] for row in laplacian(nodes, edges, mpmath.mpf)[:-1]]) / scale
                for edges, scale in zip((input_edges, output_edges), scales)
            ]
            factor = mpmath.inverse(mpmath.cholesky(grounded[1]))
            found = max(mpmath.eigsy(factor * grounded[0] * factor.T, eigvals_only=True))
            return float(found * scales[0] / scales[1])
    x, y = (np.array(laplacian(nodes, edges, float))[:-1, :-1] for edges in (input_edges, output_edges))
    return float(scipy.linalg.eigh(x, y, eigvals_only=True)[-1])


def random_edges(source, nodes, decades, scale):
    weight = lambda: scale * 10 ** -source.uniform(0, decades)
    order = source.sample(range(nodes), nodes)
    edges = {tuple(sorted(pair)): weight() for pair in zip(order, order[1:])}
    for _ in range(source.randrange(2 * nodes)):
        p, q = source.sample(range(nodes), 2)
        edges[min(p, q), max(p, q)] = weight()
    return [(p, q, w) for (p, q), w in edges.items()]


def check_graphs(binary, source, until, folder):
    counts = {"graphs": 0, "refused": 0, "worst": 0.0, "wrong": 0}
    while time.monotonic() < until:
        precise = source.random() < 0.7
        nodes = source.randrange(4, 15) if precise else source.randrange(15, 300)
        decades = source.choice([0, 1, 4, 8]) if precise else source.choice([0, 1])
        scales = [10.0 ** source.choice([0, 0, 0, 100, -100, 200, -200, 250]) for _ in range(2)]
        if source.random() < 0.6:
            scales = [scales[0]] * 2
        if not precise:
            scales = [1.0, 1.0]
        sides = [random_edges(source, nodes, decades, scale) for scale in scales]
        for side, edges in zip(("x", "y"), sides):
            lines = "".join(f"{p},{q},{w!r}\n" for p, q, w in edges)
            (folder / f"{side}.csv").write_text("p,q,weight\n" + lines)
        solver = source.choice(["davidson", "power"])
        arguments = ["score", "--json", "--quiet", "-r", "1", "--solver", solver, "--input-graph", "x.csv", "--output-graph", "y.csv"]
        done = call(binary, arguments, folder)
        counts["graphs"] += 1
        if done is not None and done.returncode == 3 and done.stderr.startswith(b"error: "):
            counts["refused"] += 1
            continue
        is_right = done is not None and done.returncode == 0
        if is_right:
            document = json.loads(done.stdout)
            score, bounds = document["model_score"], document["numerical_bounds"]
            expected = largest(nodes, *sides)
            error = abs(score / expected - 1)
            counts["worst"] = max(counts["worst"], error)
            slack = 1e-9 * expected
            is_right = error < 1e-5 and bounds["lower"] <= expected + slack and expected <= bounds["upper"] + slack
        if not is_right:
            counts["wrong"] += 1
            keep(folder, f"graphs-{counts['graphs']}-{solver}")
    return counts


def mutated(source, content):
    content = bytearray(content)
    for _ in range(source.choice([1, 1, 2, 5, 20])):
        if not content:
            break
        at = source.randrange(len(content))
        kind = source.randrange(5)
        if kind == 0:
            content[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            content[at] = source.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif kind == 2:
            del content[at : at + source.randrange(1, 64)]
        elif kind == 3:
            content[at:at] = content[at : at + source.randrange(1, 64)]
        else:
            content[at:at] = source.randbytes(source.randrange(1, 16))
    return bytes(content)


def ended_well(done):
    """Whether a call has read a file, or refused it with one message."""
    if done is None or done.returncode not in (0, 2, 3):
        return False
    lines = done.stderr.decode(errors="replace").splitlines()
    messages = [line for line in lines if not line.startswith(("note: ", "hint: "))]
    return len(messages) == (done.returncode != 0) and "panicked" not in " ".join(lines)


def check_files(binary, source, until, folder):
    counts = {"files": 0, "read": 0, "wrong": 0}
    arrays = [path for path in sorted(FIXTURES.iterdir()) if path.is_file() and path.suffix != ".md"]
    graphs = sorted((FIXTURES / "graphs").iterdir())
    np.save(folder / "y.npy", np.random.default_rng(0).random((40, 3)))
    while time.monotonic() < until:
        path = source.choice(arrays + graphs)
        (folder / path.name).write_bytes(mutated(source, path.read_bytes()))
        inputs, outputs = ("--input-graph", "--output-graph") if path in graphs else ("--inputs", "--outputs")
        # With itself as its outputs, what is still readable is scored too.
        other = source.choice([["--outputs", "y.npy"], [outputs, path.name]])
        done = call(binary, ["score", "--json", "-k", "2", inputs, path.name, *other], folder, preexec_fn=limited)
        counts["files"] += 1
        is_right = ended_well(done)
        counts["read"] += is_right and done.returncode == 0
        if not is_right:
            counts["wrong"] += 1
            keep(folder, f"files-{counts['files']}-{path.name}")
        (folder / path.name).unlink()
    return counts


def check_results(binary, source, until, folder):
    counts = {"results": 0, "read": 0, "wrong": 0}
    generator = np.random.default_rng(source.randrange(1 << 30))
    np.save(folder / "x.npy", generator.random((60, 5)))
    for name in ("y", "z"):
        np.save(folder / f"{name}.npy", generator.random((60, 3)))
    np.save(folder / "labels.npy", generator.integers(0, 3, 60))
    arrays = ["--inputs", "x.npy", "--outputs", "y.npy", "--neighbors", "5", "--quiet"]
    both = [*arrays, "--outputs", "z.npy"]
    report = ["report", "used", "--output", "page.html", "--quiet"]
    check = ["check", *arrays, "--max-drop", "100%", "--baseline", "used"]
    kinds = [
        (["score", *arrays, "--labels", "labels.npy"], [report, check]),
        (["compare", *both], [report]),
        (["sweep", *both], [report]),
        (["graph", *arrays], [["eigen", "used", "--quiet"], ["scores", "used", "--quiet"]]),
    ]
    for at, (command, _) in enumerate(kinds):
        subprocess.run([binary, *command, "--out", f"whole{at}"], cwd=folder, check=True, capture_output=True)
    subprocess.run([binary, "eigen", "whole3", "--quiet"], cwd=folder, check=True, capture_output=True)
    page, used = folder / "page.html", folder / "used"
    while time.monotonic() < until:
        at = source.randrange(len(kinds))
        shutil.copytree(folder / f"whole{at}", used)
        victim = source.choice(sorted(path for path in used.rglob("*") if path.is_file()))
        victim.write_bytes(mutated(source, victim.read_bytes()))
        reader = source.choice(kinds[at][1])
        done = call(binary, reader, folder, preexec_fn=limited)
        counts["results"] += 1
        # A baseline with other numbers may close the gate.
        is_right = ended_well(done) or (done is not None and done.returncode == 1 and reader is check)
        is_right = is_right and (page.exists() == (reader is report and done.returncode == 0))
        is_right = is_right and (not page.exists() or page.read_bytes().rstrip().endswith(b"</html>"))
        counts["read"] += is_right and done.returncode == 0
        if not is_right:
            counts["wrong"] += 1
            (folder / "stderr").write_bytes(done.stderr if done else b"no end")
            keep(folder, f"results-{counts['results']}-{reader[0]}-{victim.name}")
        page.unlink(missing_ok=True)
        shutil.rmtree(used)
    return counts


def numbers(folder):
    document = json.loads((folder / "result.json").read_text())
    for field in ("timings", "command", "made_from"):
        document.pop(field, None)
    for model in document.get("models", []):
        model.pop("total_s", None)
    return document, {table.name: table.read_bytes() for table in sorted(folder.glob("*.csv"))}


def check_kills(binary, source, until, folder):
    counts = {"kills": 0, "at work": 0, "resumed": 0, "from parts": 0, "wrong": 0}
    generator = np.random.default_rng(source.randrange(1 << 30))
    inputs = generator.random((3000, 40)).astype(np.float32)
    np.save(folder / "x.npy", inputs)
    np.save(folder / "y.npy", np.sin(3 * inputs[:, :3]) + inputs[:, 3:6])
    np.save(folder / "few.npy", inputs[:1500, :4])
    for copy in ("a.onnx", "b.onnx"):
        shutil.copy(MODEL, folder / copy)
    probe = ["--probe", "linf:0.1", "--probes", "60", "--probe-samples", "1500"]
    commands = [
        ["score", "--inputs", "x.npy", "--outputs", "y.npy", "--report", "page.html"],
        ["score", "--inputs", "few.npy", "--model", "a.onnx", *probe],
        ["compare", "--inputs", "few.npy", "--model", "a=a.onnx", "--model", "b=b.onnx", *probe],
    ]
    environment = {"PATH": "/usr/bin:/bin", "SPADEWORK_PART_SECONDS": "0.1"}
    times = []
    for at, command in enumerate(commands):
        began = time.monotonic()
        subprocess.run([binary, *command, "--out", f"whole{at}"], cwd=folder, check=True, capture_output=True, env=environment)
        times.append(time.monotonic() - began)
    while time.monotonic() < until:
        at = source.randrange(len(commands))
        call = [binary, *commands[at], "--out", "result"]
        for _ in range(source.randrange(1, 4)):
            child = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            time.sleep(source.random() * times[at])
            counts["at work"] += child.poll() is None
            child.send_signal(signal.SIGKILL)
            child.wait()
            counts["kills"] += 1
        done = subprocess.run(call, cwd=folder, capture_output=True, env=environment)
        counts["resumed"] += 1
        counts["from parts"] += b"continue where an earlier run was interrupted" in done.stderr
        # Temporary files of the killed runs too: the last one removes them.
        leftovers = list(folder.rglob(".*"))
        if done.returncode != 0 or numbers(folder / "result") != numbers(folder / f"whole{at}") or leftovers:
            counts["wrong"] += 1
            keep(folder, f"kills-{counts['kills']}")
        shutil.rmtree(folder / "result")
    return counts


def check_models(binary, source, until, folder):
    """Random models, by the script that compares them."""
    minutes = (until - time.monotonic()) / 60
    script = [sys.executable, str(ROOT / "scripts/check_random_models.py"), binary, "--models", "1000000"]
    call = [*script, "--minutes", str(minutes), "--seed", str(source.randrange(1 << 30))]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    print(*lines[:-1], sep="\n", end="\n" * (len(lines) > 1), file=sys.stderr)
    return {"models": lines[-1] if lines else done.stderr.strip(), "wrong": int(done.returncode != 0)}


def keep(folder, name):
    place = pathlib.Path(f"soak-{name}")
    shutil.copytree(folder, place, dirs_exist_ok=True)
    print(f"wrong: kept in {place}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    figures, is_right = [], True
    parts = [check_graphs, check_files, check_results, check_kills]
    if all(importlib.util.find_spec(name) for name in ("onnx", "onnxruntime")):
        parts.append(check_models)
    seconds = 60 * chosen.minutes / len(parts)
    for part in parts:
        source = random.Random(f"{chosen.seed} {part.__name__}")
        with tempfile.TemporaryDirectory() as folder:
            counts = part(chosen.binary, source, time.monotonic() + seconds, pathlib.Path(folder))
        is_right &= counts["wrong"] == 0
        figures.append(", ".join(f"{name} {count:.1e}" if isinstance(count, float) else f"{name} {count}" for name, count in counts.items()))
    print(f"soak: seed {chosen.seed}, {chosen.minutes:g} minutes: " + "; ".join(figures))
    sys.exit(0 if is_right else 1)


main()
