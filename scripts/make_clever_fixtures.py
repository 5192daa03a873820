#!/usr/bin/env python3
"""Maxima of random batches and their reverse Weibull fits by SciPy, for the tests of CLEVER scores.

    scripts/make_clever_fixtures.py crates/spadework-nn/tests/fixtures/weibull.json

Needs NumPy and SciPy. SciPy searches all three parameters from one start; here it starts from several and the most likely
result is kept, since a single start may end in a poor one.
"""

import json
import sys

import numpy as np
from scipy.optimize import fmin
from scipy.stats import kstest, weibull_max


def best_fit(maxima):
    """The most likely of SciPy's fits from several shapes and endpoints."""
    found = []
    spread = maxima.max() - maxima.min()
    for shape in (1.5, 2.5, 4.0, 8.0):
        for beyond in (0.05, 0.3, 1.0):
            optimizer = lambda f, x0, args, disp: fmin(f, x0, args=args, disp=disp, xtol=1e-10, ftol=1e-12, maxiter=20000, maxfun=20000)
            c, loc, scale = weibull_max.fit(maxima, shape, loc=maxima.max() + beyond * spread, scale=spread, optimizer=optimizer)
            likelihood = weibull_max.logpdf(maxima, c, loc, scale).sum()
            if c > 1 and np.isfinite(likelihood):
                found.append((likelihood, c, loc, scale))
    return max(found)


def case(name, maxima):
    likelihood, c, loc, scale = best_fit(maxima)
    distance, p_value = kstest(maxima, weibull_max(c, loc, scale).cdf, method="asymp")
    return {"name": name, "maxima": [float(x) for x in maxima], "shape": c, "endpoint": loc, "scale": scale,
            "log_likelihood": likelihood, "distance": distance, "p_value": p_value}


def main(path):
    rng = np.random.default_rng(20)
    cases = []
    for shape, endpoint, scale in ((2.5, 3.0, 0.5), (4.0, 120.0, 15.0), (1.8, 0.02, 0.004)):
        cases.append(case(f"weibull {shape}", weibull_max.rvs(shape, loc=endpoint, scale=scale, size=500, random_state=rng)))
    # Largest of bounded values, as gradients give them.
    cases.append(case("beta", 4.0 * rng.beta(2.0, 3.0, size=(500, 256)).max(axis=1)))
    points = rng.normal(size=(200, 64, 10))
    cases.append(case("directions", (np.abs(points[..., 0]) / np.linalg.norm(points, axis=-1)).max(axis=1)))
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"cases": cases}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
