# SPDX-License-Identifier: Apache-2.0
"""Training, evaluating, exporting and scoring models.

    run = train("pipeline.config", train=df, eval=other_df, set={"train_config.num_epochs": 3})
    print(run.metrics)
    model = run.export("export/")
    scores = model.predict(new_df)
"""
from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import warnings
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from . import _display, _library, _program, frames
from . import checkpoint as checkpoints
from .config import Config
from .errors import CheckpointError, ConfigError, DataError, Problem, TrainyardError, UsageError, is_error, keywords

__all__ = ["init", "train", "evaluate", "export", "predict", "Run", "Model"]

_SAMPLE = "sample_rows"  # in model_dir: rows of a table that is gone when the run has ended
PathLike = Union[str, "os.PathLike[str]"]
ConfigLike = Union[PathLike, Config]


class Run:
    """A model that was trained: its config and its directory."""

    def __init__(self, config: ConfigLike, model_dir: PathLike) -> None:
        self.config = Config.of(config)
        self.model_dir = frames.path_of("model_dir", model_dir)

    @property
    def history(self) -> List[Dict[str, Any]]:
        """Every evaluation, oldest first."""
        path = os.path.join(self.model_dir, "train_eval_result_v2.txt")
        rows = frames.rows_of(path) if os.path.exists(path) else []
        return [{name: value for name, value in row.items() if name != "eval_data"} for row in rows]

    @property
    def metrics(self) -> Dict[str, Any]:
        """The evaluation of the checkpoint that evaluate() and export() take; history[-1] is the last."""
        history = self.history
        if not history:
            return {}
        try:
            step = self._checkpoint(None)["step"]
        except CheckpointError:  # it is not there any more, or not yet
            return history[-1]
        return next((row for row in reversed(history) if row.get("global_step") == step), {})

    def checkpoint(self, which: Optional[PathLike] = None) -> str:
        """The path of the checkpoint that evaluate(), export(), embeddings() and state_dict() take.

        The best after training with patience=, or where export_config says so, else the latest. `which` is "best", "latest" or a path.
        """
        return str(self._checkpoint(which)["path"])

    def _checkpoint(self, which: Optional[PathLike]) -> Dict[str, Any]:
        ask = ["params", "--part=state", "--no-verify"]
        if which in (None, "best"):
            best = {"export_config.exporter_type": "best"} if which else None
            args = [*ask, *self.config.with_values(best).args(), f"--model-dir={self.model_dir}"]
        else:
            args = [*ask, self.model_dir if which == "latest" else frames.path_of("checkpoint", which)]
        return dict(_call(args, os.curdir, answer=True))

    def _named(self, options: Dict[str, Any]) -> Dict[str, Any]:
        """Options with the path of the checkpoint that they name as best or latest."""
        if options.get("checkpoint") in ("best", "latest"):
            options["checkpoint"] = self.checkpoint(options["checkpoint"])
        return options

    def evaluate(self, data: Any = None, **options: Any) -> Dict[str, Any]:
        """Metrics of checkpoint() on `data`, or on the config's own evaluation data; of another one with checkpoint="latest"."""
        return evaluate(self.config, data, model_dir=self.model_dir, **self._named(options))

    def export(self, to: PathLike, **options: Any) -> "Model":
        """An export of checkpoint(), or of another with checkpoint="latest"; its sample rows are of the data that train() was given."""
        for suffix in (".parquet", ".jsonl"):
            sample = os.path.join(self.model_dir, _SAMPLE + suffix)
            if os.path.exists(sample):
                options.setdefault("sample_input", sample)
        return export(self.config, to, model_dir=self.model_dir, **self._named(options))

    def tables(self, checkpoint: Optional[PathLike] = None) -> List[str]:
        """The embedding tables of checkpoint(), or of another one."""
        return checkpoints.tables(self.checkpoint(checkpoint))

    def embeddings(self, table: str, checkpoint: Optional[PathLike] = None) -> checkpoints.Embeddings:
        """ids and vectors of the rows of a table that training touched; by the name of a table or of a feature.

        They are those of checkpoint(), as in an export; checkpoint="latest" takes the last one that was written.
        """
        return checkpoints.embeddings(self.checkpoint(checkpoint), table)

    def state_dict(self, part: Optional[str] = None, checkpoint: Optional[PathLike] = None) -> Dict[str, Any]:
        """checkpoint(), or another one, as a state dict of PyTorch."""
        return checkpoints.state_dict(self.checkpoint(checkpoint), part)

    def __repr__(self) -> str:
        return f"Run({self.model_dir!r})"

    def _told_stopped(self) -> None:
        """Training that a signal ended before its time looks like any other, but for what it wrote last."""
        try:
            with open(os.path.join(self.model_dir, "run_end.json"), encoding="utf-8") as f:
                end = json.load(f)
        except (OSError, ValueError):
            return
        if end.get("state") == "Stopped":
            warnings.warn(f"training was stopped by a signal after {end.get('steps')} steps; continue_=True goes on", stacklevel=3)

    def _repr_html_(self) -> str:
        table = _display.table_html([("model_dir", self.model_dir)] + [(k, str(v)) for k, v in self.metrics.items()])
        return table + (self.plot()._repr_html_() if len(self.history) > 1 else "")

    def _heard(self, line: str, live: _display.Live) -> None:
        """A line of training: what a notebook shows is renewed now and then."""
        if live.due() and not is_error(line):
            live.show(self._repr_html_())

    def plot(self, name: Optional[str] = None) -> _display.Plot:
        """The curves of its evaluations, or of one metric; a notebook draws them."""
        rows = [{"name": k, "value": v, "step": row.get("global_step")} for row in self.history for k, v in row.items()
                if k != "global_step" and isinstance(v, (int, float)) and name in (None, k)]
        return _display.Plot(_display.curves_of(rows))


class Model:
    """An export: what scoring needs, and nothing else."""

    def __init__(self, path: PathLike) -> None:
        self.path = frames.path_of("path", path)
        self._scorer: Optional[_library.Scorer] = None

    @classmethod
    def load(cls, path: PathLike) -> "Model":
        """The export in this directory; refused now rather than at the first row."""
        model = cls(frames.path_of("path", path))
        model.manifest()
        return model

    def manifest(self) -> Dict[str, Any]:
        """What the export says of itself."""
        path = os.path.join(self.path, "manifest.json")
        try:
            with open(path, encoding="utf-8") as f:
                return dict(json.load(f))
        except (OSError, ValueError) as e:
            why = f"{self.path}/manifest.json is not there" if isinstance(e, FileNotFoundError) else str(e)
            said = f"{self.path!r} is no export, which export() makes: {why}"
            raise DataError(f"{said} [E2002]", problems=[Problem("error", "E2002", said, self.path)]) from None

    def predict(self, data: Any, columns: Union[str, Sequence[str]] = (), output: Optional[PathLike] = None,
                **options: Any) -> Any:
        """Scores of rows, in the kind of table that came; `columns` of the input come along."""
        return predict(self, data, columns, output, **options)

    def score(self, rows: Any, threads: int = 0) -> Dict[str, Any]:
        """Output -> scores of rows, computed inside this process: nothing is started or written.

        `rows` are a DataFrame, an Arrow table, a list of dicts or a dict of lists; tables that speak Arrow are read where they are.
        `threads` compute the scores of one call, as many as there are processors unless given; another number loads the model anew.
        """
        try:
            return self._scored(rows, threads)
        except RecursionError:
            raise DataError("rows: lists are nested without an end") from None

    def _scored(self, rows: Any, threads: int) -> Dict[str, Any]:
        scorer = self._scorer
        if scorer is None or threads not in (0, scorer.threads):
            scorer = self._scorer = _library.Scorer(self.path, threads)
        return dict(_table_of(rows, lambda: scorer.score(rows)))

    def tables(self) -> List[str]:
        """Its embedding tables."""
        return checkpoints.tables(self.path)

    def embeddings(self, table: str) -> checkpoints.Embeddings:
        """ids and vectors of all rows of a table, by its name or that of a feature."""
        return checkpoints.embeddings(self.path, table)

    def __getstate__(self) -> Dict[str, Any]:
        return {"path": self.path, "_scorer": None}  # another process opens it anew

    def __repr__(self) -> str:
        return f"Model({self.path!r})"


def _call(args: List[str], place: str, show: bool = False, answer: bool = False, said: Optional[List[str]] = None,
          heard: Optional[Callable[[str], None]] = None) -> Any:
    """The program's answer; messages name tables as arguments of the call, and options as keywords."""
    try:
        return _program.call_json(args) if answer else _program.call(args, show=show, said=said, heard=heard)
    except KeyboardInterrupt:
        if args[0] == "train":
            print("training was interrupted; continue_=True goes on from its last checkpoint", file=sys.stderr)
        raise
    except TrainyardError as e:
        arguments = {**_ARGUMENTS, **(_INPUTS if args[0] == "train" else dict.fromkeys(_INPUTS, "data"))}
        raise e.reworded(lambda text: keywords(frames.named(text, place), arguments)) from None


def _table_of(data: Any, call: Callable[[], Any]) -> Any:
    """What a call says of this table, with advice for what pandas does to it."""
    try:
        return call()
    except TrainyardError as e:
        found = _TURNED.search(e.message) if e.code == "E1411" and hasattr(data, "iloc") else None
        if not found:
            raise
        advice = f"; missing values make fractions of whole numbers in pandas: df.astype({{{found[1]!r}: 'Int64'}}) keeps them"
        raise e.reworded(lambda text: text.replace(_WHY, _WHY + advice)) from None


_WHY = "the same ids would be other rows of its tables"
_TURNED = re.compile(r"column '(.+)' of .* is (?:double|float), but was u?int(?:32|64) when")


# Options of the commands that are arguments of the calls here.
_ARGUMENTS = {"out": "path", "export_dir": "to", "input": "data", "reserved_columns": "columns", "edit_config_json": "set"}
_INPUTS = {"train_input": "train", "train_input_path": "train", "eval_input": "eval", "eval_input_path": "eval"}


def _flags(options: Mapping[str, Any], arguments: Mapping[str, str] = _ARGUMENTS) -> List[str]:
    """threads=2, overwrite=True -> --threads=2, --overwrite."""
    flags = []
    for name, value in options.items():
        if name in ("help", "json"):
            raise UsageError(f"unknown option {name!r}")
        if name in arguments:
            raise UsageError(f"unknown option {name!r}, say {arguments[name]}=")
        name = name.replace("_", "-")
        if value is True:
            flags.append(f"--{name}")
        elif value is not None and value is not False:
            flags.append(f"--{name}={value}")
    return flags


def init(data: Any, path: PathLike = "pipeline.config", label: Union[str, Sequence[str], None] = None, show: bool = True,
         **options: Any) -> Config:
    """Writes a config that fits the data, ready to train and to edit, and returns it.

    Columns are looked at to find out what they are; with `show` it is said which are left out. A tenth of the rows is held out for
    evaluation. `label` names the label or labels, found by name and values unless given; other options are those of the command:
    model=, positive=, holdout=, holdout_by=, overwrite=True, ... The rows of a table are written beside the config, to NAME-data
    where that is NAME.config, since training reads them.
    """
    with tempfile.TemporaryDirectory(prefix="trainyard-") as place:
        path = frames.path_of("path", path)
        if not frames.is_path(data):  # its file goes with this call: the rows stay beside the config
            options = {"name": os.path.splitext(path)[0], **options, "copy": True}
        args = ["init", f"--out={path}", *_flags(options), frames.write(data, place, "data", times=True)]
        if label is not None:
            args.append("--label=" + _listed("label", label))
        said: List[str] = []
        _call(args, place, said=said)
    if show:  # what follows are commands for a shell
        print(frames.named("".join(said), place).partition("next:\n")[0].rstrip())
    return Config(path)


def train(config: ConfigLike, train: Any = None, eval: Any = None, model_dir: Optional[PathLike] = None,
          set: Optional[Mapping[str, Any]] = None, show: bool = True, **options: Any) -> Run:
    """Trains; with `show` the progress appears as it comes.

    `train` and `eval` are paths, DataFrames, pyarrow tables or lists of dicts; without them the config's own. `set`
    overrides values of the config by path, and so do keywords that are paths (`**{"train_config.num_epochs": 3}`). Other
    options are those of the command: resume with continue_=True, threads=, seed=, patience=, fine_tune=, ...
    """
    edits = {name: options.pop(name) for name in list(options) if "." in name or "[" in name}
    config = Config.of(config).with_values({**(set or {}), **edits})
    if isinstance(options.get("fine_tune"), Run):
        options["fine_tune"] = options["fine_tune"].checkpoint()
    train = frames.kept(train)
    with tempfile.TemporaryDirectory(prefix="trainyard-") as place:
        args = ["train", *config.args(), *_flags({k.rstrip("_"): v for k, v in options.items()}, {**_ARGUMENTS, **_INPUTS})]
        if model_dir is not None:
            args.append(f"--model-dir={frames.path_of('model_dir', model_dir)}")
        if train is not None:
            args.append(f"--train-input={frames.write(train, place, 'train')}")
        if eval is not None:
            args.append(f"--eval-input={frames.write(eval, place, 'eval')}")
        gone = [name for name, data in (("train", train), ("eval", eval)) if data is not None and not frames.is_path(data)]
        if gone:  # files of this call, which no later one can read
            args.append(f"--temporary-input={'both' if len(gone) > 1 else gone[0]}")
        run = Run(config, model_dir or str(config.get("model_dir") or ""))
        if not run.model_dir:
            raise ConfigError(f"{config.path} has no model_dir: give model_dir=")
        live = _display.Live() if show else None
        _call(args, place, show, heard=None if live is None or not live.on else lambda line: run._heard(line, live))
        if live is not None:
            live.show(run._repr_html_())
        run._told_stopped()
        if train is not None and not frames.is_path(train):
            frames.write(frames.head(train), run.model_dir, _SAMPLE)
    return run


def evaluate(config: ConfigLike, data: Any = None, model_dir: Optional[PathLike] = None, set: Optional[Mapping[str, Any]] = None,
             **options: Any) -> Dict[str, Any]:
    """Metrics of a checkpoint on `data`, or on the config's own evaluation data."""
    config = Config.of(config).with_values(set)
    with tempfile.TemporaryDirectory(prefix="trainyard-") as place:
        args = ["eval", *config.args(), *_flags(options, {**_ARGUMENTS, **dict.fromkeys(_INPUTS, "data")})]
        if model_dir:
            args.append(f"--model-dir={frames.path_of('model_dir', model_dir)}")
        if data is not None:
            args.append(f"--eval-input={frames.write(data, place, 'eval')}")
        return dict(_call(args, place, answer=True))


def export(config: ConfigLike, to: PathLike, model_dir: Optional[PathLike] = None, set: Optional[Mapping[str, Any]] = None,
           **options: Any) -> Model:
    """Writes an export of the best or latest checkpoint to the directory `to`."""
    config = Config.of(config).with_values(set)
    args = ["export", *config.args(), f"--export-dir={frames.path_of('to', to)}", *_flags(options)]
    if model_dir:
        args.append(f"--model-dir={frames.path_of('model_dir', model_dir)}")
    _call(args, os.curdir)
    return Model.load(to)


def predict(model: Union[Model, PathLike], data: Any, columns: Union[str, Sequence[str]] = (),
            output: Optional[PathLike] = None, **options: Any) -> Any:
    """Scores of rows; written to `output` when it is named, else returned in the kind of table that came."""
    path = model.path if isinstance(model, Model) else frames.path_of("model", model)
    if output is None and frames.is_empty(data):
        return frames.empty_like(data, list(Model(path).score([])), _names("columns", columns))
    with tempfile.TemporaryDirectory(prefix="trainyard-") as place:
        to = frames.path_of("output", output) if output else os.path.join(place, "scores" + frames.suffix_like(data))
        rows = frames.write(data, place, "rows")
        args = ["predict", f"--model={path}", f"--input={rows}", f"--output={to}", *_flags(options)]
        if columns:
            args.append("--reserved-columns=" + _listed("columns", columns))
        _table_of(data, lambda: _call(args, place))
        return None if output else frames.read_like(data, to)


def _listed(name: str, given: Union[str, Sequence[str]]) -> str:
    """A name or several, as options take them.

    >>> _listed("columns", "user_id"), _listed("columns", ["a", "b"])
    ('user_id', 'a,b')
    """
    names = _names(name, given)
    for one in names if not isinstance(given, str) else ():
        if "," in one or one != one.strip() or not one:
            raise UsageError(f"{name}: {one!r} cannot be asked for: it is empty, holds a comma or has blanks around it")
    return ",".join(names)


def _names(name: str, given: Union[str, Sequence[str]]) -> List[str]:
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    for found in names:
        if not isinstance(found, str):
            raise UsageError(f"{name}: names of columns are wanted, not {type(found).__name__}")
    return names


def stream_scores(model: Union[Model, str], path: str, columns: Sequence[str] = ()) -> Iterator[Mapping[str, Any]]:
    """Scores of the rows of a file, one dict each, as they are made."""
    name = model.path if isinstance(model, Model) else model
    args = ["predict", f"--model={name}", f"--input={path}", "--output=-", "--writer-type=jsonl"]
    if columns:
        args.append("--reserved-columns=" + _listed("columns", columns))
    return (json.loads(line) for line in _program.lines(args))
