# SPDX-License-Identifier: Apache-2.0
"""Searching hyperparameters: NNI's trial API, and experiments from Python.

    e = Experiment()
    e.config.trial_command = "python train.py"
    e.config.search_space = {"lr": {"_type": "loguniform", "_value": [1e-4, 1e-1]}}
    e.config.tuner.name = "TPE"
    e.config.max_trial_number = 20
    e.run()
    print(e.best())
"""
from __future__ import annotations

import difflib
import functools
import json
import os
import re
import sys
import tempfile
from typing import Any, Dict, List, Mapping, Optional

from . import _display, _exchange, _program, frames
from ._message import schema
from .errors import ConfigError, Problem, TrainyardError, TuneError
from .session import Session, get_default_session
from .study import Study, StudyTrial
from .trial import (get_current_parameter, get_experiment_id, get_next_parameter, get_next_parameters, get_sequence_id,
                    get_trial_id, report_final_result, report_intermediate_result)

__all__ = ["Experiment", "ExperimentConfig", "Study", "StudyTrial", "get_next_parameter", "get_next_parameters", "get_current_parameter",
           "report_intermediate_result", "report_final_result", "get_experiment_id", "get_trial_id", "get_sequence_id"]


def camel(name: str) -> str:
    """A name as the files of NNI spell it.

    >>> camel("max_trial_number"), camel("trialCommand")
    ('maxTrialNumber', 'trialCommand')
    """
    return re.sub(r"_([a-z])", lambda m: m[1].upper(), name)


class ExperimentConfig:
    """Fields of an experiment file as attributes, in snake_case or as the files spell them.

    >>> c = ExperimentConfig(trial_command="python t.py")
    >>> c.tuner.name = "TPE"
    >>> c.tuner.class_args = {"optimize_mode": "maximize"}
    >>> c.as_dict()
    {'trialCommand': 'python t.py', 'tuner': {'name': 'TPE', 'classArgs': {'optimize_mode': 'maximize'}}}
    """

    def __init__(self, **fields: Any) -> None:
        object.__setattr__(self, "_fields", {})
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        known = _field_names()
        if _loose(name) not in known:
            near = difflib.get_close_matches(_loose(name), list(known), 1)
            hint = f", did you mean {known[near[0]]!r}?" if near else ""
            said = f"an experiment has no field {name!r}{hint}"
            raise ConfigError(f"{said} [E0201]", problems=[Problem("error", "E0201", said)])
        self._fields[camel(name)] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        fields: Dict[str, Any] = object.__getattribute__(self, "_fields")
        if camel(name) not in fields and camel(name) in _GROUPS:
            fields[camel(name)] = ExperimentConfig()
        try:
            return fields[camel(name)]
        except KeyError:
            raise AttributeError(f"{name} is not set") from None

    def as_dict(self) -> Dict[str, Any]:
        """What the file holds."""
        plain = {k: v.as_dict() if isinstance(v, ExperimentConfig) else v for k, v in self._fields.items()}
        return {k: v for k, v in plain.items() if v != {} or k not in _GROUPS}


_GROUPS = ("tuner", "assessor", "advisor", "trainingService")


def _loose(name: str) -> str:
    """Names of fields are the same in any case, and with `_` or without."""
    return name.replace("_", "").lower()


@functools.lru_cache(maxsize=None)
def _field_names() -> Dict[str, str]:
    """Fields of experiments, their algorithms and training services, as Python spells them; by their loose names."""
    names = [name for kind, message in schema("nni")["messages"].items() if kind == "Algorithm" or kind.endswith("Config")
             for name in message["fields"]]
    return {_loose(name): re.sub(r"(?<=[a-z])([A-Z])", lambda m: "_" + m[1].lower(), name) for name in names}


class Experiment:
    """A search, as NNI's Experiment: run() does it all, start() leaves it running in the background."""

    _NAMES = ("session", "directory", "id", "config")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._NAMES:
            near = difflib.get_close_matches(name, self._NAMES, 1)
            hint = (f"its settings are those of config: config.{name}" if _loose(name) in _field_names() else
                    f"did you mean {near[0]!r}?" if near else "its settings are those of config")
            raise AttributeError(f"an Experiment has no attribute {name!r}; {hint}")
        object.__setattr__(self, name, value)

    def __init__(self, config_or_platform: Any = "local", session: Optional[Session] = None) -> None:
        self.session = session or get_default_session()
        self.directory: Optional[str] = None  #: of an experiment of this machine
        self.id: Optional[str] = None
        if isinstance(config_or_platform, ExperimentConfig):
            self.config = config_or_platform
        else:
            self.config = ExperimentConfig(training_service=ExperimentConfig(platform=str(config_or_platform)))

    @classmethod
    def load(cls, id_or_directory: str, session: Optional[Session] = None) -> "Experiment":
        """One that exists: its id, or its directory."""
        found = cls(session=session)
        if str(id_or_directory).startswith("-"):
            raise TuneError(f"there is no experiment {id_or_directory!r} [E4008]", "E4008")
        if os.path.isdir(id_or_directory):
            found.directory = os.path.abspath(id_or_directory)
        else:
            found.id = id_or_directory
        found.id = str(found.describe()["id"])
        return found

    def start(self, port: int = 0, debug: bool = False, directory: Optional[str] = None) -> "Experiment":
        """Starts it in the background. `port` and `debug` are kept for scripts of NNI and have no effect."""
        self._create(directory, wait=False)
        return self

    def run(self, port: int = 0, wait_completion: bool = True, debug: bool = False, directory: Optional[str] = None) -> bool:
        """Runs it; True when it ended well, False when it failed. An interrupt stops it, and resume() goes on."""
        self._create(directory, wait=wait_completion)
        return not wait_completion or self._ended_well()

    def _ended_well(self) -> bool:
        about = self.describe()
        trials = about["trials"]
        return bool(about["status"] == "DONE" and (trials["SUCCEEDED"] or trials["EARLY_STOPPED"] or not trials["FAILED"]))

    def _create(self, directory: Optional[str], wait: bool) -> None:
        if self.id:
            raise TuneError(f"experiment {self.id} was started already; resume() continues it")
        fields = _absolute(self.config.as_dict())
        fields.setdefault("trialCodeDirectory", os.getcwd())
        fields.setdefault("trialConcurrency", 1)
        with tempfile.TemporaryDirectory(prefix="trainyard-") as place:
            path = os.path.join(place, "experiment.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(frames.whole_texts("experiment", fields), f, indent=1, default=frames.plain)
            args = ["tune", "create", f"--config={path}", *self._server()]
            if directory:
                args.append(f"--dir={os.path.abspath(directory)}")
            if self.session.project:
                args.append(f"--project={self.session.project}")
            try:
                self._followed(args + self._jobs(), wait, os.path.abspath(directory) if directory else None)
            except TrainyardError as e:
                if e.code != "E4009":  # all its trials failed
                    raise e.reworded(lambda text: frames.named(text, place)) from None

    def _followed(self, args: List[str], wait: bool, directory: Optional[str] = None) -> None:
        """Calls the program, whose first line is the id of one that it creates; in a notebook, what is shown is renewed as trials end.

        An interrupt stops the experiment, here and at a server.
        """
        live = _display.Live() if wait else None
        out: List[str] = []

        def known() -> bool:
            if not self.id and out:
                self.id, self.directory = out[0].strip(), directory
            return self.id is not None

        def heard(line: str) -> None:
            if live is not None and live.due() and known():
                live.show(self._repr_html_())

        try:
            _program.call(args + (["--wait"] if wait else []), show=wait, out=out, heard=heard if live is not None and live.on else None)
        except KeyboardInterrupt:
            if known():
                self._interrupted()
            raise
        finally:
            known()
        if live is not None and live.on:
            live.show(self._repr_html_())

    def _interrupted(self) -> None:
        done = "was interrupted"
        try:
            if self.describe().get("managed"):  # by a server, which goes on
                self.stop()
        except TrainyardError as e:
            done = f"may go on ({e})"
        print(f"\nexperiment {self.id} {done}; resume() goes on, also of Experiment.load({self.id!r})", file=sys.stderr)

    def _jobs(self) -> List[str]:
        return [f"--jobs-dir={self.session.directory}"] if self.session.directory else []

    def _server(self) -> List[str]:
        return [f"--server={self.session.server}"] if self.session.server else []

    def _named(self) -> List[str]:
        if self.directory:
            return [f"--dir={self.directory}"]
        if not self.id:
            raise TuneError("the experiment was not started yet")
        return [*self._server(), self.id]

    def describe(self) -> Dict[str, Any]:
        """Its state, counts and best trial."""
        return dict(_program.call_json(["tune", "get", *self._named()]))

    def get_status(self) -> str:
        """INITIALIZED, RUNNING, NO_MORE_TRIAL, DONE, STOPPED, ERROR, ..."""
        return str(self.describe()["status"])

    def best(self) -> Dict[str, Any]:
        """The best trial: trial, id, value, parameters."""
        return dict(_program.call_json(["tune", "best", *self._named()]))

    def trials(self) -> Any:
        """All trials, best first: a DataFrame where pandas is there, else a list of dicts."""
        rows: List[Mapping[str, Any]] = self.list_trial_jobs()
        try:
            import pandas
        except ImportError:
            return rows
        flat = [{**{k: v for k, v in row.items() if k != "parameters"}, **(row["parameters"] or {})} for row in rows]
        return pandas.DataFrame(flat)

    def list_trial_jobs(self) -> List[Mapping[str, Any]]:
        return list(_program.call_json(["tune", "trials", *self._named()]))

    def export_data(self) -> List[Mapping[str, Any]]:
        """Parameters and results of the trials that have ended."""
        return list(_program.parsed(_program.call(["tune", "export", *self._named()])))

    def to_study(self, space: Optional[Mapping[str, Any]] = None, **options: Any) -> Study:
        """A Study that knows the results of this experiment; `space` unless it was made here."""
        found = self._found(space)
        return Study._taken(found, options)

    def to_optuna(self, storage: Any = None, study_name: Optional[str] = None, space: Optional[Mapping[str, Any]] = None) -> Any:
        """A study of Optuna with the results of this experiment; `space` unless it was made here."""
        return _exchange.write_optuna(self._found(space), storage, study_name)

    def _found(self, space: Optional[Mapping[str, Any]]) -> _exchange.Found:
        space = space or self.config.as_dict().get("searchSpace")
        if not isinstance(space, Mapping):
            raise TuneError(f"experiment {self.id}: give its search space: space=")
        results = [_exchange.Result(_exchange._params(row), value, []) for row in self.export_data()
                   if (value := _exchange._number(str(row["value"]))) is not None]
        best = (self.describe().get("best") or {}).get("value")
        maximize = len(results) > 1 and best == max(r.value for r in results)
        return _exchange.Found(dict(space), maximize, results)

    def stop(self) -> None:
        _program.call(["tune", "stop", *self._named()])

    def resume(self, wait_completion: bool = True) -> bool:
        """Goes on with one that was stopped or interrupted; returns as run()."""
        try:
            self._followed(["tune", "resume", *self._named(), *self._jobs()], wait_completion)
        except TrainyardError as e:
            if e.code != "E4009":  # all its trials failed
                raise
        return not wait_completion or self._ended_well()

    def __repr__(self) -> str:
        return f"Experiment({self.id!r})"

    def _repr_html_(self) -> str:
        about = self.describe()
        rows = [("experiment", f"{about['name'] or about['id']}"), ("status", str(about["status"])),
                ("trials", ", ".join(f"{n} {k.lower()}" for k, n in about["trials"].items() if n))]
        if about["best"]:
            rows += [("best", str(about["best"]["value"])), ("parameters", json.dumps(about["best"]["parameters"]))]
        return _display.table_html(rows) + (self.plot()._repr_html_() if about["trials"].get("SUCCEEDED", 0) > 1 else "")

    def plot(self) -> _display.Plot:
        """The results of its trials, in their order; a notebook draws them."""
        done = sorted((row["trial"], row["value"]) for row in self.list_trial_jobs() if isinstance(row.get("value"), (int, float)))
        return _display.Plot({"value": done})


_PATHS = ("searchSpaceFile", "trialCodeDirectory", "experimentWorkingDirectory", "codeDirectory", "openpaiConfigFile")


def _absolute(fields: Any) -> Any:
    """Paths of this directory, as the file lies in another.

    >>> os.path.relpath(_absolute({"tuner": {"codeDirectory": "a"}})["tuner"]["codeDirectory"])
    'a'
    """
    if isinstance(fields, Mapping):
        return {k: v if k in ("searchSpace", "classArgs") else _absolute(v) if k not in _PATHS or not isinstance(v, (str, os.PathLike)) else
                os.path.abspath(os.path.expanduser(v)) for k, v in fields.items()}
    return [_absolute(v) for v in fields] if isinstance(fields, list) else fields
