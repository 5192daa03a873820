"""The table and the chart."""

import datetime
import html
import json
import os
import pathlib
import platform
import re
import sys

TITLES = dict(
    knn="Nearest neighbors, k = 10",
    cosine="Nearest neighbors by cosine distance, k = 10",
    pixels="Nearest neighbors of photographs as bytes, k = 10",
    eigen="Eigenpairs of L_X v = λ L_Y v, eigenvalues right to 1e-6",
    whole="`spadework score`, from files to scores written",
    onnx="Outputs of a model, one thread",
    million="A million samples of 128 numbers (clusters), k = 10, two threads",
    tenmillion="Ten million samples of 64 numbers (clusters), k = 10, two threads",
    scale="Cost against the number of samples (clusters, 64 numbers per row, r = 2)",
)

# Neighbors: what their tables say of memory includes the data, in the type that a program takes them in.
WITH_PEAK = ("knn", "cosine", "pixels", "million", "tenmillion")

# Linear work, which the cost against n is compared with.
YARDSTICK = "SciPy, one product with L_X"


def machine():
    model = platform.processor() or platform.machine()
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    simd = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    return f"{model}, {os.cpu_count()} cores, {simd}"


def made(sections):
    """One line if all sections are of one run, otherwise one line per section."""
    line = "`{command}` on {date}; {machine}."
    lines = [line.format(**how) for how in sections.values()]
    if len(set(lines)) == 1:
        return [f"Measured by {lines[0]}"]
    names = [re.split(r", | \(", TITLES[section])[0] for section in sections]
    return ["Measured by", "", *(f"- {name}: {line}" for name, line in zip(names, lines))]


def number(value, digits=3):
    return f"{value:#.{digits}g}".rstrip(".") if value < 1000 else f"{value:,.0f}"


def remarks(document, section, place):
    """What was written by hand about a section, before or after its table. It is dropped when the section is measured again."""
    found = [remark for remark in document.get("remarks", []) if (remark["section"], remark["place"]) == (section, place)]
    return [line for remark in found for line in remark["lines"]]


def markdown(document):
    lines = [
        "# Benchmarks",
        "",
        *made(document["made"]),
        "",
        "*CPU s* is the CPU time of the process in seconds, user and system together, with one thread. Loading and importing are",
        "excluded, unless a row says otherwise. Each figure is the best of up to three repeats. *Memory* is what the work needed",
        "in addition to the data, *peak* the most that the whole process had, with the data and the program. *Times ours* is how",
        "much more CPU time a program took than Spadework in the same run. *Agrees* says how the result compares with ours.",
        "",
        "![CPU time of the peers as a multiple of ours](benchmarks.svg)",
        "",
        "## Targets",
        "",
        "| work | against | at least | measured | |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    for target in document["targets"]:
        verdict = "met" if target["met"] else "**missed**"
        cells = (target["work"], target["against"], target["least"], target["measured"], verdict)
        lines.append("| " + " | ".join(cells) + " |")
    for section, title in TITLES.items():
        rows = [row for row in document["rows"] if row["section"] == section]
        if not rows:
            continue
        lines += ["", f"## {title}", ""]
        if section == "scale" and len(rows) > 1:
            lines += ["![CPU seconds against the number of samples](benchmarks-scale.svg)", ""]
        if any(row["program"] == YARDSTICK for row in rows):
            lines += ["The product of L_X with four vectors, with the nodes in the order of the samples, is the yardstick. Its work is linear in n."]
            lines += ["If its time grows faster than n, the cause is the memory of this machine.", ""]
        lines += remarks(document, section, "before")
        has_peak = section in WITH_PEAK
        lines += [f"| data | program | CPU s | wall s | memory MiB |{' peak MiB |' * has_peak} times ours | agrees |"]
        lines += [f"| --- | --- | ---: | ---: | ---: |{' ---: |' * has_peak} ---: | --- |"]
        for row in rows:
            times = "" if row["ours"] or not row.get("times") else f"{number(row['times'])}×"
            name = f"**{row['program']}**" if row["ours"] else row["program"]
            of_memory = ["grown_mib", "peak_mib"][: 1 + has_peak]
            memory = ["" if row[field] is None else f"{row[field]:,.0f}" for field in of_memory]
            cells = (row["data"], name, number(row["cpu_s"]), number(row["wall_s"]), *memory, times, row["note"])
            lines.append("| " + " | ".join(cells) + " |")
        lines += remarks(document, section, "after")
    lines += gpu_neighbors()
    lines += training()
    lines += building()
    if document["skipped"]:
        lines += ["", "## Left out", ""] + [f"- {entry['line']}" for entry in document["skipped"]]
    lines += ["", "Versions: " + ", ".join(f"{name} {version}" for name, version in document["versions"].items()) + "."]
    return "\n".join(lines) + "\n"


DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
GPU_NEIGHBORS = DOCS / "benchmarks-gpu.json"
TRAINING = DOCS / "benchmarks-training.jsonl"
BUILDING = DOCS / "benchmarks-build.jsonl"


def building():
    """What a newcomer waits for: lines that were measured by hand, each with its command."""
    lines = ["", "## Build, wheel and first answer", ""]
    lines += ["| what | wanted | measured | command |", "| --- | ---: | ---: | --- |"]
    for row in map(json.loads, BUILDING.read_text().splitlines()):
        lines.append(f"| {row['what']} | {row['wanted']} | {row['measured']} | {row['command']} |")
    return lines


def gpu_neighbors():
    """What `bench/torch_neighbors.py --out` wrote."""
    document = json.loads(GPU_NEIGHBORS.read_text())
    lines = ["", "## Nearest neighbors on a GPU, k = 10", ""]
    lines += [f"Measured by the functions of `bench/torch_neighbors.py` (`--out docs/benchmarks-gpu.json` writes the table) on an {document['device']} with"]
    lines += [f"PyTorch {document['torch']}. `spadework.torch.knn_graph` is exact. The loop computes distances in single precision by products and takes the"]
    lines += ["k smallest, so rounding decides some neighbors. Seconds are wall-clock time, the best of several runs. Tensors are on the GPU, and kernels"]
    lines += ["are compiled before, unless a row says otherwise."]
    lines += ["", "| data | Spadework, s | loop in PyTorch, s | times ours | rows where both agree | equals the CPU's graph |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | --- |"]
    for row in document["figures"]:
        equals = {None: "not compared", True: "yes, every edge", False: "**no**"}[row["equals_cpu"]]
        cells = [row["data"], number(row["ours"]), "not run", "", "", equals]
        if row["loop"] is not None:
            cells[2:5] = [number(row["loop"]), f"{number(row['loop'] / row['ours'])}×", f"{100 * row['same_rows']:.2f} %"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def training():
    """Steps per second of training: the lines that `speed` and `torch_training.py` printed, the best of each kind."""
    best = {}
    for row in map(json.loads, TRAINING.read_text().splitlines()):
        kind = (row["device"], row["model"], row["training"])
        pair = best.setdefault(kind, {})
        side = "torch" if "torch" in row else "ours"
        if side not in pair or row["steps_per_second"] > pair[side]["steps_per_second"]:
            pair[side] = row
    lines = ["", "## Training, batches of 128", ""]
    lines += ["The example `speed` of `spadework-nn` and `bench/torch_training.py`, one after the other on the same machine. The"]
    lines += ["commands are in [networks.md](networks.md). *First step* has the seconds from the start of the program to the end of its"]
    lines += ["first step. For the second kind of training, they include the first kind."]
    lines += ["", "| device | network | training | steps/s | PyTorch's | ratio | first step | PyTorch's |"]
    lines += ["| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for (device, model, kind), pair in best.items():
        ours, peer = pair["ours"], pair["torch"]
        ratio = ours["steps_per_second"] / peer["steps_per_second"]
        cells = [device, model, kind, number(ours["steps_per_second"]), number(peer["steps_per_second"]), f"{ratio:.2f}×"]
        cells += [f"{ours['first_step_after_s']:.1f} s", f"{peer['first_step_after_s']:.1f} s"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def chart(document):
    """Bars of `times ours` on a logarithmic axis, one group per data set."""
    from math import log10

    rows = [row for row in document["rows"] if row["peer"]]
    left, width, bar, gap, top = 300, 440, 14, 20, 44
    most = max([row["times"] for row in rows] + [10.0])
    decades = int(log10(most)) + 1
    at = lambda times: left + width * max(log10(times), 0) / decades
    body, y, group = [], top, None
    for row in rows:
        if row["data"] != group:
            group = row["data"]
            y += gap
            body.append(f'<text x="8" y="{y - 4}" class="group">{html.escape(group)}</text>')
        body.append(f'<text x="{left - 6}" y="{y + 11}" class="name">{html.escape(row["program"])}</text>')
        kind = "slower" if row["times"] >= 1 else "faster"
        end = at(row["times"])
        body.append(f'<rect x="{left}" y="{y + 1}" width="{max(end - left, 1):.1f}" height="{bar - 2}" class="{kind}"/>')
        body.append(f'<text x="{end + 4:.1f}" y="{y + 11}">{number(row["times"])}×</text>')
        y += bar
    height = y + 16
    grid = []
    for decade in range(decades + 1):
        x = left + width * decade / decades
        grid.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{y}"/>')
        grid.append(f'<text x="{x:.1f}" y="{top - 6}" class="axis">{10**decade}×</text>')
    style = (
        "text{font:11px sans-serif;fill:#333}.name{text-anchor:end}.group{font-weight:bold}.axis{text-anchor:middle}"
        "line{stroke:#ddd}.slower{fill:#3b7dd8}.faster{fill:#d8743b}.title{font-size:13px;font-weight:bold}"
    )
    title = '<text x="8" y="16" class="title">CPU time as a multiple of Spadework’s (logarithmic)</text>'
    return picture(left + width + 70, height, style, [title, *grid, *body])


def curve(document):
    """CPU time of the eigenpairs against n, both logarithmic, with a line of slope one and the yardstick for comparison."""
    from math import floor, log10

    rows = [row for row in document["rows"] if row["section"] == "scale"]
    logarithms = lambda rows: [(log10(row["samples"]), log10(row["cpu_s"])) for row in rows]
    points = logarithms(row for row in rows if row["ours"])
    if len(points) < 2:
        return None
    # From our first point on, as it would grow.
    yardstick = logarithms(row for row in rows if not row["ours"])
    yardstick = [(x, y - yardstick[0][1] + points[0][1]) for x, y in yardstick]  # none in reports of earlier runs
    left, top, size = 60, 34, 340
    low = [floor(min(point[axis] for point in points)) for axis in (0, 1)]
    decades = 1 + max(floor(max(point[axis] for point in points + yardstick)) - low[axis] for axis in (0, 1))
    at = lambda x, y: (left + size * (x - low[0]) / decades, top + size * (1 - (y - low[1]) / decades))
    place = lambda x, y: "{:.1f},{:.1f}".format(*at(x, y))
    body = []
    for decade in range(decades + 1):
        (x, y), edge = at(low[0] + decade, low[1] + decade), (left + size, top + size)
        body.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{edge[1]}"/>')
        body.append(f'<line x1="{left}" x2="{edge[0]}" y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(f'<text x="{x:.1f}" y="{edge[1] + 16}" class="axis">{10 ** (low[0] + decade):,}</text>')
        body.append(f'<text x="{left - 6}" y="{y + 4:.1f}" class="name">{10.0 ** (low[1] + decade):g} s</text>')
    (x0, y0), (x1, _) = points[0], points[-1]
    body.append(f'<polyline points="{place(x0, y0)} {place(x1, y0 + x1 - x0)}" class="linear"/>')
    line = lambda points, kind: f'<polyline points="{" ".join(place(*point) for point in points)}" class="{kind}"/>'
    body += [line(yardstick, "yardstick"), line(points, "ours")]
    body += ['<circle cx="{:.1f}" cy="{:.1f}" r="3"/>'.format(*at(*point)) for point in points]
    style = (
        "text{font:11px sans-serif;fill:#333}.name{text-anchor:end}.axis{text-anchor:middle}line{stroke:#ddd}"
        "polyline{fill:none;stroke-width:2}.ours{stroke:#3b7dd8}.linear{stroke:#999;stroke-dasharray:4}"
        ".yardstick{stroke:#d8743b;stroke-dasharray:2}"
        "circle{fill:#3b7dd8}.title{font-size:13px;font-weight:bold}"
    )
    title = '<text x="8" y="16" class="title">CPU seconds of the eigenpairs against n</text>'
    legend = '<text x="8" y="29">dashed: linear; dotted: as one product with L_X by SciPy grows</text>'
    return picture(left + size + 50, top + size + 30, style, [title, legend, *body])


def picture(width, height, style, body):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, f"<style>{style}</style>", background, *body, "</svg>"]) + "\n"


def keep_other_sections(document, earlier):
    """A document with what an earlier one has of the sections that this one does not have. A remark can end with another section than its own."""
    mine = document["made"]
    kept = {section: how for section, how in earlier["made"].items() if section not in mine}
    order = [section for section in TITLES if section in mine or section in kept]
    merged = dict(document, made={section: {**kept, **mine}[section] for section in order})
    for part in ("targets", "rows", "skipped", "remarks"):
        both = document.get(part, []) + [entry for entry in earlier.get(part, []) if entry.get("until", entry["section"]) not in mine]
        merged[part] = sorted(both, key=lambda entry: order.index(entry["section"]))
    merged["versions"] = {**earlier["versions"], **document["versions"]}
    return merged


def write(document, folder):
    """The figures as JSON, and everything that is made of them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    (folder / "benchmarks.md").write_text(markdown(document))
    (folder / "benchmarks.svg").write_text(chart(document))
    if plot := curve(document):
        (folder / "benchmarks-scale.svg").write_text(plot)


def today():
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


if __name__ == "__main__":  # report.py BENCHMARKS.json FOLDER: writes the report again
    write(json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2]))
