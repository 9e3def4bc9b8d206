# SPDX-License-Identifier: Apache-2.0
"""TensorBoard on the logs of a job, on this machine.

    tb = est.tensorboard()
    print(tb.app_uri)          # a notebook shows the link
    tb.delete()
"""
from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from html import escape
from typing import Any, List, Optional

from . import jobs
from .errors import JobError, UsageError
from .session import Session

__all__ = ["TensorBoard", "TensorBoardStatus"]

_JOB = re.compile(r"^job://([^/]+)/([^/]+)/?$")
_URL = re.compile(r"https?://\S+")


class TensorBoardStatus:
    """States in the words of PAI's SDK."""

    Creating = "Creating"
    Running = "Running"
    Stopped = "Stopped"

    @classmethod
    def is_running(cls, status: str) -> bool:
        return status == cls.Running


def _program() -> List[str]:
    if importlib.util.find_spec("tensorboard"):
        return [sys.executable, "-m", "tensorboard.main"]
    found = shutil.which("tensorboard")
    if not found:
        raise UsageError("TensorBoard is not installed (pip install tensorboard)")
    return [found]


class TensorBoard:
    """A TensorBoard that was started; it ends with this process, or by stop()."""

    def __init__(self, uri: str, session: Optional[Session] = None) -> None:
        self.summary_uri = uri  #: a directory, or job://ID/CHANNEL/ of a server
        self.session = session
        self._app_uri: Optional[str] = None
        self._process: Optional["subprocess.Popen[str]"] = None
        self._copy: Optional["tempfile.TemporaryDirectory[str]"] = None

    @classmethod
    def create(cls, uri: str, wait: bool = True, display_name: Optional[str] = None, max_runtime_in_minutes: Optional[float] = None,
               session: Optional[Session] = None, **kept: Any) -> "TensorBoard":
        """Starts one on the logs in a directory. It ends after `max_runtime_in_minutes`, when that is given."""
        made = cls(uri, session)
        made.start()
        if max_runtime_in_minutes:
            timer = threading.Timer(max_runtime_in_minutes * 60, made.stop)
            timer.daemon = True
            timer.start()
        return made

    def _directory(self) -> str:
        """Where the logs are; those of a server's job are fetched."""
        match = _JOB.match(self.summary_uri)
        if not match:
            return self.summary_uri
        self._copy = tempfile.TemporaryDirectory(prefix="trainyard-")
        return f"{jobs.TrainingJob(match[1], self.session).download(self._copy.name, match[2])}/{match[2]}"

    def start(self, wait: bool = True) -> None:
        """Starts it, unless it runs, and waits for its address."""
        if self.status == TensorBoardStatus.Running:
            return
        command = [*_program(), "--logdir", self._directory(), "--host", "127.0.0.1", "--port", "0"]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                         text=True, errors="replace", start_new_session=True)  # Ctrl-C is not for it
        weakref.finalize(self, _end, self._process)
        self._app_uri = self._address()

    def _address(self) -> str:
        assert self._process and self._process.stderr
        said = []
        for line in self._process.stderr:
            said.append(line.strip())
            found = _URL.search(line)
            if found and " at " in line:
                threading.Thread(target=_drain, args=(self._process.stderr,), daemon=True).start()
                return found[0]
        self._process.wait()
        raise JobError(f"TensorBoard ended: {said[-1] if said else 'it said nothing'}")

    @property
    def app_uri(self) -> Optional[str]:
        """Its address."""
        return self._app_uri

    @property
    def status(self) -> str:
        return TensorBoardStatus.Running if self._process and self._process.poll() is None else TensorBoardStatus.Stopped

    def wait(self) -> None:
        """Kept for scripts of PAI: start() has waited."""

    def stop(self) -> None:
        if self._process:
            _end(self._process)
        if self._copy:
            self._copy.cleanup()
            self._copy = None

    delete = stop

    def __repr__(self) -> str:
        return f"TensorBoard({self.summary_uri!r}, {self.status}{f', {self._app_uri}' if self._app_uri else ''})"

    def _repr_html_(self) -> str:
        link = escape(self._app_uri or "", quote=True)
        return f'TensorBoard: <a href="{link}" target="_blank">{link}</a>'


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.terminate()
        process.wait()


def _drain(stream: Any) -> None:
    with stream:
        for _ in stream:
            pass
