"""Runs Spadework and its peers on the same data, checks that they agree, and writes docs/benchmarks.md.

Called by bench/run, which makes the Python environment. Every measurement is a process of its own: `spadework-bench`
for ours, peers.py for theirs. A peer that is not installed, fails or takes too long is left out with a line.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

import report
from data import Data, Missing
from peers import query_rows

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
CACHE = ROOT / "target" / "bench-data"
K = 10
# Eigenvalues must agree to this; each program gets the loosest tolerance that reaches it.
EIGENVALUE_ERROR = 1e-6
OUR_TOLERANCES = ("1e-3", "7e-4", "5e-4", "3e-4", "1e-4", "1e-5", "1e-6")
ARPACK_TOLERANCES = ("1e-1", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6")
LOBPCG_TOLERANCES = ("3e-2", "1e-2", "3e-3", "1e-3", "1e-4", "1e-5")
SCALE = (10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
LARGEST = 10_000_000
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM", "NUMEXPR")
}


class Failed(Exception):
    """A measurement that gave no result."""


class GivenUp(Failed):
    """A process that took too long, with the CPU seconds and the memory that it had used by then."""

    def __init__(self, timeout, cpu_s, peak_mib):
        super().__init__(f"took more than {timeout:g} s, with {cpu_s:.0f} CPU-s and {peak_mib:,.0f} MiB by then")
        self.cpu_s, self.peak_mib = cpu_s, peak_mib


def used_so_far(pid):
    """CPU seconds and most memory (MiB) of a process that runs; zeros where the system does not tell."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:
        return 0.0, 0.0
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK"), int(status["VmHWM"].split()[0]) / 1024


class Bench:
    def __init__(self, options):
        self.options = options
        self.data = Data(options.data, CACHE)
        self.rows, self.targets, self.skipped = [], [], []
        self.section, self.made, self.graph_folders = None, {}, set()
        profile = [] if options.profile == "release" else ["--profile", options.profile]
        packages = ["-p", "spadework-bench", "-p", "spadework-cli"]
        flags = profile or ["--release"]
        subprocess.run(["cargo", "build", "--quiet", *flags, *packages], cwd=ROOT, check=True)
        self.binaries = TARGET / options.profile

    def begin(self, section):
        self.section = section
        self.made[section] = True

    # Measuring

    def call(self, command, env=None, patience=1):
        """Runs a process that prints one JSON line; `patience`: how many times longer than others it may take."""
        timeout = patience * self.options.timeout
        env = dict(os.environ, **(env or {}))
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
            try:
                output, errors = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                used = used_so_far(process.pid)
                process.kill()
                raise GivenUp(timeout, *used) from None
        if process.returncode:
            raise Failed((errors.strip().splitlines() or [f"exit code {process.returncode}"])[-1][:200])
        return json.loads(output.strip().splitlines()[-1])

    def ours(self, *arguments):
        return self.call([self.binaries / "spadework-bench", *map(str, arguments)])

    def peer(self, *arguments):
        return self.call([sys.executable, HERE / "peers.py", *map(str, arguments)], ONE_THREAD)

    def skip(self, line):
        print(f"   left out: {line}", flush=True)
        self.skipped.append(dict(section=self.section, line=line))

    def row(self, data, program, result, note="", ours=None, yardstick=False):
        """Notes a measurement; `ours` is our row of the same work, or None where this is ours, or a yardstick."""
        row = dict(
            section=self.section,
            data=data,
            program=program,
            ours=ours is None and not yardstick,
            cpu_s=result["cpu_s"],
            wall_s=result["wall_s"],
            grown_mib=result.get("grown_mib"),
            peak_mib=result.get("peak_mib"),
            note=note,
        )
        if ours is not None:
            row["times"] = row["cpu_s"] / ours["cpu_s"]
        row["peer"] = ours is not None and not program.startswith("Spadework")
        self.rows.append(row)
        times = f"  {row['times']:6.2f}x" if ours is not None else ""
        print(f"   {data:34} {program:30} {row['cpu_s']:9.3f} CPU-s {times}  {note}", flush=True)
        return row

    def target(self, work, against, least, ours, peers):
        """At least this many times faster than the best of the peers that ran."""
        peers = [row for row in peers if row]
        if not peers:
            return
        best = min(peers, key=lambda row: row["cpu_s"])
        ratio = best["cpu_s"] / ours["cpu_s"]
        self.verdict(work, against, f"{least:g}×", f"{ratio:.1f}× ({best['program']})", ratio >= least)

    def verdict(self, work, against, least, measured, met):
        self.targets.append(dict(section=self.section, work=work, against=against, least=least, measured=measured, met=bool(met)))
        print(f"   target: {work}: {measured}, wanted {least}: {'met' if met else 'MISSED'}", flush=True)

    # Neighbors

    def knn_all(self):
        test, outputs = self.data.mnist_test, self.data.mnist_test_outputs
        exact = ["scikit-learn brute", "FAISS flat"]
        rough = ["hnswlib M=48 ef=100", "pynndescent"]
        self.knn("MNIST test inputs", test, exact, rough, against=exact, least=6)
        self.knn("MNIST test outputs", outputs, [*exact, "scikit-learn kd_tree"], rough)
        if self.options.quick:
            return
        self.adversarial()
        few = dict(queries=2000)
        self.knn("MNIST 70,000 inputs", self.data.mnist, exact, rough, against=rough[:1], least=6, **few)
        tree = ["scikit-learn kd_tree", "FAISS flat"]
        self.knn("MNIST 70,000 outputs", self.data.mnist_outputs, tree, rough, against=tree, least=5)
        self.knn("CIFAR-10 60,000 inputs", self.data.cifar, ["FAISS flat"], [], against=["FAISS flat"], least=6, **few)

    def cosine_all(self):
        """Embeddings of items, as encoders of sentences make them."""
        if self.options.quick:
            return
        peers = ["scikit-learn brute, cosine", "FAISS flat, cosine"]
        self.knn("embeddings, cosine", self.data.embeddings, peers, [], against=peers, least=1, queries=2000, metric="cosine")

    def pixels_all(self):
        """Long rows of bytes: ours are searched as they are, the peers are given them in single precision."""
        n = 1000 if self.options.quick else 4000
        exact, rough = ["FAISS flat", "scikit-learn brute"], ["hnswlib M=48 ef=100", "pynndescent"]
        self.knn("photographs", lambda: self.data.photographs(n), exact, rough, against=exact, least=5)

    def adversarial(self):
        """Where nothing can be ruled out, the search must not cost more than brute force by matrix products."""
        ours, peers = self.knn("Gaussian, no main axes", self.data.gaussian, ["scikit-learn brute", "FAISS flat"], [])
        best = min(peers.values(), key=lambda row: row["cpu_s"], default=None)
        if best:
            ratio = ours["cpu_s"] / best["cpu_s"]
            self.verdict("no main axes, k = 10", "brute force", "1.2× at most", f"{ratio:.2f}× ({best['program']})", ratio <= 1.2)

    def knn(self, name, array, exact, rough, against=(), least=None, queries=None, metric="euclidean"):
        """`queries`: exact peers search for so many rows only, and the time of that is scaled up."""
        try:
            path = array()
        except Missing as missing:
            return self.skip(f"{name}: {missing}")
        n, *shape = np.load(path, mmap_mode="r").shape
        dim = int(np.prod(shape))
        data, lists = f"{name}, {n:,} × {dim}", CACHE / "lists.npy"
        result = self.ours("knn", "--inputs", path, "-k", K, "--save", lists, "--metric", metric)
        ours = self.row(data, "Spadework exact", result)
        mine, rows = np.load(lists), {}
        for program in [*exact, *rough]:
            sampled = queries if program in exact and queries else n
            save = CACHE / "peer-lists.npy"
            try:
                result = self.peer("knn", program, path, K, save, sampled)
            except Failed as failure:
                self.skip(f"{data}: {program}: {failure}")
                continue
            note = self.compare(path, mine, np.load(save), query_rows(n, sampled), program in exact, metric)
            if sampled < n:
                note += f"; {sampled:,} of {n:,} rows searched, the time of the search × {n / sampled:g}"
            rows[program] = self.row(data, program, result, note, ours)
        if least:
            self.target(f"{name}, k = {K}", ", ".join(against), least, ours, [rows.get(peer) for peer in against])
        return ours, rows

    def compare(self, path, mine, theirs, rows, exact, metric):
        """How a peer's lists compare with ours; rows that differ are judged by their distances in double precision."""
        x, mine = np.load(path, mmap_mode="r"), mine[rows]
        found = (theirs[:, :, None] == mine[:, None, :]).any(axis=2)
        recall = found.mean()
        differ = np.flatnonzero(~found.all(axis=1))
        ours_far, excess = 0, 0.0

        def point(at):
            numbers = x[at].astype(np.float64)
            return numbers / np.linalg.norm(numbers) if metric == "cosine" else numbers

        for row in differ:
            own = point(rows[row])
            last = [max(((point(q) - own) ** 2).sum() for q in lists[row]) for lists in (mine, theirs)]
            ours_far += last[0] > last[1] * (1 + 1e-12)
            excess = max(excess, last[1] / last[0] - 1 if last[0] > 0 else 0.0)
        if ours_far:
            raise SystemExit(f"bench: {ours_far} rows of {path} have nearer neighbors than ours")
        if not exact:
            return f"recall {recall:.4f}"
        if excess > 1e-4:
            raise SystemExit(f"bench: an exact peer's neighbors in {path} are further than ours by {excess:.1e}")
        return "the same" if not len(differ) else f"the same up to ties and rounding ({len(differ)} rows)"

    # Eigenpairs

    def graphs(self, name, inputs, outputs):
        """Made once a run: those of another day may be of another version."""
        folder = CACHE / f"graphs_{name}_k{K}"
        if folder not in self.graph_folders:
            self.graph_folders.add(folder)
            threads = ("--threads", os.cpu_count())
            search = ("--inputs", inputs, "--outputs", outputs, "-k", K)
            self.ours("eigen", *search, "-r", 1, "--repeat", 1, "--save-graphs", folder, *threads)
        return folder

    def eigen_all(self):
        data = self.data
        sets = [(10_000, "MNIST test", "mnist_test", lambda: (data.mnist_test(), data.mnist_test_outputs()), (1, 2, 10))]
        if not self.options.quick:
            sets += [
                (70_000, "MNIST 70,000", "mnist_70k", lambda: (data.mnist(), data.mnist_outputs()), (1, 2, 10)),
                (200_000, "clusters 200,000", "clusters_200k", lambda: data.clusters(200_000), (1, 2)),
            ]
        for size, name, key, arrays, ranks in sets:
            if size > self.options.largest:
                continue
            try:
                folder = self.graphs(key, *arrays())
            except (Missing, Failed) as failure:
                self.skip(f"{name}: {failure}")
                continue
            for r in ranks:
                self.eigen(name, folder, r)

    def eigen(self, name, folder, r):
        """Every target is judged by the peer that is best in this run."""
        data, is_large = f"{name}, r = {r}", "200,000" in name
        reference = self.ours("eigen", "--graphs", folder, "-r", r, "--tolerance", "1e-10", "--repeat", 1)["values"]
        error = lambda result: max(abs(a / b - 1) for a, b in zip(result["values"], reference))

        def loosest(tolerances, run):
            """The loosest tolerance whose eigenvalues are right."""
            for tolerance in tolerances:
                result = run(tolerance)
                if error(result) <= EIGENVALUE_ERROR:
                    return result, f"to {error(result):.0e} (tolerance {tolerance})"
            raise Failed(f"eigenvalues off by {error(result):.0e} at tolerance {tolerance}")

        run = lambda *options: self.ours("eigen", "--graphs", folder, "-r", r, "--tolerance", *options)
        result, note = loosest(OUR_TOLERANCES, run)
        ours = self.row(data, "Spadework", result, note)
        if not self.options.quick:
            self.two_threads(data, ours, run)
        default = run("1e-6", "--bounds")
        solved = self.row(data, "Spadework, default 1e-6", default, f"to {error(default):.0e}", ours)
        note = f"in addition to the eigenpairs; {default['iterations']} iterations before"
        bounds = self.row(data, "Spadework, numerical bounds", default["bounds"], note, ours)
        part = bounds["cpu_s"] / solved["cpu_s"]
        self.verdict(f"numerical bounds, {data}", "eigenpairs to 1e-6", "half at most", f"{part:.2f}", part <= 0.5)
        both = dict(cpu_s=solved["cpu_s"] + bounds["cpu_s"])
        peers = [("ARPACK + CHOLMOD", ARPACK_TOLERANCES)]
        if not installed("scikit-sparse"):
            peers.pop()
            self.skip(f"{data}: ARPACK + CHOLMOD: scikit-sparse is not installed")
        # One direct factorization is enough where each takes minutes.
        if not is_large or not peers:
            peers.append(("ARPACK + SuperLU", ARPACK_TOLERANCES))
        peers.append(("LOBPCG + pyamg", LOBPCG_TOLERANCES))
        rows, given_up = {}, {}
        for program, tolerances in peers:
            try:
                result, note = loosest(tolerances, lambda tolerance: self.peer("eigen", program, folder, r, tolerance))
                rows[program] = self.row(data, program, result, note, ours)
            except Failed as failure:
                self.skip(f"{data}: {program}: {failure}")
                given_up[program] = failure if isinstance(failure, GivenUp) else None
        names = ", ".join(program for program, _ in peers)
        self.target(f"eigenpairs, {data}", names, 6, ours, list(rows.values()))
        self.target(f"eigenpairs to 1e-6 and numerical bounds, {data}", names, 3, both, list(rows.values()))
        if not is_large:
            return
        names = peers[0][0]
        direct, unfinished = (found.get(names) for found in (rows, given_up))
        if direct:
            self.target(f"eigenpairs, {data}", names, 15, ours, [direct])
            memory = ours["grown_mib"] / direct["grown_mib"]
            self.verdict(f"memory, {data}", names, "a quarter", f"{memory:.2f}", memory <= 0.25)
        elif unfinished:
            # What it had used is less than what it needs.
            times, memory = unfinished.cpu_s / ours["cpu_s"], ours["peak_mib"] / max(unfinished.peak_mib, 1)
            self.verdict(f"eigenpairs, {data}", names, "15×", f"more than {times:.0f}× (given up)", times >= 15)
            measured = f"less than {memory:.2f}, of whole processes (given up)"
            self.verdict(f"memory, {data}", names, "a quarter", measured, memory <= 0.25)

    def two_threads(self, data, ours, run):
        """Whether a second core shortens the wait."""
        if (os.cpu_count() or 1) < 2:
            return
        result = run(ours["note"].split("tolerance ")[1].rstrip(")"), "--threads", "2")
        self.row(data, "Spadework, 2 threads", result, f"wall time {result['wall_s'] / ours['wall_s']:.2f} of one thread's", ours)
        if "70,000" in data and data.endswith("r = 10"):
            gain = ours["wall_s"] / result["wall_s"]
            self.verdict(f"two threads, {data}", "one thread, by the clock", "> 1×", f"{gain:.2f}×", gain > 1)

    # A million samples

    def million_all(self):
        if self.options.quick:
            return
        x, y = self.data.clusters(1_000_000, 128)
        data, lists = "clusters, 1,000,000 × 128", CACHE / "lists.npy"
        once = ("--repeat", 1, "--threads", 2)
        result = self.ours("knn", "--inputs", x, "-k", K, "--save", lists, *once)
        exact, truth = self.row(data, "Spadework exact", result), np.load(lists)[::100]
        recall = lambda path: float((np.load(path)[::100, :, None] == truth[:, None, :]).any(axis=2).mean())
        result = self.ours("knn", "--inputs", x, "-k", K, "--save", lists, "--approximate", *once)
        mine = recall(lists)
        ours = self.row(data, "Spadework approximate", result, f"recall {mine:.4f}", exact)
        rows = []
        for program in ("pynndescent keeping 30", "hnswlib M=48 ef=100"):
            save = CACHE / "peer-lists.npy"
            try:
                arguments = ("knn", f"{program}, 2 threads", x, K, save)
                result = self.call([sys.executable, HERE / "peers.py", *map(str, arguments)], patience=4)
            except Failed as failure:
                self.skip(f"{data}: {program}: {failure}")
                continue
            theirs = recall(save)
            row = self.row(data, program, result, f"recall {theirs:.4f}", ours)
            rows.append(dict(row, recall=theirs))
        for row in rows:
            measured = f"{row['times']:.1f}×, recall {mine:.4f} against {row['recall']:.4f}"
            ahead = row["cpu_s"] > ours["cpu_s"] and row["recall"] <= mine + 0.001
            self.verdict("a million neighbors", row["program"], "ahead at the same recall", measured, ahead)
        self.score_of_a_million(x, y)

    def tenmillion_all(self):
        """Approximate neighbors, whose recall is measured on rows that are compared with all others, and a score by such a search."""
        if self.options.quick:
            return
        n, rows = min(LARGEST, self.options.largest), 500
        x, y = self.data.clusters(n)
        data, lists = f"clusters, {n:,} × 64", CACHE / "lists.npy"
        arguments = ("knn", "--inputs", x, "-k", K, "--save", lists, "--approximate", "--repeat", 1, "--threads", 2)
        result = self.call([self.binaries / "spadework-bench", *map(str, arguments)], patience=4)
        said, found = result["recall"], recall_of_rows(x, lists, query_rows(n, rows))
        note = f"recall {found:.4f} on {rows} rows by brute force in double precision; {said:.4f} by its own"
        self.row(data, "Spadework approximate", result, note)
        best = self.score(x, y, CACHE / "score", more=("--search", "approximate"))
        search = best["document"]["graphs"]["input"]["search"]
        note = f"recall {search.get('recall', 1):.4f} by its own; {stages(best['document'])}; SPADE score {best['document']['model_score']:.6g}"
        self.row(data, "Spadework score", best, note)
        measured = f"{best['wall_s'] / 60:.1f} min, {best['peak_mib'] / 1024:.1f} GiB, recall {found:.4f}"
        met = best["wall_s"] < 60 * 60 and best["peak_mib"] < 24 * 1024
        self.verdict(f"`spadework score`, {n:,} samples", "the clock, memory", "60 min, 24 GiB", measured, met)

    def score_of_a_million(self, x, y):
        best = self.score(x, y, CACHE / "score")
        search = best["document"]["graphs"]["input"]["search"]["method"]
        note = f"inputs searched {search}ly; {stages(best['document'])}; SPADE score {best['document']['model_score']:.6g}"
        self.row("clusters, 1,000,000 × 128", "Spadework score", best, note)
        measured = f"{best['wall_s'] / 60:.1f} min, {best['peak_mib'] / 1024:.1f} GiB"
        met = best["wall_s"] < 3 * 60 and best["peak_mib"] < 6 * 1024
        self.verdict("`spadework score`, a million samples", "the clock, memory", "3 min, 6 GiB", measured, met)

    # The whole

    def score(self, x, y, out, k=K, repeats=1, more=()):
        """The least that `spadework score` took from files to files, and its document."""
        best = dict(cpu_s=float("inf"), wall_s=float("inf"))
        for _ in range(repeats):
            subprocess.run(["rm", "-rf", out], check=True)
            command = [self.binaries / "spadework", "score", "--inputs", x, "--outputs", y, "-k", str(k), "-r", "2"]
            command += ["--quiet", "--json", "--out", out, "--tables", "npy", *more]
            began = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                text = process.stdout.read()
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            wall = time.perf_counter() - began
            if process.returncode:
                raise Failed(f"spadework score ended with {process.returncode}")
            if wall < best["wall_s"]:
                best = dict(best, wall_s=wall, document=json.loads(text))
            best["cpu_s"] = min(best["cpu_s"], used.ru_utime + used.ru_stime)
            best["peak_mib"] = best["grown_mib"] = used.ru_maxrss / 1024
        return best

    def largest_of_the_paper(self):
        try:
            x, y = self.data.cifar_90k()
        except Missing as missing:
            return self.skip(f"90,000 × 3,072: {missing}")
        best = self.score(x, y, CACHE / "score", k=100)
        self.row("CIFAR-10 and mirrored, 90,000 × 3,072, k = 100", "Spadework score", best, "memory with the mapped data")
        peak = best["peak_mib"] / 1024
        self.verdict("90,000 × 3,072, k = 100", "memory", "24 GiB", f"{peak:.1f} GiB, {best['wall_s']:.0f} s", peak < 24)

    def whole_all(self):
        if not self.options.quick:
            self.largest_of_the_paper()
        try:
            x, y = self.data.mnist_test(), self.data.mnist_test_outputs()
        except Missing as missing:
            return self.skip(f"score: {missing}")
        data, out = "MNIST test, k = 10, r = 2", CACHE / "score"
        best = self.score(x, y, out, repeats=3)
        note = f"start-up and reading included; {stages(best['document'])}"
        ours = self.row(data, f"Spadework score, {os.cpu_count()} threads", best, note)
        try:
            scores = CACHE / "peer-scores.npy"
            result = self.peer("whole", x, y, K, 2, scores)
        except Failed as failure:
            return self.skip(f"{data}: scikit-learn + SciPy: {failure}")
        values, nodes = best["document"]["eigenvalues"], np.load(out / "node_scores.npy")
        error = max(abs(a / b - 1) for a, b in zip(values, result["values"]))
        off = np.abs(nodes - np.load(scores)).max() / nodes.max()
        if error > EIGENVALUE_ERROR:
            raise SystemExit(f"bench: eigenvalues {values} and those of SciPy {result['values']} differ")
        note = f"eigenvalues to {error:.0e}, node scores to {off:.0e} of the largest; importing excluded"
        peer = self.row(data, "scikit-learn + SciPy", result, note, ours)
        self.target("`spadework score`, MNIST test", peer["program"], 6, ours, [peer])
        self.verdict("`spadework score`, wall time", "the clock", "< 1 s", f"{best['wall_s']:.2f} s", best["wall_s"] < 1)

    # Models

    def onnx_all(self):
        """Outputs of LeNet-5 and ResNet-20, by the built-in engine, by the library that we load, and by onnxruntime itself."""
        networks = [
            ("LeNet-5", "models/lenet5_eps0.0.onnx", "for_lenet"),
            ("ResNet-20", "nets/akamaster_resnet_cifar10__resnet20-12fca82f.onnx", "for_resnet"),
        ]
        for name, file, images in networks:
            try:
                x, network = getattr(self.data, images)(), self.data.file(file)
            except Missing as missing:
                self.skip(f"{name}: {missing}")
                continue
            theirs = CACHE / "model-peer.npy"
            # A program, the most that it may take of onnxruntime's time, and what it is told.
            engines = [("Spadework (built in)", 2.5, [])]
            library = importlib.util.find_spec("onnxruntime")
            if library is not None:
                engines.append(("Spadework (--onnxruntime)", 1.5, ["--onnxruntime", library.submodule_search_locations[0]]))
            rows = []
            for at, (program, most, words) in enumerate(engines):
                mine = CACHE / f"model-{at}.npy"
                result = self.ours("model", "--model", network, "--inputs", x, "--save", mine, *words)
                work = f"{name}, {result['samples']:,} images"
                rows.append((self.row(work, program, result, self.each(result)), most, mine))
            try:
                # Ours chooses the size of its batches; onnxruntime gets the one that it is fastest with.
                runs = [(self.peer("model", network, x, size, theirs), size) for size in (8, 32, 128)]
                result, size = min(runs, key=lambda run: run[0]["cpu_s"])
            except Failed as failure:
                self.skip(f"{work}: onnxruntime: {failure}")
                continue
            off = max(np.abs(np.load(mine) - np.load(theirs)).max() for _, _, mine in rows)
            if off > 1e-3:
                raise SystemExit(f"bench: outputs of {name} and those of onnxruntime differ by {off}")
            peer = self.row(work, "onnxruntime", result, f"outputs to {off:.0e}; {self.each(result)}; batches of {size}", rows[0][0])
            for row, most, _ in rows:
                ratio = row["cpu_s"] / peer["cpu_s"]
                limit, found = f"within {most}×", f"{ratio:.2f}×"
                self.verdict(f"outputs of {name}, {row['program']}", "onnxruntime", limit, found, ratio <= most)

    @staticmethod
    def each(result):
        return f"{1e6 * result['cpu_s'] / result['samples']:.1f} µs per image"

    def document(self):
        """Everything so far, as the report takes it."""
        peers = "numpy scipy scikit-learn faiss-cpu hnswlib pynndescent pyamg scikit-sparse onnxruntime".split()
        words = ["--quick"] if self.options.quick else []
        words += ["--only", self.options.only] if self.options.only else []
        words += ["--largest", str(self.options.largest)] if self.options.largest < LARGEST else []
        words += ["--profile", self.options.profile] if self.options.profile != "release" else []
        how = dict(command=" ".join(["bench/run", *words]), date=report.today(), machine=report.machine())
        return dict(
            made={section: how for section in self.made},
            versions={name: installed(name) for name in peers if installed(name)},
            targets=self.targets,
            rows=self.rows,
            skipped=self.skipped,
        )

    # Cost against n

    def scale_all(self):
        points, products = [], []
        for n in SCALE:
            if n > self.options.largest or (self.options.quick and n > 20_000):
                break
            try:
                folder = self.graphs(f"clusters_{n // 1000}k", *self.data.clusters(n))
                result = self.ours("eigen", "--graphs", folder, "-r", 2)
            except Failed as failure:
                self.skip(f"clusters {n:,}: {failure}")
                continue
            data, a_sample = f"clusters, n = {n:,}", lambda result: f"{1e6 * result['cpu_s'] / n:.3g} µs per sample"
            note = f"{a_sample(result)}, {result['iterations']} iterations"
            self.row(data, "Spadework eigenpairs", result, note)["samples"] = n
            points.append((n, result["cpu_s"]))
            try:
                result = self.peer("product", folder)
            except Failed as failure:
                self.skip(f"{data}: {report.YARDSTICK}: {failure}")
                continue
            self.row(data, report.YARDSTICK, result, a_sample(result), yardstick=True)["samples"] = n
            products.append((n, result["cpu_s"]))
        if len(points) > 1:
            power = growth(points)
            self.verdict("eigenpairs against n", "linear", "n^1.2 at most", f"n^{power:.2f}", power <= 1.2)
        if len(products) > 3:
            # Work that is linear in n by any count is not linear in time once it outgrows the caches.
            linear = growth(products)
            measured = f"n^{power:.2f} against n^{linear:.2f}"
            self.verdict("eigenpairs against n", report.YARDSTICK, "n^0.05 steeper at most", measured, power <= linear + 0.05)


def stages(document):
    """Seconds by the clock of every stage that took some."""
    seconds = {name.removesuffix("_s"): spent for name, spent in document["timings"].items() if name != "total_s"}
    return ", ".join(f"{name} {spent:.3g}" for name, spent in seconds.items() if spent > 0)


def recall_of_rows(path, lists, rows, together=50_000):
    """The part of the true nearest neighbors of some rows that lists have. All other rows are compared with them in double precision."""
    x, lists = np.load(path, mmap_mode="r"), np.load(lists, mmap_mode="r")
    k, own = lists.shape[1], x[rows].astype(np.float64)
    nearest, at = np.full((len(rows), k), np.inf), np.full((len(rows), k), -1)
    for first in range(0, len(x), together):
        part = x[first : first + together].astype(np.float64)
        far = (part**2).sum(axis=1) - 2 * own @ part.T + (own**2).sum(axis=1)[:, None]
        mine = (rows >= first) & (rows < first + len(part))
        far[mine, rows[mine] - first] = np.inf
        # The nearest of this part, by products, are told apart by differences: those round less.
        few = np.argpartition(far, min(2 * k, len(part) - 1), axis=1)[:, : 2 * k]
        exact = ((part[few] - own[:, None, :]) ** 2).sum(axis=2)
        exact[np.take_along_axis(far, few, axis=1) == np.inf] = np.inf
        nearest, at = np.concatenate([nearest, exact], axis=1), np.concatenate([at, few + first], axis=1)
        order = np.argsort(nearest, axis=1, kind="stable")[:, :k]
        nearest, at = np.take_along_axis(nearest, order, axis=1), np.take_along_axis(at, order, axis=1)
    return float((np.asarray(lists[rows])[:, :, None] == at[:, None, :]).any(axis=2).mean())


def growth(points):
    """The power of n by which seconds grow."""
    n, seconds = np.log(np.array(points)).T
    return np.polyfit(n, seconds, 1)[0]


def installed(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def main():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="MNIST's 10,000 test images only, a few minutes")
    parser.add_argument("--only", choices=tuple(report.TITLES), help="one section")
    parser.add_argument("--data", default=os.environ.get("SPADEWORK_DATA"), help="folder of the data sets [SPADEWORK_DATA]")
    parser.add_argument("--timeout", type=float, default=900, help="seconds after which a process is given up [900]")
    parser.add_argument("--largest", type=int, default=LARGEST, help=f"most samples in the sections eigen, tenmillion and scale [{LARGEST}]")
    parser.add_argument("--profile", default="release", help="Cargo profile that is measured [release]")
    parser.add_argument("--output", type=pathlib.Path, help="where the report goes [docs; of a part target/bench-report]")
    options = parser.parse_args()
    # A part never takes the place of the full table.
    part = options.quick or options.only
    options.output = options.output or (ROOT / "target" / "bench-report" if part else ROOT / "docs")
    bench = Bench(options)
    earlier = options.output / "benchmarks.json"
    # One section takes the place of the same section of an earlier report.
    earlier = json.loads(earlier.read_text()) if options.only and earlier.exists() else {}
    for section in report.TITLES:
        if options.only in (None, section):
            print(report.TITLES[section], flush=True)
            bench.begin(section)
            try:
                getattr(bench, f"{section}_all")()
            except Failed as failure:  # what was measured before it is kept
                bench.skip(f"{report.TITLES[section]}: the rest, since one of our own runs {failure}")
            document = bench.document()
            report.write(report.keep_other_sections(document, earlier) if "made" in earlier else document, options.output)
    print(f"written: {options.output / 'benchmarks.md'}, .svg and .json")


if __name__ == "__main__":
    main()
