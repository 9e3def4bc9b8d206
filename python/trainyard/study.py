# SPDX-License-Identifier: Apache-2.0
"""A search by asking and telling, for loops of one's own.

    study = Study({"lr": {"_type": "loguniform", "_value": [1e-4, 1e-1]}}, maximize=True, path="lr.jsonl")
    for _ in range(20):
        trial = study.ask()
        trial.tell(train(**trial.params))
    print(study.best.params)

With `path` every step is kept in that file, and a study of the same path goes on where it was: a tuner's suggestions depend on
nothing but its seed and what it was told.
"""
from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import warnings
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional

from . import _display, _exchange, _program, errors

__all__ = ["Study", "StudyTrial"]


class StudyTrial:
    """One set of parameters, and what came of it."""

    def __init__(self, study: "Study", number: int, params: Dict[str, Any]) -> None:
        self._study = study
        self.number = number
        self.params = params
        self.state = "running"  #: then "done" or "failed"
        self.value: Optional[float] = None
        self.reports: List[float] = []

    def report(self, value: float) -> None:
        """A result on the way."""
        self._study._say({"report": self.number, "step": len(self.reports), "value": float(value)})
        self.reports.append(float(value))

    def tell(self, value: float) -> None:
        """The result; one that is no finite number is a failure, and warned of."""
        self._over()
        if not isinstance(value, (int, float)) and not hasattr(value, "__float__"):
            raise errors.TuneError(f"trial {self.number}: the result must be a number, not {type(value).__name__}")
        if not math.isfinite(float(value)):
            warnings.warn(f"trial {self.number}: its result is {float(value)}: it has failed", stacklevel=2)
            self.fail()
            return
        self._study._say({"tell": self.number, "value": float(value)})
        self.value, self.state = float(value), "done"

    def fail(self) -> None:
        """There is no result."""
        self._over()
        self._study._say({"fail": self.number})
        self.state = "failed"

    def _over(self) -> None:
        if self.state != "running":
            raise errors.TuneError(f"trial {self.number} is {self.state} already")

    def __repr__(self) -> str:
        return f"StudyTrial({self.number}, {self.params!r}, {self.state}, {self.value})"


class Study:
    """A tuner to ask and tell; `space` as in a search space file of NNI."""

    def __init__(self, space: Mapping[str, Any], tuner: str = "TPE", maximize: bool = False, seed: int = 0,
                 path: Optional[str] = None, **tuner_args: Any) -> None:
        self.space = dict(space)
        self.trials: List[StudyTrial] = []
        self.imported: List[StudyTrial] = []  #: results from elsewhere
        self.maximize = maximize
        self._path = path
        self._log: List[Dict[str, Any]] = []
        head = {"space": dict(space), "tuner": tuner, "seed": seed,
                "args": {"optimize_mode": "maximize" if maximize else "minimize", **tuner_args}}
        self._start(head)
        if path:
            self._open(head)

    def _start(self, head: Mapping[str, Any]) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="trainyard-")
        space = os.path.join(self._place.name, "space.json")
        with open(space, "w", encoding="utf-8") as f:
            json.dump(head["space"], f, indent=1)
        self._said = open(os.path.join(self._place.name, "stderr"), "w+", encoding="utf-8")
        self._tuner = subprocess.Popen(
            [_program.path(), "tune", "study", f"--tuner={head['tuner']}", f"--tuner-args={json.dumps(head['args'])}",
             f"--seed={head['seed']}", space],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True, encoding="utf-8")
        self._close = weakref.finalize(self, _end, self._tuner, self._said, self._place, os.getpid())

    def _open(self, head: Dict[str, Any]) -> None:
        """Says the lines of the file again, or begins it."""
        assert self._path
        if not os.path.exists(self._path):
            self._send({"fail": -1})  # refused: the tuner is there and its settings are good
            self._write(head)
            return
        with open(self._path, encoding="utf-8") as f:
            lines = f.read().split("\n")
        kept = [json.loads(line) for line in lines[:-1]]  # a line without an end was cut off
        if not kept or kept[0] != head:
            self.close()
            raise errors.TuneError(f"{self._path!r} is a study of another space, tuner or seed")
        path, self._path = self._path, None
        for line in kept[1:]:
            self._again(line)
        self._path = path
        if lines[-1]:
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(json.dumps(line) + "\n" for line in kept)

    def _again(self, line: Mapping[str, Any]) -> None:
        if "ask" in line:
            trial = self.ask()
            if trial is None or trial.params != line["params"]:
                raise errors.TuneError("the study was made by another version of the program, which suggested other parameters")
        elif "tell" in line:
            self._numbered(line["tell"]).tell(line["value"])
        elif "report" in line:
            self._numbered(line["report"]).report(line["value"])
        elif "fail" in line:
            self._numbered(line["fail"]).fail()
        else:
            self.add(line["import"], line["value"])

    def _numbered(self, number: int) -> StudyTrial:
        return next(t for t in self.trials if t.number == number)

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._path:
            with open(self._path, "a", encoding="utf-8") as f:
                f.write(json.dumps(line) + "\n")

    def _send(self, line: Mapping[str, Any]) -> Dict[str, Any]:
        assert self._tuner.stdin and self._tuner.stdout
        try:
            self._tuner.stdin.write(json.dumps(line) + "\n")
            self._tuner.stdin.flush()
            answer = self._tuner.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            status = self._tuner.wait()
            self._said.seek(0)
            said = self._said.read()
            self.close()
            raise errors.from_output(said, status)
        return dict(json.loads(answer))

    def _say(self, line: Mapping[str, Any]) -> Dict[str, Any]:
        answer = self._send(line)
        if "error" in answer:
            raise errors.TuneError(str(answer["error"]))
        if "ask" not in line:
            self._write(line)
        return answer

    def ask(self) -> Optional[StudyTrial]:
        """The next trial; None when the tuner has nothing before a result, or nothing any more."""
        answer = self._say({"ask": 1})
        if "trial" not in answer:
            return None
        self._write({"ask": 1, "params": answer["params"]})
        self.trials.append(StudyTrial(self, int(answer["trial"]), answer["params"]))
        return self.trials[-1]

    def add(self, params: Mapping[str, Any], value: float) -> None:
        """A result from elsewhere."""
        self._say({"import": dict(params), "value": float(value)})
        taken = StudyTrial(self, -1, dict(params))
        taken.value, taken.state = float(value), "done"
        self.imported.append(taken)

    def optimize(self, function: Callable[[Dict[str, Any]], float], n_trials: int) -> StudyTrial:
        """Calls function(params) for n_trials further trials; one that raises has failed, and the error goes on."""
        for _ in range(n_trials):
            trial = self.ask()
            if trial is None:
                break
            try:
                trial.tell(function(trial.params))
            except BaseException:
                if trial.state == "running":
                    trial.fail()
                raise
        return self.best

    @classmethod
    def from_optuna(cls, study: Any, **options: Any) -> "Study":
        """A study with the space, the direction and the results of one of Optuna; options are those of Study."""
        return cls._taken(_exchange.read_optuna(study), options)

    @classmethod
    def from_nni(cls, experiment: Any, **options: Any) -> "Study":
        """The same from an experiment of NNI: its directory, its database, or an object of the package nni."""
        return cls._taken(_exchange.read_nni(experiment), options)

    @classmethod
    def _taken(cls, found: _exchange.Found, options: Mapping[str, Any]) -> "Study":
        study = cls(found.space, **{"maximize": found.maximize, **options})
        if not study.imported:  # else it goes on from its file
            for result in found.results:
                study.add(result.params, result.value)
        return study

    def _found(self) -> _exchange.Found:
        done = [t for t in self.imported + self.trials if t.state == "done"]
        results = [_exchange.Result(t.params, t.value, t.reports) for t in done if t.value is not None]
        return _exchange.Found(self.space, self.maximize, results)

    def to_optuna(self, storage: Any = None, study_name: Optional[str] = None) -> Any:
        """A study of Optuna with the results of this one."""
        return _exchange.write_optuna(self._found(), storage, study_name)

    def to_nni(self, path: Optional[str] = None) -> List[Dict[str, Any]]:
        """The results as `nnictl experiment import` takes them; written to `path` as well."""
        return _exchange.write_nni(self._found().results, path)

    @property
    def best(self) -> StudyTrial:
        """The best trial so far, of this study or from elsewhere."""
        done = [t for t in self.imported + self.trials if t.value is not None and t.value == t.value]
        if not done:
            raise errors.TuneError("no trial has a result yet")
        return (max if self.maximize else min)(done, key=lambda t: t.value)  # type: ignore[arg-type,return-value]

    def __repr__(self) -> str:
        done = [t for t in self.trials if t.state == "done"]
        return f"Study({len(self.trials)} trials, {len(done)} done" + (f", best {self.best.value})" if done or self.imported else ")")

    def _repr_html_(self) -> str:
        done = [t for t in self.trials if t.value is not None]
        rows = [("trials", f"{len(self.trials)}, {len(done)} done"), ("from elsewhere", str(len(self.imported)))]
        if done or self.imported:
            rows += [("best", str(self.best.value)), ("parameters", json.dumps(self.best.params))]
        curve = {"value": [(float(t.number), t.value) for t in done if t.value is not None]}
        return _display.table_html(rows) + (_display.Plot(curve)._repr_html_() if len(done) > 1 else "")

    def close(self) -> None:
        """Ends the tuner; the file stays."""
        self._close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()


def _end(tuner: "subprocess.Popen[str]", said: Any, place: "tempfile.TemporaryDirectory[str]", owner: int) -> None:
    if os.getpid() != owner:  # a forked process leaves its parent's tuner alone
        return
    for stream in (tuner.stdin, tuner.stdout, said):
        if stream:
            stream.close()
    tuner.wait()
    place.cleanup()
