# SPDX-License-Identifier: Apache-2.0
"""Jobs that were submitted: state, logs, metrics, outputs, stopping."""
from __future__ import annotations

import os
import re
import sys
import time
from typing import Any, Dict, Iterator, List, Optional

from . import _display, _program
from .errors import JobError, UnexpectedStatusException
from .session import Session, get_default_session

__all__ = ["TrainingJob", "TrainingJobStatus"]


class TrainingJobStatus:
    """States in the words of PAI's SDK."""

    CreateFailed = "CreateFailed"
    InitializeFailed = "InitializeFailed"
    Created = "Created"
    Creating = "Creating"
    Initializing = "Initializing"
    Submitted = "Submitted"
    Running = "Running"
    Succeed = "Succeed"
    Failed = "Failed"
    Terminated = "Terminated"

    @classmethod
    def completed_status(cls) -> List[str]:
        return [cls.Succeed, cls.Failed, cls.Terminated, cls.CreateFailed, cls.InitializeFailed]


_WORDS = {"Succeeded": TrainingJobStatus.Succeed, "Failed": TrainingJobStatus.Failed, "Stopped": TrainingJobStatus.Terminated,
          "Running": TrainingJobStatus.Running, "EnvPreparing": TrainingJobStatus.Initializing, "Created": TrainingJobStatus.Created,
          "Queuing": TrainingJobStatus.Submitted}
_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9-]*$")


class TrainingJob:
    """A job; what it says is asked for when it is read."""

    def __init__(self, job_id: str, session: Optional[Session] = None) -> None:
        if not _ID.match(job_id):
            raise JobError(f"{job_id!r} is no id of a job")
        self.id = job_id
        self.session = session or get_default_session()

    @classmethod
    def get(cls, job_id: str, session: Optional[Session] = None) -> "TrainingJob":
        """The job with this id, or a unique beginning of it; JobError when there is none."""
        job = cls(job_id, session)
        job.id = str(job.describe()["id"])
        return job

    @classmethod
    def list(cls, status: Optional[str] = None, page_size: int = 50, page_number: int = 1, name: Optional[str] = None,
             session: Optional[Session] = None) -> "List[TrainingJob]":
        """Jobs, newest first; `status` in PAI's words or ours."""
        session = session or get_default_session()
        args = ["job", "list", f"--limit={page_size * page_number}", *session.place()]
        if status:
            args.append("--state=" + ",".join([w for w, pai in _WORDS.items() if pai == status] or [status]))
        if name:
            args.append(f"--name={name}")
        rows = _program.call_json(args)
        return [cls(row["id"], session) for row in rows[page_size * (page_number - 1):]]

    def describe(self) -> Dict[str, Any]:
        """All that is known of it."""
        return dict(_program.call_json(["job", "get", *self.session.place(), self.id]))

    @property
    def training_job_id(self) -> str:
        return self.id

    @property
    def name(self) -> str:
        return str(self.describe()["name"])

    training_job_name = name

    @property
    def state(self) -> str:
        """Queuing, Running, Succeeded, Failed, Stopped, ..."""
        return str(self.describe()["state"])

    @property
    def status(self) -> str:
        """The state in PAI's words: Submitted, Running, Succeed, Failed, Terminated, ..."""
        state = self.state
        return _WORDS.get(state, state)

    @property
    def reason_code(self) -> str:
        return str(self.describe()["reason"])

    @property
    def reason_message(self) -> str:
        return str(self.describe().get("status", {}).get("message", ""))

    def why(self) -> str:
        """Why it waits, or how it ended, in words."""
        return _program.call(["job", "why", *self.session.place(), self.id]).strip()

    def is_succeeded(self) -> bool:
        return self.state == "Succeeded"

    def is_completed(self) -> bool:
        return self.state in ("Succeeded", "Failed", "Stopped")

    def logs(self, follow: bool = False, tail: Optional[int] = None, worker: Optional[str] = None,
             timeout: Optional[float] = None) -> Iterator[str]:
        """Lines of its log; with `follow` until it ends, or for `timeout` seconds, also those that are still to come."""
        args = ["job", "logs", *self.session.place()]
        if follow:
            args.append("--follow")
        if tail is not None:
            args.append(f"--tail={tail}")
        if worker is not None:
            args.append(f"--worker={worker}")
        return _program.lines([*args, self.id], timeout)

    def metrics(self, name: Optional[str] = None) -> "Any":
        """The values that metric_definitions found in the log: a DataFrame where pandas is there, else a list of dicts."""
        rows = self._metrics(name)
        try:
            import pandas
        except ImportError:
            return rows
        made = pandas.DataFrame(rows, columns=["name", "value", "step", "attempt", "worker", "time"])
        return made.astype({"step": "Int64"}).assign(time=pandas.to_datetime(made["time"]))

    def _metrics(self, name: Optional[str]) -> "List[Dict[str, Any]]":
        rows = _program.call_json(["job", "get", "--metrics", *self.session.place(), self.id])
        return [{**row, "step": None if row["step"] < 0 else row["step"]} for row in rows if name is None or row["name"] == name]

    def plot(self, name: Optional[str] = None) -> _display.Plot:
        """The curves of its metrics, or of one; a notebook draws them."""
        return _display.Plot(_display.curves_of(self._metrics(name)))

    def outputs(self, channel: Optional[str] = None) -> "List[Dict[str, Any]]":
        """The files it left: channel, path, bytes, sha256."""
        args = ["job", "outputs", *self.session.place()]
        if channel:
            args.append(f"--channel={channel}")
        return list(_program.call_json([*args, self.id]))

    def download(self, to: str, channel: Optional[str] = None) -> str:
        """Copies its outputs below the directory `to`, which is returned."""
        args = ["job", "download", *self.session.place()]
        if channel:
            args.append(f"--channel={channel}")
        _program.call([*args, self.id, os.path.abspath(to)])
        return to

    def output_path(self, channel: str = "model") -> str:
        """Where the outputs of a channel are: a path, a URI that was asked for, or job://ID/CHANNEL/ at a server."""
        about = self.describe()
        asked = about.get("spec", {}).get("output", {})
        if asked.get(channel):
            return str(asked[channel])
        if about.get("dir"):
            return f"{about['dir']}/ml/output/{channel}/"
        return f"job://{self.id}/{channel}/"

    def stop(self) -> None:
        _program.call(["job", "stop", *self.session.place(), self.id])

    def rerun(self) -> "TrainingJob":
        """Submits it again."""
        return TrainingJob(_program.call(["job", "rerun", *self.session.place(), self.id]).strip().splitlines()[-1], self.session)

    def wait(self, interval: float = 5, show_logs: bool = True, timeout: Optional[float] = None) -> "TrainingJob":
        """Waits for its end; UnexpectedStatusException unless it succeeded or was stopped.

        An interrupt (Ctrl-C) leaves the job running and says how to come back to it. `interval` is kept for
        scripts of PAI: waiting costs no polling here.
        """
        live = _display.Live()
        until = None if timeout is None else time.monotonic() + timeout
        try:
            if show_logs:
                for line in self.logs(follow=True, timeout=timeout):
                    print(line, flush=True)
                    if live.due():
                        live.show(self._repr_html_())
            elif live.on and until is None:
                while not self.is_completed():
                    live.show(self._repr_html_())
                    time.sleep(min(interval, 1.0))
            args = ["job", "wait", *self.session.place()]
            if until is not None:
                args.append(f"--timeout={max(1, int((until - time.monotonic()) * 1000))}ms")
            try:
                self._ended(args)
            except JobError as e:
                if e.code != "E3013":
                    raise
                raise e.reworded(lambda text: re.sub(r" after [\d.e+-]+ s", f" after {timeout:g} s", text)) from None
            if live.on:
                live.show(self._repr_html_())
        except KeyboardInterrupt:
            print(f"\njob {self.id} goes on; come back with TrainingJob.get({self.id!r}).wait()", file=sys.stderr)
            raise
        return self

    def _ended(self, args: "List[str]") -> None:
        try:
            _program.call([*args, self.id])
        except JobError as e:
            about = self.describe()
            if about["state"] == "Stopped":
                print(f"job {self.id} was stopped: {about['reason']}", file=sys.stderr)
                return
            if about["state"] != "Failed":
                raise
            tail = "\n".join(f"    {line}" for line in self.logs(tail=10))
            message = f"job {about['name']} ({self.id}): {e.message}"
            raise UnexpectedStatusException(f"{message}; the last lines of its log:\n{tail}" if tail else message,
                                            TrainingJobStatus.Failed) from None

    def __repr__(self) -> str:
        return f"TrainingJob({self.id!r})"

    def _repr_html_(self) -> str:
        about = self.describe()
        return _display.job_html(about) + (self.plot()._repr_html_() if about.get("metrics") else "")
