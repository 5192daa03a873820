"""What a reader of the scores must know beside them, in the order in which the command line tells it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import SpadeworkWarning

if TYPE_CHECKING:
    from ._arrays import GraphEntries, Rows

#: Recall that an approximate search aims at.
_RECALL = 0.999
#: Sums of probabilities in single precision are off by less than this.
_SUM_SLACK = 1e-3
#: Probabilities of single precision may be below 0 by rounding, as in -3.6e-7.
_LEAST_PROBABILITY = -1e-5
#: As far above guesses as this, on the way to being always right, labels say hardly anything about outputs.
_BARELY = 0.1
#: Gaussian weights below this are raised to it.
_LEAST_WEIGHT = 1e-6


class Note(str):
    """What a note says, with the word that programs look for."""

    code: str

    def __new__(cls, code: str, message: str) -> Note:
        note = super().__new__(cls, message)
        note.code = code
        return note

    def __reduce__(self) -> tuple[type[Note], tuple[str, str]]:
        return Note, (self.code, str(self))


def listed(notes: Iterable[Note]) -> list[dict[str, str]]:
    """Notes as a document has them."""
    return [{"code": note.code, "message": str(note)} for note in notes]


def tell(notes: Iterable[str], verbose: bool | None) -> None:
    """Warns of every note, as the fault of the line that called the package."""
    if verbose is False:
        return
    level = _levels_inside() + 1
    for note in notes:
        warnings.warn(note, SpadeworkWarning, stacklevel=level)


def _levels_inside() -> int:
    """Calls of the package that lie between its user and whoever asks."""
    package = os.path.dirname(__file__)
    frame, levels = sys._getframe(1), 0
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == package:
        caller = frame.f_back
        if caller is None:
            break
        frame, levels = caller, levels + 1
    return levels


def about_outputs(outputs: Rows, whose: str = "") -> list[Note]:
    """Outputs that are probably not what the user meant."""
    notes = about_probabilities(outputs, whose)
    distinct = _distinct_rows(outputs)
    if distinct < len(outputs) // 2:
        notes.append(
            Note(
                "repeated-outputs",
                f"{whose}the outputs have only {distinct} different rows among {len(outputs)}: are these labels or predictions?",
            )
        )
    return notes


def about_probabilities(outputs: Rows, whose: str = "") -> list[Note]:
    """Outputs that are probably those of a softmax."""
    if outputs.ndim != 2 or outputs.shape[1] < 2 or not _look_like_probabilities(outputs):
        return []
    message = (
        f"{whose}every row of the outputs is non-negative and sums to 1: these look like probabilities, and scores "
        "are meant for the values before the softmax"
    )
    return [Note("probabilities", message)]


def about_softmax(model: str) -> Note:
    """A model file that ends in a softmax."""
    message = f"{model}: the output ends in a softmax: scores are meant for the values before it (before_softmax=True)"
    return Note("softmax-output", message)


def _look_like_probabilities(outputs: Rows) -> bool:
    if np.any(outputs < _LEAST_PROBABILITY):
        return False
    sums = np.sum(outputs, axis=1, dtype=np.float64)
    return bool(np.all(np.abs(sums - 1) <= _SUM_SLACK))


def _distinct_rows(outputs: Rows) -> int:
    if outputs.size == 0:
        return len(outputs)
    whole_rows = outputs.view(np.dtype((np.void, outputs.dtype.itemsize * outputs.shape[1])))
    return len(np.unique(whole_rows))


def about_guesses(model: Mapping[str, Any], whose: str = "") -> list[Note]:
    """Labels that say hardly more about the outputs than guesses would."""
    accuracy = model.get("accuracy")
    # A single output that has an accuracy stands for two classes.
    guessed = 1 / max(model["output_dim"], 2)
    if accuracy is None or accuracy >= guessed + _BARELY * (1 - guessed):
        return []
    message = (
        f"{whose}only {100 * accuracy:.2f} % of the samples have their largest output at their label: are the outputs classes, "
        "in the order of the labels?"
    )
    return [Note("low-accuracy", message)]


def about_entries(entries: GraphEntries, argument: str) -> list[Note]:
    """Entries of a matrix that are no edges."""
    loops = int(np.count_nonzero(entries.rows == entries.columns))
    zeros = int(np.count_nonzero((entries.weights == 0) & (entries.rows != entries.columns)))
    counted = [(loops, "on the diagonal"), (zeros, "of weight 0")]
    return [
        Note("entries-left-out", f"{argument}: {count} entries {what} are no edges and are left out")
        for count, what in counted
        if count
    ]


def about_report(document: Mapping[str, Any]) -> list[Note]:
    """How the graphs of one model came about."""
    neighbors = document["neighbors"]
    graphs = document["graphs"]
    given, taken = graphs["input"], graphs["output"]
    notes = []
    if neighbors["used"] > neighbors["requested"]:
        message = (
            f"{neighbors['requested']} neighbors leave {given['components_found']} input and "
            f"{taken['components_found']} output components; {neighbors['used']} neighbors connect both graphs and are used. "
            f"{_grown_means(neighbors)}"
        )
        notes.append(Note("neighbors-grown", message))
    if given["bridges"] + taken["bridges"]:
        message = (
            f"{given['bridges']} input and {taken['bridges']} output bridges join what {neighbors['requested']} neighbors "
            "leave apart"
        )
        notes.append(Note("bridges", message))
    notes += about_search("inputs", given.get("search")) + about_search("outputs", taken.get("search"))
    if given.get("given") and given["components_found"] > 1:
        message = f"the input graph given has {given['components_found']} components; no edge between them is scored"
        notes.append(Note("input-graph-in-pieces", message))
    for side, graph in (("input", given), ("output", taken)):
        if graph.get("weights_raised"):
            message = f"{graph['weights_raised']} {side} weights are below {_LEAST_WEIGHT:g} and taken as {_LEAST_WEIGHT:g}"
            notes.append(Note("weights-raised", message))
    for side, graph in (("inputs", given), ("outputs", taken)):
        if graph["decided_by_index"]:
            message = (
                f"{graph['decided_by_index']} of {document['samples']} {side} have at least {neighbors['requested']} exact "
                "copies: which of them are neighbors is decided by index"
            )
            notes.append(Note("exact-copies", message))
    return notes + about_interval(document.get("interval"), neighbors["used"])


def _grown_means(neighbors: Mapping[str, Any]) -> str:
    """What a k that grew does to the numbers, and what else can be done."""
    asked, used = neighbors["requested"], neighbors["used"]
    return (
        f"SPADE scores of k = {used} cannot be compared with those of k = {asked}, and look at wider neighborhoods; the overlap "
        f'is counted with k = {asked}. connectivity="bridge" keeps k = {asked} and joins the components by their shortest edges'
    )


def about_search(side: str, search: Mapping[str, Any] | None) -> list[Note]:
    """What an approximate search may have cost."""
    if not search or search["method"] == "exact":
        return []
    short = (
        f", below the {_RECALL} that it aims at: do not trust this score" if search["recall"] < _RECALL else ""
    )
    message = (
        f"the neighbors of the {side} were searched approximately: recall {search['recall']:.4f}, measured on "
        f"{search['measured_rows']} rows{short}. A few missing neighbors can move the model score by percents; "
        'search="exact" leaves none out'
    )
    return [Note("approximate-search", message)]


def about_interval(interval: Mapping[str, Any] | None, neighbors: int) -> list[Note]:
    """Subsamples that were hard to connect."""
    if not interval or not interval["grown"]:
        return []
    message = (
        f"{interval['grown']} of {interval['repetitions']} subsamples needed more than {neighbors} neighbors to be "
        "connected: the interval is less certain"
    )
    return [Note("subsamples-grown", message)]


def about_comparison(document: Mapping[str, Any]) -> list[Note]:
    """How the graphs of all models came about."""
    notes = about_search("inputs", document["input_graph"].get("search"))
    for model in document["models"]:
        notes += about_search(f"outputs of `{model['name']}`", model["output_graph"].get("search"))
    apart = ["the inputs"] if document["input_graph"]["components_found"] > 1 else []
    apart += [f"`{model['name']}`" for model in document["models"] if model["output_graph"]["components_found"] > 1]
    neighbors = document["neighbors"]
    if apart and neighbors["used"] > neighbors["requested"]:
        message = (
            f"{neighbors['requested']} neighbors leave graphs in pieces ({', '.join(apart)}); {neighbors['used']} neighbors "
            f"connect every graph and are used for all models. {_grown_means(neighbors)}"
        )
        notes.append(Note("neighbors-grown", message))
    elif apart:
        message = f"bridges join what {neighbors['requested']} neighbors leave in pieces ({', '.join(apart)})"
        notes.append(Note("bridges", message))
    return notes + about_interval(document["models"][0].get("interval"), neighbors["used"])


def about_sweep(document: Mapping[str, Any]) -> list[Note]:
    """What approximate searches of a sweep may have cost."""
    # A graph that was given was not searched.
    search = document.get("input_search")
    notes = [] if search is None else about_search("inputs", search)
    for name, search in zip(document["models"], document["output_searches"]):
        notes += about_search(f"outputs of `{name}`", search)
    return notes


def about_new_samples(found: Mapping[str, Any], graphs: Mapping[str, Any]) -> list[Note]:
    """What the scores of new samples leave out."""
    notes = []
    if found["averaged"]:
        message = (
            f"{found['averaged']} of {found['embedding'].size} entries of eigenvectors are means over output neighbors: the "
            "eigenvalues are too close to 1 to say more"
        )
        notes.append(Note("means-of-neighbors", message))
    if graphs["input"]["bridges"] + graphs["output"]["bridges"]:
        notes.append(Note("reference-bridges", "the bridges of the fitted graphs are no neighbors of new samples"))
    return notes
