"""Distortions: closed forms, and the same numbers as on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse
import spadework
from test_command import command, files, without_times  # noqa: F401  (a fixture)


def test_a_ring_opened_into_a_path():
    n = 40
    path = scipy.sparse.diags_array(np.ones(n - 1), offsets=1, shape=(n, n)).tocsr()
    ring = path.tolil()
    ring[0, n - 1] = 1
    graphs = {"input_graph": ring.tocsr(), "output_graph": path}
    found = spadework.distortion(**graphs, eigenpairs=1, top=1, pairs=[(0, n - 1), (5, 6)])
    # The closing edge is one hop at the input and n - 1 at the output; by resistance (n - 1)/n and n - 1.
    assert found.contrast("geodesic")["top"]["mean"] == n - 1
    assert found.contrast("resistance")["top"]["mean"] == pytest.approx(n, rel=1e-9)
    assert found.largest["distortion"] == pytest.approx(n, rel=1e-9)
    frame = found.to_frame()
    asked = frame[frame.group == "asked"]
    assert asked.output_hops.tolist() == [n - 1, 1]
    assert asked.input_resistance.tolist() == pytest.approx([(n - 1) / n] * 2, rel=1e-9)
    # Any cut of the path into two leaves one edge at the output and two at the input.
    assert found.document["cut"]["distortion"] == 0.5 and 0 < len(found.cut) <= n / 2
    every = spadework.distortion(**graphs, eigenpairs=1, top=1, all_edges=True).to_frame("edges")
    assert len(every) == n and every.geodesic_distortion.max() == n - 1
    with pytest.raises(ValueError, match="all_edges=True"):
        found.to_frame("edges")


def test_the_same_as_on_the_command_line(files, digits):  # noqa: F811
    arrays = ["--inputs", files / "inputs.npy", "--outputs", files / "standard.npy", "--labels", files / "labels.npy"]
    theirs = json.loads(command("distortion", *arrays, "--top", 20, "--pair", "3,9", "--json", "--quiet").stdout)
    ours = spadework.distortion(digits["inputs"], digits["standard"], labels=digits["labels"], top=20, pairs=[(3, 9)])
    assert without_times(ours.to_dict()) == without_times(theirs)
    assert json.loads(ours.to_json()) == ours.document and "<table>" in ours._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 10**6}, "at most half the number of input edges"),
        ({"top": 0}, "`top` must be at least 1, got 0"),
        ({"pairs": [(0, 0)]}, "must name two different samples below 60, got 0,0"),
        ({"pairs": [(0, 60)]}, "must name two different samples below 60, got 0,60"),
        ({"pairs": [3]}, "`pairs` must be pairs of samples, got 3"),
        ({"pairs": [(-1, 2)]}, "`pairs` must be at least 0, got -1"),
    ],
)
def test_bad_calls(ring, options, message):
    with pytest.raises(ValueError, match=message):
        spadework.distortion(*ring, neighbors=2, **options)
