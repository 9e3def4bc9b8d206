# SPDX-License-Identifier: Apache-2.0
"""What went wrong, as exceptions.

Every message of the program has a stable code. The class of an exception says what kind of thing
is at fault, ``code`` and ``message`` say what, ``file`` and ``line`` where, when it is in a file:

>>> try:
...     raise from_output("job:2:9: error[E0211]: 'cpu': \\"x\\" is no number", 2)
... except ConfigError as e:
...     print(e.code, e.file, e.line, e.message)
E0211 job 2 'cpu': "x" is no number
"""
from __future__ import annotations

import re
import signal
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Type

__all__ = ["TrainyardError", "UsageError", "ConfigError", "DataError", "TrainingError", "CheckpointError", "JobError",
           "TuneError", "ServerError", "ProgramNotFound", "UnexpectedStatusException", "Problem", "from_output"]


@dataclass(frozen=True)
class Problem:
    """One message of the program."""

    severity: str  #: "error" or "warning"
    code: Optional[str]
    message: str
    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None


class TrainyardError(Exception):
    """Base of all errors of the program; `problems` holds every message, the attributes the first error's."""

    def __init__(self, message: str, code: Optional[str] = None, problems: Optional[List[Problem]] = None,
                 exit_status: int = 1) -> None:
        self.problems = problems or [Problem("error", code, message)]
        first = next((p for p in self.problems if p.severity == "error"), self.problems[0])
        self.code = first.code
        self.message = first.message
        self.file = first.file
        self.line = first.line
        self.column = first.column
        self.exit_status = exit_status  #: of the program
        self.output = ""  #: what it printed before
        super().__init__(message)

    def reworded(self, change: Callable[[str], str]) -> "TrainyardError":
        """The same with other words."""
        problems = [replace(p, message=change(p.message), file=change(p.file) if p.file else None) for p in self.problems]
        first = next((p for p in problems if p.severity == "error"), problems[0])
        return _made(type(self), change(str(self)), {**self.__dict__, "problems": problems, "message": first.message, "file": first.file})

    def __reduce__(self) -> Any:
        return _made, (type(self), str(self), self.__dict__)


def _made(kind: Type[TrainyardError], message: str, state: Mapping[str, Any]) -> TrainyardError:
    """From a pickle."""
    made = kind.__new__(kind, message)
    made.args = (message,)
    made.__dict__.update(state)
    return made


class UsageError(TrainyardError):
    """The call itself is wrong."""


class ConfigError(TrainyardError):
    """A config, a job description or a search space is wrong."""


class DataError(TrainyardError):
    """Data, columns or features are wrong, or cannot be read."""


class TrainingError(TrainyardError):
    """Training, evaluation, export or scoring failed."""


class CheckpointError(TrainyardError):
    """A checkpoint is missing, damaged or does not fit."""


class JobError(TrainyardError):
    """A job does not exist, cannot run, or failed."""


class TuneError(TrainyardError):
    """An experiment cannot run, or failed."""


class ServerError(TrainyardError):
    """A server cannot be reached, or refuses."""


class ProgramNotFound(TrainyardError):
    """The trainyard program is neither in this package nor in PATH."""


class UnexpectedStatusException(JobError):
    """A job that was waited for did not succeed."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status  #: the job's, in PAI's words


# By the two digits that name an area; areas have no other class for a code unless it is below.
_AREAS: Dict[str, Type[TrainyardError]] = {
    "00": TrainyardError,
    "01": ConfigError, "02": ConfigError, "03": ConfigError, "04": TuneError, "05": ConfigError, "06": UsageError,
    "10": DataError, "11": DataError, "12": DataError, "13": DataError, "14": TrainingError, "15": CheckpointError,
    "16": DataError, "17": DataError, "18": DataError, "19": DataError, "20": TrainingError, "21": TrainingError,
    "22": UsageError, "23": TrainingError, "24": TrainingError, "25": TrainingError, "26": TrainingError, "27": TrainingError,
    "30": JobError, "31": JobError, "32": JobError, "33": JobError, "34": JobError, "40": TuneError,
    "50": ServerError, "51": JobError, "52": ServerError, "53": ServerError, "54": ServerError, "55": ServerError,
}

_CODES: Dict[str, Type[TrainyardError]] = {
    "E0002": UsageError, "E0004": DataError, "E0008": UsageError, "E0009": UsageError,
    # rows and labels that cannot be trained with
    "E1401": DataError, "E1402": DataError, "E1403": DataError, "E1406": DataError, "E1411": DataError,
    # what is read as an export and is none, or is damaged; rows and columns that cannot be scored
    "E2002": DataError, "E2003": DataError, "E2004": DataError, "E2006": DataError, "E2007": DataError, "E2011": DataError,
    "E2014": DataError, "E2015": DataError, "E2017": DataError, "E2031": DataError, "E2032": DataError,
    # dynamic tables and retrieval: their settings, and the files they are made of
    "E2301": ConfigError, "E2302": ConfigError, "E2303": DataError, "E2307": ConfigError, "E2308": DataError,
    "E2401": DataError, "E2402": DataError,
    "E5502": JobError,
}

_LINE = re.compile(r"^(?:(?P<where>.*?): )?(?P<severity>error|warning)(?:\[(?P<code>E\d{4})\])?: (?P<message>.*)$")
_HINT = re.compile(r"^\s+= (did you mean .*)$")
_PLACE = re.compile(r"^(?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?$")


def of_code(code: Optional[str]) -> Type[TrainyardError]:
    """The class of an error with this code."""
    return _CODES.get(code or "") or _AREAS.get((code or "")[1:3], TrainyardError)


def parse(text: str) -> List[Problem]:
    """The messages in what the program wrote to its standard error."""
    found: List[Problem] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        hint = _HINT.match(line)
        if hint and found:  # of the message above
            found[-1] = replace(found[-1], message=f"{found[-1].message}, {hint[1]}")
        if not match:
            continue
        place = _PLACE.match(match["where"] or "")
        found.append(Problem(match["severity"], match["code"], match["message"], place["file"] if place else None,
                             int(place["line"]) if place else None,
                             int(place["column"]) if place and place["column"] else None))
    return found


def keywords(text: str, arguments: Optional[Mapping[str, str]] = None) -> str:
    """Options of the command as keyword arguments; `arguments` have other names.

    >>> keywords("use --continue to go on, or say --overwrite; unknown option '--epoch-count'")
    "use continue_=True to go on, or say overwrite=True; unknown option 'epoch_count='"
    >>> keywords("say --out or --holdout", {"out": "path"})
    'say path= or holdout='
    >>> keywords("the run's file '--model-dir=x/a.parquet' is not there; say --out")
    "the run's file '--model-dir=x/a.parquet' is not there; say out="
    """
    def named(found: "re.Match[str]") -> str:
        if not found[1]:  # a text of the user's
            return found[0]
        name = found[1].replace("-", "_")
        return _SAID.get(found[1]) or (arguments or {}).get(name, name) + "="
    return re.sub(r"(?<![\w-])--([a-z][a-z-]*)|(?<!\w)'(?!--[a-z-]+')[^'\n]*'(?!\w)", named, text)


_SAID = {"continue": "continue_=True", "overwrite": "overwrite=True", "edit-config-json": "set"}


def is_error(line: str) -> bool:
    """Whether a line of the program says an error, which becomes an exception."""
    match = _LINE.match(line.rstrip("\n"))
    return bool(match and match["severity"] == "error")


def is_aside(line: str) -> bool:
    """How many errors there were, and what a shell shows of the command.

    >>> is_aside("2 errors, 1 warning"), is_aside("see `trainyard train --help`"), is_aside("step 1")
    (True, True, False)
    """
    return re.match(r"^(?:\d+ errors?(?:, \d+ warnings?)?|see `trainyard .*--help`)$", line.strip()) is not None


def _said(problem: Problem) -> str:
    where = f"{problem.file}:{problem.line}: " if problem.file else ""
    return f"{where}{problem.message}" + (f" [{problem.code}]" if problem.code else "")


def _silent(text: str, status: int) -> str:
    """Why a program ended that wrote no error.

    >>> _silent("step 100", -9)
    'trainyard was ended by SIGKILL; the memory of this machine may be full'
    >>> _silent("", 3)
    'trainyard ended with status 3'
    """
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
        return f"trainyard was ended by {name}" + ("; the memory of this machine may be full" if name == "SIGKILL" else "")
    return (text.strip().splitlines()[-1:] or [f"trainyard ended with status {status}"])[0]


def from_output(text: str, status: int) -> TrainyardError:
    """The exception for a program that ended with `status` after it wrote `text`."""
    problems = parse(text)
    errors = [p for p in problems if p.severity == "error"]
    if not errors:
        return TrainyardError(_silent(text, status), exit_status=status)
    kind = of_code(errors[0].code)
    more = [f"\n    {_said(p)}" for p in errors[1:9]] + ([f"\n    and {len(errors) - 9} more"] if len(errors) > 9 else [])
    return kind(_said(errors[0]) + "".join(more), problems=problems, exit_status=status)
