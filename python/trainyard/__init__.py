# SPDX-License-Identifier: Apache-2.0
"""Trainyard from Python: recommender models, training jobs, hyperparameter search.

>>> import trainyard
>>> trainyard.Estimator(command="python train.py", hyperparameters={"lr": 0.1}).describe(job_name="a")["hp"]
{'lr': 0.1}

Everything is done by the program `trainyard`, which a wheel of this package brings along; set TRAINYARD to use another.
"""
from . import features, tune
from .checkpoint import Embeddings, embeddings, save_state_dict, state_dict
from .config import Config
from .errors import (CheckpointError, ConfigError, DataError, JobError, Problem, ProgramNotFound, ServerError, TrainingError,
                     TrainyardError, TuneError, UnexpectedStatusException, UsageError)
from .estimator import AlgorithmEstimator, Estimator, FileSystemInput, Processor
from .jobs import TrainingJob, TrainingJobStatus
from .models import Model, Run, evaluate, export, init, predict, train
from .session import Session, get_default_session, setup_default_session

__version__ = "0.1.0"
__all__ = ["AlgorithmEstimator", "CheckpointError", "Config", "ConfigError", "DataError", "Embeddings", "Estimator",
           "FileSystemInput", "JobError", "Model", "Problem", "Processor", "ProgramNotFound", "Run", "ServerError",
           "Session", "TrainingError", "TrainingJob", "TrainingJobStatus", "TrainyardError", "TuneError",
           "UnexpectedStatusException", "UsageError", "embeddings", "evaluate", "export", "features",
           "get_default_session", "init", "predict", "save_state_dict", "setup_default_session", "state_dict", "train", "tune"]
