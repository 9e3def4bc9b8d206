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
import os
import subprocess
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional

from . import _program, errors

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
        """The result."""
        self._over()
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
        self.trials: List[StudyTrial] = []
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
            self.trials[line["tell"]].tell(line["value"])
        elif "report" in line:
            self.trials[line["report"]].report(line["value"])
        elif "fail" in line:
            self.trials[line["fail"]].fail()
        else:
            self.add(line["import"], line["value"])

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
            raise errors.from_output(self._said.read(), status)
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

    @property
    def best(self) -> StudyTrial:
        """The best trial so far."""
        done = [t for t in self.trials if t.value is not None and t.value == t.value]
        if not done:
            raise errors.TuneError("no trial has a result yet")
        return (max if self.maximize else min)(done, key=lambda t: t.value)  # type: ignore[arg-type,return-value]

    def close(self) -> None:
        """Ends the tuner; the file stays."""
        if self._tuner.stdin:
            self._tuner.stdin.close()
        if self._tuner.stdout:
            self._tuner.stdout.close()
        self._tuner.wait()
        self._said.close()
        self._place.cleanup()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()
