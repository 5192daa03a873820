"""Tables: columns of mixed scales and kinds as inputs, and the outputs of any estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ._alone import check_alone, check_classes_alone
from ._estimators import answering, as_classes, classes_of
from ._functions import score
from ._report import Report
from .perturb import is_categorical


class EncodedTable(NamedTuple):
    """A table as numbers, and the metric for distances between its rows."""

    #: One row of numbers per row of the table.
    rows: npt.NDArray[np.float64]
    #: What each number is: a column, or a column and one of its categories.
    names: list[str]
    #: The distance between these rows.
    metric: Literal["euclidean", "manhattan"]
    #: The category that each number belongs to, counted from 1; 0 for numeric columns: ``categories`` of `probe`.
    categories: list[int]


def encode_table(
    table: Any,
    *,
    categories: Literal["onehot", "gower"] = "onehot",
    standardize: bool | Literal["robust"] = True,
    columns: Sequence[str] | None = None,
    like: Any = None,
) -> EncodedTable:
    """Encode a table as rows of numbers, with equal weight for every column.

    Parameters
    ----------
    table : DataFrame, or array-like of shape (n, d)
        Numbers, booleans, strings and pandas categories. Missing values are refused.
    categories : {"onehot", "gower"}, default="onehot"
        ``"onehot"``: numeric columns are standardized, and two different categories are 1 apart; rows are compared by their
        Euclidean distance. ``"gower"``: numeric columns are divided by their range, two different categories differ by 1, and
        rows are compared by the mean over all columns, which is Gower's distance.
    standardize : bool or "robust", default=True
        With one-hot categories: by mean and standard deviation, by median and interquartile range, or not at all.
    columns : sequence of str, optional
        Columns to use; all by default.
    like : DataFrame, or array-like of shape (m, d), optional
        The table that means, deviations, ranges and categories are taken from, for new rows that are compared with its rows. A category
        that it does not have is refused. By default the table itself.

    Returns
    -------
    EncodedTable

    Raises
    ------
    ValueError
        For a missing value or an unknown category; the message names its row and column.

    Examples
    --------
    >>> import pandas, spadework
    >>> table = pandas.DataFrame({"size": [1.0, 2.0, 4.0], "color": ["red", "blue", "red"]})
    >>> encoded = spadework.encode_table(table, categories="gower")
    >>> encoded.names
    ['size', 'color=blue', 'color=red']
    >>> encoded.categories
    [0, 1, 1]
    >>> float(abs(encoded.rows[0] - encoded.rows[1]).sum())        # (1/3 of the range + another color) / 2 columns
    0.6666666666666666
    """
    if categories not in ("onehot", "gower"):
        raise ValueError(f'`categories` must be "onehot" or "gower", got {categories!r}')
    if standardize not in (True, False, "robust"):
        raise ValueError(f'`standardize` must be True, False or "robust", got {standardize!r}')
    named = _columns(table, columns)
    known = named if like is None else _columns(like, columns)
    _check_like(named, known)
    parts: list[npt.NDArray[np.float64]] = []
    names: list[str] = []
    numbers: list[int] = []
    for (name, values, is_category), (_, all_values, _) in zip(named, known):
        if is_category:
            found = sorted(set(all_values), key=str)
            places = _category_places(name, values, found)
            ones = np.zeros((len(values), len(found)))
            # Two ones that differ: a squared distance of 2, or a difference of 2.
            ones[np.arange(len(values)), places] = 0.5 if categories == "gower" else np.sqrt(0.5)
            parts.append(ones)
            names += [f"{name}={category}" for category in found]
            numbers += [max(numbers, default=0) + 1] * len(found)
        else:
            scaled = (
                _by_range(values, all_values) if categories == "gower" else _standardized(name, values, standardize, all_values)
            )
            parts.append(scaled[:, None])
            names.append(str(name))
            numbers.append(0)
    rows = np.concatenate(parts, axis=1)
    if categories == "gower":
        return EncodedTable(rows / len(named), names, "manhattan", numbers)
    return EncodedTable(rows, names, "euclidean", numbers)


def score_table(
    model: Any,
    table: Any,
    *,
    labels: Any = None,
    categories: Literal["onehot", "gower"] = "onehot",
    standardize: bool | Literal["robust"] = True,
    verbose: bool | None = None,
    **options: Any,
) -> Report:
    """Score an estimator on a table.

    Parameters
    ----------
    model : estimator or callable
        Anything with ``predict_proba``, ``decision_function`` or ``predict``, tried in this order, or a function. It gets the
        unchanged table, so a pipeline does its own encoding. Classes that a classifier predicts become columns of 0 and 1.
    table : DataFrame, or array-like of shape (n, d)
        The inputs.
    labels : array-like of shape (n,), optional
        As in `score`; for a classifier of scikit-learn, the classes that it was fitted with (its ``classes_``).
    categories, standardize
        How rows are compared: as in `encode_table`.
    verbose, **options
        As in `score`, without ``input_metric`` and ``standardize``. Forests and boosting return the same numbers for many samples:
        ``ties`` says what decides which of them are neighbors, by default the distance between rows of the table.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import spadework
    >>> wine = load_wine(as_frame=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(wine.data, wine.target)
    >>> report = spadework.score_table(forest, wine.data, labels=wine.target, verbose=False)
    >>> len(report.node_scores), report.document["input_dim"]
    (178, 13)
    """
    for name in ("input_metric", "input_graph", "output_graph"):
        if name in options:
            raise ValueError(f"`{name}` is not an argument here: `categories` says how rows of a table are compared")
    encoded = encode_table(table, categories=categories, standardize=standardize)
    run, classes = answering(model), classes_of(model)
    answer = outputs = np.asarray(run(table))
    if classes is not None and outputs.ndim == 1:
        if outputs.dtype.kind in "iu":
            outputs = np.eye(len(classes))[outputs]
        else:
            # The decision function of two classes: one column would count as a predicted number, or as a probability.
            outputs = np.column_stack([-outputs, outputs])
    if outputs.dtype.kind not in "fiu":
        raise ValueError(
            f"the model must return numbers, got {outputs.dtype} values: an estimator with predict_proba returns probabilities"
        )
    outputs = outputs.reshape(len(outputs), -1).astype(np.float64)
    if len(outputs) != len(encoded.rows):
        raise ValueError(f"the model must return one row per sample ({len(encoded.rows)}), got {len(outputs)}")
    are_classes = classes is not None and answer.ndim == 1 and answer.dtype.kind in "iu"
    check = check_classes_alone if are_classes else check_alone
    check(run, table, answer, "outputs of the model")
    known = as_classes(labels, model, len(encoded.rows))
    report = score(encoded.rows, outputs, labels=known, input_metric=encoded.metric, verbose=verbose, **options)
    encoding = {"categories": categories, "standardize": standardize}
    return replace(report, document={**report.document, "columns": encoded.names, "encoding": encoding})


def _columns(table: Any, columns: Sequence[str] | None) -> list[tuple[Any, npt.NDArray[Any], bool]]:
    """Name, values and kind of every column, without missing values."""
    if not hasattr(table, "iloc"):
        if columns is not None:
            raise ValueError("`columns` are names, but the table has none: pass a DataFrame")
        values = np.asarray(table)
        if values.ndim != 2 or values.shape[1] == 0:
            raise ValueError(f"`table` must have rows and columns, got an array of shape {list(values.shape)}")
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"an array must hold numbers, got {values.dtype}: pass a DataFrame where columns are of several kinds"
            )
        return [(at, _present(at, values[:, at].astype(np.float64)), False) for at in range(values.shape[1])]
    chosen = list(table.columns) if columns is None else list(columns)
    for name in chosen:
        if name not in table.columns:
            raise ValueError(f"`columns` must be columns of the table, got {name!r}")
    if not chosen:
        raise ValueError("`table` must have at least one column")
    if table.columns.duplicated().any():
        raise ValueError(f"columns must have different names, got {table.columns[table.columns.duplicated()][0]!r} twice")
    found = []
    for name in chosen:
        _check_missing(name, table[name])
        is_category = is_categorical(table[name])
        if not is_category and table[name].dtype.kind not in "fiu":
            raise ValueError(
                f"column {name!r} must hold numbers or categories, got {table[name].dtype}: turn dates into numbers, such as days, "
                "or drop the column"
            )
        values = table[name].to_numpy() if is_category else _present(name, table[name].to_numpy(np.float64))
        found.append((name, values, is_category))
    return found


def _check_missing(name: Any, column: Any) -> None:
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        raise ValueError(_missing(name, int(missing[0]), "a missing value", len(missing)))


def _present(name: Any, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise ValueError(_missing(name, int(wrong[0]), str(values[wrong[0]]), len(wrong)))
    return values


def _missing(name: Any, row: int, value: str, count: int) -> str:
    return (
        f"tables must be complete, got {value} at row {row} (counted from 0), column {name!r}, and {count} in this column: "
        "fill in or drop such rows first"
    )


def _check_like(named: list[tuple[Any, npt.NDArray[Any], bool]], known: list[tuple[Any, npt.NDArray[Any], bool]]) -> None:
    names, expected = [name for name, _, _ in named], [name for name, _, _ in known]
    if names != expected:
        raise ValueError(f"`table` must have the columns of `like` in the same order ({expected}), got {names}")
    for (name, _, is_category), (_, _, should_be) in zip(named, known):
        if is_category != should_be:
            kinds = ("categories", "numbers") if should_be else ("numbers", "categories")
            raise ValueError(f"column {name!r} holds {kinds[0]} in `like`, got {kinds[1]}")


def _category_places(name: Any, values: npt.NDArray[Any], known: list[Any]) -> npt.NDArray[np.int64]:
    """The place of every value among the known categories."""
    place = {category: at for at, category in enumerate(known)}
    for row, value in enumerate(values):
        if value not in place:
            raise ValueError(f"`table` must have the categories of `like`, got {value!r} at row {row} (counted from 0), column {name!r}")
    return np.array([place[value] for value in values], dtype=np.int64)


def _by_range(values: npt.NDArray[np.float64], of: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Values as parts of the range of a column."""
    reach = np.ptp(of)
    return np.zeros_like(values) if reach == 0 else (values - np.min(of)) / reach


def _standardized(
    name: Any, values: npt.NDArray[np.float64], how: bool | str, of: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Values by the mean and the deviation of a column."""
    if how is False:
        return values
    if np.ptp(of) == 0:
        return np.zeros_like(values)
    if how is True:
        return np.asarray((values - of.mean()) / of.std())
    low, middle, high = np.quantile(of, [0.25, 0.5, 0.75])
    if low == high:
        raise ValueError(
            f"column {name!r} has no interquartile range, because more than half of it is one value: use standardize=True, "
            "or drop it"
        )
    return np.asarray((values - middle) / (high - low))
