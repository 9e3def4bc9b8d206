# SPDX-License-Identifier: Apache-2.0
"""Studies of Optuna and experiments of NNI: their spaces and results as ours, and back."""
from __future__ import annotations

import json
import math
import os
import random
import sqlite3
import warnings
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

from .errors import TuneError

Space = Dict[str, Dict[str, Any]]
WHOLE = "_whole"  # of a parameter whose steps are whole numbers: they are integers, which NNI does not have with a logarithm


class Result(NamedTuple):
    """Parameters and what came of them."""

    params: Dict[str, Any]
    value: float
    reports: List[float]


class Found(NamedTuple):
    """A search that was made elsewhere."""

    space: Space
    maximize: bool
    results: List[Result]


def space_of_optuna(distributions: Mapping[str, Any]) -> Space:
    """Distributions of Optuna as a search space."""
    return {name: _of_distribution(name, d) for name, d in distributions.items()}


def _of_distribution(name: str, d: Any) -> Dict[str, Any]:
    kind = type(d).__name__
    if kind == "CategoricalDistribution":
        return {"_type": "choice", "_value": list(d.choices)}
    if kind == "IntDistribution" and d.log:
        return {"_type": "qloguniform", "_value": [d.low, d.high, 1], WHOLE: True}
    if kind == "IntDistribution":
        return ({"_type": "randint", "_value": [d.low, d.high + 1]} if d.step == 1 else
                {"_type": "choice", "_value": list(range(d.low, d.high + 1, d.step))})
    if kind == "FloatDistribution":
        if d.step is not None:
            steps = int((d.high - d.low) / d.step + 1e-9) + 1
            return {"_type": "choice", "_value": [d.low + i * d.step for i in range(steps)]}
        return {"_type": "loguniform" if d.log else "uniform", "_value": [d.low, d.high]}
    raise TuneError(f"{name}: distributions of the kind {kind} are not known here")


def space_to_optuna(space: Mapping[str, Any], results: Sequence[Result] = ()) -> Dict[str, Any]:
    """A search space as distributions of Optuna, wide enough for `results` where NNI's have no bounds (normal, lognormal)."""
    return {name: _whole_distribution(about["_value"]) if about.get(WHOLE) else
            _to_distribution(name, about["_type"], about["_value"], [r.params[name] for r in results if name in r.params])
            for name, about in space.items()}


def _whole_distribution(value: Sequence[Any]) -> Any:
    from optuna.distributions import IntDistribution
    return IntDistribution(value[0], value[1], log=True)


def whole(space: Mapping[str, Any], params: Mapping[str, Any]) -> Dict[str, Any]:
    """Parameters with integers where the space says so.

    >>> whole({"n": {"_type": "qloguniform", "_value": [1, 9, 1], "_whole": True}}, {"n": 3.0, "x": 2.0})
    {'n': 3, 'x': 2.0}
    """
    ours = {name for name, about in space.items() if isinstance(about, Mapping) and about.get(WHOLE)}
    chosen = {name: about.get("_value") for name, about in space.items() if isinstance(about, Mapping) and about.get("_type") == "choice"}
    return {name: int(v) if name in ours and isinstance(v, float) and v.is_integer() else _option(chosen[name], v) if name in chosen else v
            for name, v in params.items()}


def _option(options: Any, value: Any) -> Any:
    """The choice as it was given: an integer beyond 64 bits comes back as a fraction."""
    if isinstance(value, float) and isinstance(options, (list, tuple)):
        return next((o for o in options if isinstance(o, int) and not isinstance(o, bool) and abs(o) >= 2**63 and float(o) == value), value)
    return value


def _to_distribution(name: str, kind: str, value: Sequence[Any], seen: Sequence[Any]) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
    if kind == "choice":
        if any(not isinstance(v, (bool, int, float, str, type(None))) for v in value):
            raise TuneError(f"{name}: choices within choices have no counterpart in Optuna")
        return CategoricalDistribution(list(value))
    if kind == "randint":
        return IntDistribution(value[0], value[1] - 1)
    if kind in ("uniform", "quniform"):
        return FloatDistribution(value[0], value[1])
    if kind in ("loguniform", "qloguniform"):
        return FloatDistribution(value[0], value[1], log=True)
    if kind in ("normal", "qnormal", "lognormal", "qlognormal"):
        low, high = value[0] - 6 * value[1], value[0] + 6 * value[1]
        if "log" in kind:
            low, high = math.exp(low), math.exp(high)
        return FloatDistribution(min([low, *seen]), max([high, *seen]), log="log" in kind and min([low, *seen]) > 0)
    raise TuneError(f"{name}: _type {kind!r} has no counterpart in Optuna")


def read_optuna(study: Any) -> Found:
    """All complete trials of a study of Optuna with one objective."""
    if len(study.directions) != 1:
        raise TuneError("studies of several objectives are not taken over")
    distributions: Dict[str, Any] = {}
    results = []
    for trial in study.get_trials(deepcopy=False):
        distributions.update(trial.distributions)
        if trial.state.name == "COMPLETE":
            reports = [trial.intermediate_values[step] for step in sorted(trial.intermediate_values)]
            results.append(Result(dict(trial.params), float(trial.value), reports))
    space = space_of_optuna(distributions)
    return Found(space, study.directions[0].name == "MAXIMIZE", [_complete(space, r, i) for i, r in enumerate(results)])


def _complete(space: Space, result: Result, number: int) -> Result:
    """A result of a trial that did not ask for every parameter, with those that made no difference to it, drawn by its number."""
    drawn = {name: _drawn(about, random.Random(f"{number} {name}")) for name, about in space.items() if name not in result.params}
    return result._replace(params={**result.params, **drawn})


def _drawn(about: Mapping[str, Any], r: random.Random) -> Any:
    kind, value = about["_type"], about["_value"]
    if kind == "choice":
        return r.choice(value)
    if kind == "randint":
        return r.randrange(value[0], value[1])
    if kind == "uniform":
        return r.uniform(value[0], value[1])
    found = min(max(math.exp(r.uniform(math.log(value[0]), math.log(value[1]))), value[0]), value[1])
    return round(found) if about.get(WHOLE) else found


def finite(results: Iterable[Result], stacklevel: int = 4) -> List[Result]:
    """Results that are numbers; others are failures, and warned of."""
    kept = []
    for number, result in enumerate(results):
        if math.isfinite(result.value):
            kept.append(result)
        else:
            warnings.warn(f"result {number} is left out: it is {result.value}", stacklevel=stacklevel)
    return kept


def write_optuna(found: Found, storage: Any = None, study_name: Optional[str] = None) -> Any:
    """A new study of Optuna with these results."""
    import optuna
    study = optuna.create_study(storage=storage, study_name=study_name, direction="maximize" if found.maximize else "minimize")
    results = finite(found.results)
    distributions = space_to_optuna(found.space, results)
    for number, result in enumerate(results):
        params = {name: result.params[name] for name in distributions if name in result.params}
        try:
            wide = {name: _wide_enough(name, distributions[name], value) for name, value in params.items()}
        except TuneError as e:
            warnings.warn(f"result {number} is left out: {e}", stacklevel=3)
            continue
        study.add_trial(optuna.trial.create_trial(params=params, value=result.value, intermediate_values=dict(enumerate(result.reports)),
                                                  distributions=wide))
    return study


def _wide_enough(name: str, d: Any, value: Any) -> Any:
    """A distribution that holds a value from elsewhere: Optuna takes other limits from trial to trial, but no other kinds and choices."""
    if hasattr(d, "choices"):
        if any(value == c and isinstance(value, bool) == isinstance(c, bool) for c in d.choices):
            return d
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and (value > 0 or not d.log):
        whole = type(d).__name__ == "IntDistribution"
        if d.low <= value <= d.high and (not whole or value == int(value)):
            return d
        if not whole or value == int(value):
            bound = int(value) if whole else float(value)
            return type(d)(min(d.low, bound), max(d.high, bound), log=d.log)
    raise TuneError(f"{name}: {value!r} does not fit {d}")


def read_nni(source: Any) -> Found:
    """An experiment of NNI: its directory (experiments/ID), its `db/nni.sqlite`, or an Experiment of the package nni."""
    if hasattr(source, "export_data") and hasattr(source, "config"):
        config = source.config
        results = [Result(_params(t), float(_field(t, "value")), []) for t in source.export_data()]
        tuner = getattr(config, "tuner", None)
        return Found(dict(config.search_space), _maximizes(getattr(tuner, "class_args", None)), results)
    path = os.fspath(source)
    for name in ("", "db/nni.sqlite", "nni.sqlite"):
        file = os.path.join(path, name) if name else path
        if os.path.isfile(file):
            return _read_nni_store(file)
    raise TuneError(f"{path}: no experiment of NNI is there")


def _field(trial: Any, name: str) -> Any:
    return trial[name] if isinstance(trial, Mapping) else getattr(trial, name)


def _params(trial: Any) -> Dict[str, Any]:
    found = _field(trial, "parameter")
    return dict(json.loads(found) if isinstance(found, str) else found)


def _maximizes(args: Optional[Mapping[str, Any]]) -> bool:
    return bool((args or {}).get("optimize_mode", "minimize") == "maximize")


def _read_nni_store(path: str) -> Found:
    """Results are matched to parameters by the number of the parameters, which NNI itself does by trial, and so mixes up."""
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            profile = json.loads(db.execute("select params from ExperimentProfile order by revision desc limit 1").fetchone()[0])
            asked = db.execute("select data from TrialJobEvent where data like '{%' order by sequenceId").fetchall()
            told = db.execute("select parameterId, type, sequence, data from MetricData order by sequence").fetchall()
        finally:
            db.close()
    except (sqlite3.Error, TypeError, ValueError) as e:
        raise TuneError(f"{path}: no experiment of NNI: {e}") from None
    params = {str(p["parameter_id"]): p["parameters"] for p in (json.loads(row[0]) for row in asked) if "parameters" in p}
    reports: Dict[str, List[float]] = {}
    final: Dict[str, float] = {}
    for number, kind, _, data in told:
        value = _number(data)
        if value is not None and kind == "FINAL":
            final[number] = value
        elif value is not None:
            reports.setdefault(number, []).append(value)
    space = profile["searchSpace"]
    args = (profile.get("tuner") or profile.get("advisor") or {}).get("classArgs")
    results = [Result(p, final[n], reports.get(n, [])) for n, p in params.items() if n in final]
    return Found(json.loads(space) if isinstance(space, str) else space, _maximizes(args), results)


def _number(data: str) -> Optional[float]:
    """A result is JSON, often within JSON; of an object the number is `default`."""
    value: Any = data
    while isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if isinstance(value, Mapping):
        value = value.get("default")
    return float(value) if isinstance(value, (int, float)) else None


def write_nni(results: Sequence[Result], path: Optional[str] = None) -> List[Dict[str, Any]]:
    """Results as `nnictl experiment import` and tuners of NNI take them; written to `path` as well."""
    rows = [{"parameter": result.params, "value": result.value} for result in results]
    if path:
        with open(path, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    return rows
