"""Compares arms of Table 3 or 4 in pairs, by image and by seed, and writes one JSON with everything.

    python analyze.py RUNS... --out guided-mnist-conv2.json [--markdown FILE]

RUNS are JSON files of mnist.py or cifar.py, folders of such files, or archives. Needs NumPy and SciPy.

A difference has three 95 % intervals: for other images and these seeds, for other seeds and these images, and for both. Images and seeds
are crossed, so the variance of the mean is at most the sum of both; degrees of freedom by Satterthwaite, rounded down
(`paired` in experiments/src/statistics.rs does the same).
"""

import argparse
import itertools
import json
import tarfile
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from jobs import unpacked

LEARNED = 0.2
"""Clean accuracy of a network that has learned something of ten classes."""
TAKEN_OFF = 0.4


def records(paths):
    found = {}
    for path in map(Path, paths):
        if path.is_dir():
            texts = [(file.name, file.read_text()) for file in sorted(path.glob("*.json"))]
        elif path.name.endswith(".tar.gz"):
            with tarfile.open(path) as tar:
                texts = [(member.name, tar.extractfile(member).read()) for member in tar if member.name.endswith(".json")]
        else:
            texts = [(path.name, path.read_text())]
        for name, text in texts:
            record = json.loads(text)
            runs = record.get("runs")
            for one in runs if runs else [record]:
                found[one["arm"], one.get("skip_misclassified", False), one["seed"]] = one
                if "arm" not in one:
                    raise SystemExit(f"{name} is no run of mnist.py or cifar.py")
    return found


def took_off(record):
    """The first epoch at full ε with more than 0.4 of the perturbed training images right; none where training did not get so far.

    At large ε networks may answer the same to everything for many epochs, and what they come to depends on when that ends."""
    grown = record["settings"].get("epochs_of_growing_epsilon", 0)
    for epoch, entry in enumerate(record["curve"], 1):
        if epoch > grown and entry["adversarial_train_accuracy"] > TAKEN_OFF:
            return epoch
    return None


def interval(mean, variance, freedom):
    """Student's, within the -1 to 1 that a difference of shares can be."""
    half = student.ppf(0.975, freedom) * variance**0.5
    return [max(mean - half, -1.0), min(mean + half, 1.0)]


def paired(one, other):
    """One less the other, [seeds, images] of booleans each."""
    difference = one.astype(float) - other.astype(float)
    seeds, images = difference.shape
    mean = difference.mean()
    by_images = difference.mean(0).var(ddof=1) / images
    by_seeds = difference.mean(1).var(ddof=1) / seeds if seeds > 1 else 0.0
    result = {
        "difference": mean, "seeds": seeds, "images": images, "of_each_seed": difference.mean(1).tolist(),
        "for_other_images": interval(mean, by_images, images - 1),
    }  # fmt: skip
    if seeds > 1:
        total = by_images + by_seeds
        parts = by_images**2 / (images - 1) + by_seeds**2 / (seeds - 1)
        freedom = np.floor(total**2 / parts) if parts > 0 else min(images, seeds) - 1
        result["for_other_seeds"] = interval(mean, by_seeds, seeds - 1)
        result["overall"] = interval(mean, total, freedom)
    return result


def verdict(contrast, learned):
    """true or false where the overall interval leaves 0 out and all networks have learned; null is: cannot tell."""
    if not learned or "overall" not in contrast:
        return None
    low, high = contrast["overall"]
    return True if low > 0 else False if high < 0 else None


def points(values):
    return " to ".join(f"{100 * value:+.2f}" for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--scores", type=Path, help="scores.json of the scores that guided, to be kept with the result")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    found = records(options.runs)
    first = next(iter(found.values()))
    columns = list(first["accuracy"])
    groups = list(dict.fromkeys((arm, skip) for arm, skip, _ in found))
    seeds = {group: sorted(seed for arm, skip, seed in found if (arm, skip) == group) for group in groups}

    def title(group):
        return group[0] + (", skip" if group[1] else "")

    def flags(group, column, chosen):
        runs = [found[(*group, seed)] for seed in chosen]
        return np.array([unpacked(run["right"][column], count_of(run, column)) for run in runs])

    def learned(group):
        return all(found[(*group, seed)]["accuracy"]["clean"] > LEARNED for seed in seeds[group])

    rows = []
    for group in groups:
        row = {"arm": title(group), "seeds": len(seeds[group]), "learned": learned(group),
               "took_off_at_epoch": [took_off(found[(*group, seed)]) for seed in seeds[group]]}
        for column in columns:
            values = [found[(*group, seed)]["accuracy"][column] for seed in seeds[group]]
            row[column] = {"mean": float(np.mean(values)), "deviation": float(np.std(values, ddof=1)) if len(values) > 1 else None,
                           "of_each_seed": values}  # fmt: skip
        rows.append(row)
    contrasts = []
    for one, other in itertools.permutations(groups, 2):
        if not is_asked(one, other):
            continue
        shared = sorted(set(seeds[one]) & set(seeds[other]))
        if not shared:
            continue
        for column in columns:
            result = paired(flags(one, column, shared), flags(other, column, shared))
            result = {"one": title(one), "other": title(other), "under": column, **result}
            result["one_is_better"] = verdict(result, learned(one) and learned(other))
            contrasts.append(result)
    document = {
        "schema": "spadework.experiment/1", "experiment": first["experiment"], "paper": first["paper"],
        "architecture": first["architecture"], "images": {column: count_of(first, column) for column in columns},
        "scores": json.loads(options.scores.read_text()) if options.scores else None,
        "accuracies": rows, "contrasts": contrasts, "runs": list(found.values()),
    }  # fmt: skip
    options.out.write_text(json.dumps(document, indent=1) + "\n")
    text = markdown(rows, contrasts, columns)
    if options.markdown:
        options.markdown.write_text(text)
    print(text)


def count_of(record, column):
    """How many images a column is about."""
    if "counts" in record:
        return record["counts"][column]
    settings = record["settings"]
    return settings.get("clean_images", settings["attack_images"]) if column == "clean" else settings["attack_images"]


GUIDED = ("spade", "fragility", "margin", "authors")


def is_asked(one, other):
    """Guided arms less those that are not, better scores less SPADE's, and random less vanilla; with the same treatment of misclassified
    images. The paper's own contrast too: skipped in the SPADE arm alone. And what skipping does to an arm."""
    if one[0] == other[0]:
        return one[1]
    if one[1] != other[1]:
        return one == ("spade", True) and other[0] not in GUIDED
    if one[0] in GUIDED:
        return other[0] not in GUIDED or (other[0] == "spade" and one[0] != "spade")
    return one[0].startswith("random") and other[0].startswith("vanilla")


def markdown(rows, contrasts, columns):
    lines = ["| training | seeds | took off at epoch | " + " | ".join(columns) + " |",
             "| --- | ---: | --- |" + " ---: |" * len(columns)]
    for row in rows:
        cells = []
        for column in columns:
            value = row[column]
            spread = f" ± {100 * value['deviation']:.2f}" if value["deviation"] is not None else ""
            cells.append(f"{100 * value['mean']:.2f}{spread}")
        lines.append(
            f"| {row['arm']}{'' if row['learned'] else ' (collapsed)'} | {row['seeds']} | "
            f"{', '.join(str(epoch or 'never') for epoch in row['took_off_at_epoch'])} | " + " | ".join(cells) + " |"
        )
    lines += ["", "| difference, points | under | mean | 95 % overall | other images | other seeds | one is better |",
              "| --- | --- | ---: | ---: | ---: | ---: | --- |"]  # fmt: skip
    words = {True: "yes", False: "no", None: "cannot tell"}
    for contrast in contrasts:
        cells = [points(contrast[name]) if name in contrast else "-" for name in ("overall", "for_other_images", "for_other_seeds")]
        lines.append(
            f"| {contrast['one']} − {contrast['other']} | {contrast['under']} | {100 * contrast['difference']:+.2f} | "
            + " | ".join(cells) + f" | {words[contrast['one_is_better']]} |"
        )  # fmt: skip
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
