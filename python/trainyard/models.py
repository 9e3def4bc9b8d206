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
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _display, _library, _program, frames
from .config import Config
from .errors import TrainingError

__all__ = ["train", "evaluate", "export", "predict", "Run", "Model"]

_SAMPLE = "sample_rows"  # in model_dir: rows of a table that is gone when the run has ended
ConfigLike = Union[str, "os.PathLike[str]", Config]


class Run:
    """A model that was trained: its config and its directory."""

    def __init__(self, config: Config, model_dir: str) -> None:
        self.config = config
        self.model_dir = model_dir

    @property
    def history(self) -> List[Dict[str, Any]]:
        """Every evaluation, oldest first."""
        path = os.path.join(self.model_dir, "train_eval_result_v2.txt")
        rows = frames.rows_of(path) if os.path.exists(path) else []
        return [{name: value for name, value in row.items() if name != "eval_data"} for row in rows]

    @property
    def metrics(self) -> Dict[str, Any]:
        """The last evaluation."""
        history = self.history
        return history[-1] if history else {}

    def evaluate(self, data: Any = None, **options: Any) -> Dict[str, Any]:
        return evaluate(self.config, data, model_dir=self.model_dir, **options)

    def export(self, to: str, **options: Any) -> "Model":
        """An export of the best or latest checkpoint; its sample rows are of the data that train() was given."""
        for suffix in (".parquet", ".jsonl"):
            sample = os.path.join(self.model_dir, _SAMPLE + suffix)
            if os.path.exists(sample):
                options.setdefault("sample_input", sample)
        return export(self.config, to, model_dir=self.model_dir, **options)

    def __repr__(self) -> str:
        return f"Run({self.model_dir!r})"

    def _repr_html_(self) -> str:
        return _display.table_html([("model_dir", self.model_dir)] + [(k, str(v)) for k, v in self.metrics.items()])


class Model:
    """An export: what scoring needs, and nothing else."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._scorer: Optional[_library.Scorer] = None

    @classmethod
    def load(cls, path: str) -> "Model":
        """The export in this directory; refused now rather than at the first row."""
        model = cls(os.fspath(path))
        model.manifest()
        return model

    def manifest(self) -> Dict[str, Any]:
        """What the export says of itself."""
        path = os.path.join(self.path, "manifest.json")
        try:
            with open(path, encoding="utf-8") as f:
                return dict(json.load(f))
        except (OSError, ValueError) as e:
            raise TrainingError(f"{self.path!r} is no export: {e}") from None

    def predict(self, data: Any, columns: Sequence[str] = (), output: Optional[str] = None, **options: Any) -> Any:
        """Scores of rows, in the kind of table that came; `columns` of the input come along."""
        return predict(self, data, columns, output, **options)

    def score(self, rows: Any, threads: int = 0) -> Dict[str, Any]:
        """Output -> scores of rows, computed inside this process: nothing is started or written.

        `rows` are a DataFrame, an Arrow table, a list of dicts or a dict of lists; tables that speak Arrow are read where they are.
        """
        if self._scorer is None:
            self._scorer = _library.Scorer(self.path, threads)
        return self._scorer.score(rows)

    def __repr__(self) -> str:
        return f"Model({self.path!r})"


def _flags(options: Mapping[str, Any]) -> List[str]:
    """threads=2, overwrite=True -> --threads=2, --overwrite."""
    flags = []
    for name, value in options.items():
        name = name.replace("_", "-")
        if value is True:
            flags.append(f"--{name}")
        elif value is not None and value is not False:
            flags.append(f"--{name}={value}")
    return flags


def train(config: ConfigLike, train: Any = None, eval: Any = None, model_dir: Optional[str] = None,
          set: Optional[Mapping[str, Any]] = None, show: bool = True, **options: Any) -> Run:
    """Trains; with `show` the progress appears as it comes.

    `train` and `eval` are paths, DataFrames, pyarrow tables or lists of dicts; without them the config's own. `set`
    overrides values of the config by path. Other options are those of the command: resume with continue_=True,
    threads=, seed=, patience=, fine_tune=, ...
    """
    config = Config.of(config).with_values(set)
    with tempfile.TemporaryDirectory(prefix="trainyard-") as place:
        args = ["train", *config.args(), *_flags({k.rstrip("_"): v for k, v in options.items()})]
        if model_dir:
            args.append(f"--model-dir={model_dir}")
        if train is not None:
            args.append(f"--train-input={frames.write(train, place, 'train')}")
        if eval is not None:
            args.append(f"--eval-input={frames.write(eval, place, 'eval')}")
        _program.call(args, show=show)
        run = Run(config, model_dir or str(config.get("model_dir")))
        if train is not None and not isinstance(train, (str, os.PathLike)):
            frames.write(frames.head(train), run.model_dir, _SAMPLE)
    return run


def evaluate(config: ConfigLike, data: Any = None, model_dir: Optional[str] = None, set: Optional[Mapping[str, Any]] = None,
             **options: Any) -> Dict[str, Any]:
    """Metrics of a checkpoint on `data`, or on the config's own evaluation data."""
    config = Config.of(config).with_values(set)
    with tempfile.TemporaryDirectory(prefix="trainyard-") as place:
        args = ["eval", *config.args(), *_flags(options)]
        if model_dir:
            args.append(f"--model-dir={model_dir}")
        if data is not None:
            args.append(f"--eval-input={frames.write(data, place, 'eval')}")
        return dict(_program.call_json(args))


def export(config: ConfigLike, to: str, model_dir: Optional[str] = None, set: Optional[Mapping[str, Any]] = None,
           **options: Any) -> Model:
    """Writes an export of the best or latest checkpoint to the directory `to`."""
    config = Config.of(config).with_values(set)
    args = ["export", *config.args(), f"--export-dir={to}", *_flags(options)]
    if model_dir:
        args.append(f"--model-dir={model_dir}")
    _program.call(args)
    return Model.load(to)


def predict(model: Union[Model, str, "os.PathLike[str]"], data: Any, columns: Sequence[str] = (), output: Optional[str] = None,
            **options: Any) -> Any:
    """Scores of rows; written to `output` when it is named, else returned in the kind of table that came."""
    path = model.path if isinstance(model, Model) else os.fspath(model)
    with tempfile.TemporaryDirectory(prefix="trainyard-") as place:
        to = output or os.path.join(place, "scores" + frames.suffix_like(data))
        args = ["predict", f"--model={path}", f"--input={frames.write(data, place, 'rows')}", f"--output={to}", *_flags(options)]
        if columns:
            args.append("--reserved-columns=" + ",".join(columns))
        _program.call(args)
        return None if output else frames.read_like(data, to)


def stream_scores(model: Union[Model, str], path: str, columns: Sequence[str] = ()) -> Iterator[Mapping[str, Any]]:
    """Scores of the rows of a file, one dict each, as they are made."""
    name = model.path if isinstance(model, Model) else model
    args = ["predict", f"--model={name}", f"--input={path}", "--output=-", "--writer-type=jsonl"]
    if columns:
        args.append("--reserved-columns=" + ",".join(columns))
    return (json.loads(line) for line in _program.lines(args))
