# SPDX-License-Identifier: Apache-2.0
"""A search by asking and telling, for loops of one's own.

    study = Study({"lr": {"_type": "loguniform", "_value": [1e-4, 1e-1]}}, maximize=True, path="lr.jsonl")
    for _ in range(20):
        trial = study.ask()
        trial.tell(train(**trial.params))
    print(study.best.params)

With `path` every step is kept in that file, and a study of the same path goes on where it was: a tuner's suggestions depend on
nothing but its seed and what it was told. Threads may ask and tell at the same time.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import subprocess
import tempfile
import threading
import warnings
import weakref
from typing import IO, Any, Callable, Dict, List, Mapping, Optional

from . import _display, _exchange, _program, errors, frames

__all__ = ["Study", "StudyTrial"]


class StudyTrial:
    """One set of parameters, and what came of it."""

    def __init__(self, study: "Study", number: int, params: Dict[str, Any]) -> None:
        self._study = study
        self.number = number
        self.imported = False  #: a result from elsewhere
        self.params = params
        self.state = "running"  #: then "done" or "failed"
        self.value: Optional[float] = None
        self.reports: List[float] = []

    def report(self, value: float) -> None:
        """A result on the way."""
        number = self._number(value)
        if not math.isfinite(number):
            raise errors.TuneError(f"trial {self.number}: its result on the way is {number}")
        self._study._say({"report": self.number, "step": len(self.reports), "value": number})
        self.reports.append(number)

    def tell(self, value: float) -> None:
        """The result; one that is no finite number is a failure, and warned of."""
        self._over()
        number = self._number(value)
        if not math.isfinite(number):
            warnings.warn(f"trial {self.number}: its result is {number}: it has failed", stacklevel=2)
            self.fail()
            return
        self._study._say({"tell": self.number, "value": number})
        self.value, self.state = number, "done"

    def fail(self) -> None:
        """There is no result."""
        self._over()
        self._study._say({"fail": self.number})
        self.state = "failed"

    def _number(self, value: Any) -> float:
        if not isinstance(value, (int, float)) and not hasattr(value, "__float__"):
            raise errors.TuneError(f"trial {self.number}: the result must be a number, not {type(value).__name__}")
        try:
            return float(value)
        except OverflowError:
            raise errors.TuneError(f"trial {self.number}: the result is more than a float holds") from None

    def _over(self) -> None:
        if self.state != "running":
            raise errors.TuneError(f"trial {self.number} is {self.state} already")

    def __repr__(self) -> str:
        return f"StudyTrial({self.number}, {self.params!r}, {self.state}, {self.value})"


def _tuner_of(path: Optional[str]) -> str:
    """The tuner of a study that exists, the default otherwise."""
    try:
        with open(path or "", encoding="utf-8") as f:
            return str(json.loads(f.readline())["tuner"])
    except (OSError, KeyError, RecursionError, TypeError, ValueError):
        return "Auto"


class Study:
    """A tuner to ask and tell; `space` as in a search space file of NNI."""

    def __init__(self, space: Mapping[str, Any], tuner: Optional[str] = None, maximize: bool = False, seed: int = 0,
                 path: Optional[str] = None, **tuner_args: Any) -> None:
        self.space = dict(space)
        self.trials: List[StudyTrial] = []  #: all, in order: those that were asked for, and results from elsewhere
        self.maximize = maximize
        self._path = path
        self._said_so_far: List[Mapping[str, Any]] = []
        self._lock = threading.RLock()
        self._tuner: Optional[_Tuner] = None
        self._file: Optional[IO[str]] = None
        self._closed = False
        self._owner = os.getpid()
        head = {"space": dict(space), "tuner": tuner or _tuner_of(path), "seed": seed,
                "args": {"optimize_mode": "maximize" if maximize else "minimize", **tuner_args}}
        frames.whole_texts("space", self.space)
        try:
            self._head: Dict[str, Any] = json.loads(json.dumps(head, default=frames.plain))
        except (TypeError, ValueError) as e:
            raise errors.TuneError(f"the search space cannot be written: {e}") from None
        self._send({"fail": -1})  # refused, but now the tuner is there and its settings are good
        if path:
            self._open(os.fspath(path))

    @property
    def imported(self) -> List[StudyTrial]:
        """Results from elsewhere."""
        return [t for t in self.trials if t.imported]

    def _open(self, path: str) -> None:
        """Says the lines of the file again, or begins it."""
        self._file = _locked(path, self)
        self._unlock = weakref.finalize(self, _unlock, self._file, os.getpid())
        try:
            lines = self._file.read().split("\n")
        except UnicodeDecodeError as e:
            raise errors.TuneError(f"{path!r} is no study: {e}") from None
        kept = lines[:-1]  # a line without an end was cut off
        try:
            if not kept:
                if not _line(self._head).startswith(lines[-1]):  # all of it, when the file is new
                    raise errors.TuneError(f"{path!r} is no study, and is left as it is")
                self._file.truncate(0)
                self._file.seek(0)
                self._write(self._head)
                return
            self._repeat(kept)
            if lines[-1]:
                self._file.truncate(len("".join(line + "\n" for line in kept).encode()))
                self._file.seek(0, os.SEEK_END)
        except BaseException:
            self.close()
            raise

    def _repeat(self, kept: List[str]) -> None:
        file, self._file = self._file, None  # what is there is not written again
        try:
            said = [json.loads(line) for line in kept]
            if said[0] != self._head:
                raise errors.TuneError(f"{self._path!r} is a study of another space, tuner or seed")
            for line in said[1:]:
                self._again(line)
        except (AttributeError, KeyError, LookupError, RecursionError, TypeError, ValueError) as e:
            raise errors.TuneError(f"{self._path!r} is damaged, or no study: {e}") from None
        finally:
            self._file = file

    def _again(self, line: Mapping[str, Any]) -> None:
        if "ask" in line:
            trial = self.ask()
            if trial is None or not _same(trial.params, line["params"]):
                raise errors.TuneError("the study was made by another version of the program, which suggested other parameters")
            trial.params = _exchange.whole(self.space, line["params"])  # those that were tried
        elif "tell" in line:
            self._numbered(line["tell"]).tell(line["value"])
        elif "report" in line:
            self._numbered(line["report"]).report(line["value"])
        elif "fail" in line:
            self._numbered(line["fail"]).fail()
        else:
            self.add(line["import"], line["value"])

    def _numbered(self, number: int) -> StudyTrial:
        found = [t for t in self.trials if t.number == number]
        if not found:
            raise ValueError(f"trial {number} was not asked for")
        return found[0]

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file:
            self._file.write(_line(line))
            self._file.flush()

    def _running(self) -> "_Tuner":
        """The tuner, which knows all that was said; one that was lost, as by an interrupt within a call, is told anew."""
        if self._closed:
            raise errors.TuneError("the study is closed" + (f"; a new one of {self._path!r} goes on" if self._path else ""))
        if os.getpid() != self._owner:
            raise errors.TuneError("a study lives in the process that made it: ask there, and hand parameters on")
        if self._tuner is None:
            tuner = _Tuner(self._head)
            for line in self._said_so_far:
                tuner.answer(line)
            self._tuner = tuner
            self._end = weakref.finalize(self, tuner.end)
        return self._tuner

    def _send(self, line: Mapping[str, Any]) -> Dict[str, Any]:
        tuner = self._running()
        try:
            return tuner.answer(line)
        except BaseException:  # what it knows now is uncertain
            self._tuner = None
            self._end()
            raise

    def _say(self, line: Mapping[str, Any]) -> Dict[str, Any]:
        with self._lock:
            answer = self._send(line)
            if "error" in answer:
                raise errors.TuneError(str(answer["error"]))
            self._said_so_far.append(line)
            if "trial" in answer:
                self._write({"ask": 1, "params": answer["params"]})
            elif "ask" not in line:
                self._write(line)
            return answer

    def ask(self) -> Optional[StudyTrial]:
        """The next trial; None when the tuner has nothing before a result, or nothing any more."""
        with self._lock:
            answer = self._say({"ask": 1})
            if "trial" not in answer:
                return None
            self.trials.append(StudyTrial(self, int(answer["trial"]), _exchange.whole(self.space, answer["params"])))
            return self.trials[-1]

    def add(self, params: Mapping[str, Any], value: float) -> None:
        """A result from elsewhere."""
        if not math.isfinite(float(value)):
            raise errors.TuneError(f"the result of {dict(params)} is {float(value)}")
        with self._lock:
            self._say({"import": dict(params), "value": float(value)})
            taken = StudyTrial(self, len(self.trials), dict(params))
            taken.value, taken.state, taken.imported = float(value), "done", True
            self.trials.append(taken)

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
            for result in _exchange.finite(found.results):
                study.add(result.params, result.value)
        return study

    def _found(self) -> _exchange.Found:
        done = [t for t in self.trials if t.state == "done"]
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
        done = [t for t in self.trials if t.value is not None and t.value == t.value]
        if not done:
            raise errors.TuneError("no trial has a result yet")
        return (max if self.maximize else min)(done, key=lambda t: t.value)  # type: ignore[arg-type,return-value]

    @property
    def expected(self) -> StudyTrial:
        """The trial that the tuner expects to be best: under noise not always the one with the best result."""
        with self._lock:
            answer = self._send({"best": 1})
        found = [t for t in self.trials if t.number == answer.get("trial")]
        return found[0] if found else self.best

    def __repr__(self) -> str:
        done = [t for t in self.trials if t.state == "done"]
        return f"Study({len(self.trials)} trials, {len(done)} done" + (f", best {self.best.value})" if done else ")")

    def _repr_html_(self) -> str:
        done = [t for t in self.trials if t.value is not None]
        rows = [("trials", f"{len(self.trials)}, {len(done)} done"), ("from elsewhere", str(len(self.imported)))]
        if done:
            rows += [("best", str(self.best.value)), ("parameters", json.dumps(self.best.params))]
        curve = {"value": [(float(t.number), t.value) for t in done if t.value is not None]}
        return _display.table_html(rows) + (_display.Plot(curve)._repr_html_() if len(done) > 1 else "")

    def close(self) -> None:
        """Ends the tuner; the file stays."""
        self._closed = True
        if self._tuner:
            self._end()
        if self._file:
            self._file = None
            self._unlock()

    def __reduce__(self) -> Any:
        raise errors.TuneError("a study is neither copied nor pickled: one of the same path goes on where it was")

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()


class _Tuner:
    """The process that suggests parameters."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        self._owner = os.getpid()
        with contextlib.ExitStack() as made:
            place = made.enter_context(tempfile.TemporaryDirectory(prefix="trainyard-"))
            space = os.path.join(place, "space.json")
            with open(space, "w", encoding="utf-8") as f:
                json.dump(_plain_space(head["space"]), f, indent=1)
            self._said = made.enter_context(open(os.path.join(place, "stderr"), "w+", encoding="utf-8"))
            self._process = _program.start(
                ["tune", "study", f"--tuner={head['tuner']}", f"--tuner-args={json.dumps(head['args'])}", f"--seed={head['seed']}", space],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True, encoding="utf-8",
                start_new_session=True)  # Ctrl-C is not for it
            self._made = made.pop_all()

    def answer(self, line: Mapping[str, Any]) -> Dict[str, Any]:
        """What it answers to a line."""
        try:
            assert self._process.stdin and self._process.stdout
            self._process.stdin.write(_line(line))
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            status = self._process.wait()
            self._said.seek(0)
            place = os.path.dirname(self._said.name)
            raise errors.from_output(self._said.read(), status).reworded(lambda text: errors.keywords(frames.named(text, place)))
        return dict(_program.parsed(answer))

    def end(self) -> None:
        if os.getpid() != self._owner:  # a forked process leaves its parent's tuner alone
            return
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if stream:
                    stream.close()
        self._process.wait()
        self._made.close()


def _plain_space(space: Any) -> Any:
    """A space as the program knows it."""
    return {name: {k: v for k, v in about.items() if k != _exchange.WHOLE} if isinstance(about, dict) else about
            for name, about in space.items()} if isinstance(space, dict) else space


def _same(suggested: Any, recorded: Any) -> bool:
    """The same parameters, but for the last digits of fractions: versions of the program round them in their own ways.

    >>> _same({"lr": 0.1, "k": ["a", 3]}, {"lr": 0.10000000000000006, "k": ["a", 3]}), _same({"lr": 0.1}, {"lr": 0.11}), _same(1, True)
    (True, False, False)
    """
    if isinstance(suggested, dict) and isinstance(recorded, dict):
        return suggested.keys() == recorded.keys() and all(_same(v, recorded[k]) for k, v in suggested.items())
    if isinstance(suggested, list) and isinstance(recorded, list):
        return len(suggested) == len(recorded) and all(map(_same, suggested, recorded))
    if isinstance(suggested, float) and isinstance(recorded, float):
        return math.isclose(suggested, recorded, rel_tol=1e-12, abs_tol=1e-300)
    return bool(suggested == recorded) and isinstance(suggested, bool) == isinstance(recorded, bool)


def _line(said: Mapping[str, Any]) -> str:
    try:
        return json.dumps(said, default=frames.plain) + "\n"
    except (TypeError, ValueError) as e:
        raise errors.TuneError(str(e)) from None


def _unlock(file: IO[str], owner: int) -> None:
    if os.getpid() == owner:  # else the lock is the parent's
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
    file.close()


_opened: "Dict[str, weakref.ref[Study]]" = {}


def _locked(path: str, study: Study) -> IO[str]:
    """The file of a study, which no other process uses meanwhile; an older study of this process is closed."""
    name = os.path.realpath(path)
    older = _opened[name]() if name in _opened else None
    if older is not None:
        older.close()
    file = open(path, "a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise errors.TuneError(f"{path!r} is in use by another process") from None
    except OSError:  # a file system without locks
        pass
    _opened[name] = weakref.ref(study)
    file.seek(0)
    return file
