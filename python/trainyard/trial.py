# SPDX-License-Identifier: Apache-2.0
"""What a trial of an experiment says and asks, with the names of NNI's trial API.

    from trainyard import tune
    params = tune.get_next_parameter()
    for epoch in range(10):
        tune.report_intermediate_result(train(params))
    tune.report_final_result(best)

Outside an experiment get_next_parameter() is {} with a warning, and reports go to the log.
"""
from __future__ import annotations

import json
import logging
import os
import warnings
from typing import Any, Dict, Optional

__all__ = ["get_next_parameter", "get_current_parameter", "report_intermediate_result", "report_final_result",
           "get_experiment_id", "get_trial_id", "get_sequence_id"]

_log = logging.getLogger("trainyard.tune")
STANDALONE = "STANDALONE"


class _Trial:
    """The trial of this process."""

    def __init__(self) -> None:
        self.read: Optional[Dict[str, Any]] = None
        self.reports = 0


_trial = _Trial()


def _directory() -> Optional[str]:
    if os.environ.get("NNI_PLATFORM", "unittest") == "unittest":
        return None
    return os.environ["NNI_SYS_DIR"]


def get_next_parameter() -> Optional[Dict[str, Any]]:
    """The parameters of this trial; None when asked again."""
    where = _directory()
    if not where:
        warnings.warn("this is no trial of an experiment: there are no parameters", RuntimeWarning, stacklevel=2)
        _trial.read = {"parameters": {}, "parameter_id": 0}
        return {}
    if _trial.read is not None:
        return None
    with open(os.path.join(where, "parameter.cfg"), encoding="utf-8") as f:
        _trial.read = json.load(f)
    assert _trial.read is not None
    return dict(_trial.read["parameters"])


get_next_parameters = get_next_parameter


def get_current_parameter(tag: Optional[str] = None) -> Any:
    """What get_next_parameter() returned, or one of its values."""
    if _trial.read is None:
        return None
    return _trial.read["parameters"] if tag is None else _trial.read["parameters"][tag]


def report_intermediate_result(metric: Any) -> None:
    """A result on the way: a number, or a dict with the key "default"."""
    _report("PERIODICAL", metric, f"Intermediate result: {metric}  (Index {_trial.reports})")
    _trial.reports += 1


def report_final_result(metric: Any) -> None:
    """The result of this trial: a number, or a dict with the key "default"."""
    _report("FINAL", metric, f"Final result: {metric}")


def _report(kind: str, metric: Any, text: str) -> None:
    where = _directory()
    if not where:
        _log.info(text)
        return
    if _trial.read is None:
        raise AssertionError("call get_next_parameter() before the first report")
    body = json.dumps({"parameter_id": _trial.read["parameter_id"], "trial_job_id": get_trial_id(), "type": kind,
                       "sequence": _trial.reports if kind == "PERIODICAL" else 0, "value": json.dumps(_plain(metric))}).encode()
    os.makedirs(os.path.join(where, ".nni"), exist_ok=True)
    with open(os.path.join(where, ".nni", "metrics"), "ab") as f:
        f.write(b"ME%06d%b\n" % (len(body) + 1, body))


def _plain(metric: Any) -> Any:
    """Numbers of numpy and torch as Python's.

    >>> class Scalar:
    ...     def item(self): return 0.5
    >>> _plain({"default": Scalar(), "auc": 1})
    {'default': 0.5, 'auc': 1}
    """
    if isinstance(metric, dict):
        return {k: _plain(v) for k, v in metric.items()}
    return metric.item() if hasattr(metric, "item") else metric


def get_experiment_id() -> str:
    return os.environ.get("NNI_EXP_ID", STANDALONE)


def get_trial_id() -> str:
    return os.environ.get("NNI_TRIAL_JOB_ID", STANDALONE)


def get_sequence_id() -> int:
    return int(os.environ.get("NNI_TRIAL_SEQ_ID", "0"))
