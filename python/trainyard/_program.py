# SPDX-License-Identifier: Apache-2.0
"""Finds and runs the trainyard program. All else in this package goes through here."""
from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from typing import IO, Any, Callable, Iterator, List, Mapping, Optional, Sequence

from . import _display, errors


def path() -> str:
    """The program: $TRAINYARD, that of this package, or the first in PATH."""
    named = os.environ.get("TRAINYARD")
    if named:
        return named
    packed = os.path.join(os.path.dirname(__file__), "bin", "trainyard")
    if os.access(packed, os.X_OK):
        return packed
    found = next((p for p in map(_in_directory, os.environ.get("PATH", "").split(os.pathsep)) if p), None)
    if not found:
        raise errors.ProgramNotFound("there is no program trainyard in this package or in PATH; set TRAINYARD to where it is")
    return found


def _in_directory(directory: str) -> Optional[str]:
    """The program in a directory; not the command of this package, which would start itself."""
    found = shutil.which("trainyard", path=directory or os.curdir)
    if not found:
        return None
    with open(found, "rb") as f:
        return None if b"trainyard._program" in f.read(1000) else found


def start(args: Sequence[str], **how: Any) -> "subprocess.Popen[Any]":
    """The program as a process; what keeps it from starting is told."""
    program = path()
    try:
        return subprocess.Popen([program, *args], **how)
    except OSError as e:
        if e.errno == errno.E2BIG:
            raise errors.UsageError("the values of this call are too long for one command: write them to a config") from None
        raise errors.ProgramNotFound(f"{program} cannot be started: {e.strerror}; set TRAINYARD to where the program is") from None
    except ValueError as e:  # a NUL byte
        raise errors.UsageError(f"a value cannot be handed to the program: {e}") from None


def run(args: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """The program to its end, whatever that is."""
    with start(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
               errors="replace") as program:
        out, said = program.communicate()
    return subprocess.CompletedProcess(args, program.returncode, out, said)


def parsed(text: str) -> Any:
    """An answer of the program, which is JSON."""
    try:
        return json.loads(text)
    except ValueError:
        raise errors.ProgramNotFound(f"{path()} gives no answer of the program trainyard; TRAINYARD may name another one") from None


def call(args: Sequence[str], *, show: bool = False, cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
         stdin: Optional[bytes] = None, said: Optional[List[str]] = None, heard: Optional[Callable[[str], None]] = None,
         out: Optional[List[str]] = None) -> str:
    """Runs the program and returns what it printed; `out` takes its lines, also of a call that is interrupted or fails.

    With `show` its messages appear as they come, but for errors, which are raised; `said` takes their lines, `heard` is called
    with each, in this thread.
    """
    program = start(args, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, cwd=cwd, env={**os.environ, **env} if env else None)
    said = [] if said is None else said
    out = [] if out is None else out
    assert program.stdout and program.stderr
    reader = threading.Thread(target=_collect, args=(program.stdout, out), daemon=True)
    reader.start()
    if stdin is not None:
        threading.Thread(target=_feed, args=(program.stdin, stdin), daemon=True).start()
    try:
        _listen(program.stderr, said, _shown() if show else None, heard)
        program.wait()
    except BaseException:
        program.terminate()
        program.wait()
        raise
    finally:
        _close(program, reader)
    if program.returncode != 0:
        failed = errors.from_output("".join(said), program.returncode)
        failed.output = "".join(out)
        raise failed
    return "".join(out)


def _shown() -> IO[str]:
    """Where progress goes: notebooks print standard error in red."""
    return sys.stdout if _display.in_notebook() else sys.stderr


def _listen(stream: IO[bytes], said: List[str], to: Optional[IO[str]], heard: Optional[Callable[[str], None]]) -> None:
    raised = False  # an error, and the lines that explain it
    for line in stream:
        text = line.decode(errors="replace")
        said.append(text)
        raised = errors.is_error(text) or (raised and text.startswith((" ", "\t")))
        if to and not raised and not errors.is_aside(text):
            to.write(text)
            to.flush()
        if heard:
            heard(text)


def _close(program: "subprocess.Popen[bytes]", reader: threading.Thread) -> None:
    reader.join()
    for stream in (program.stdout, program.stderr):
        if stream:
            stream.close()


def _feed(to: Optional[IO[bytes]], data: bytes) -> None:
    assert to
    try:
        with to:
            to.write(data)
    except BrokenPipeError:
        pass


def _collect(stream: IO[bytes], lines: List[str]) -> None:
    for line in stream:
        lines.append(line.decode(errors="replace"))


def call_json(args: Sequence[str], **kwargs: Any) -> Any:
    return parsed(call([*args, "--json"], **kwargs))


def lines(args: Sequence[str], seconds: Optional[float] = None) -> Iterator[str]:
    """The lines that the program prints, as they come, for at most `seconds`. Closing the iterator ends the program."""
    program = start(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said: List[str] = []
    over = threading.Event()

    def end() -> None:
        over.set()
        program.terminate()

    timer = threading.Timer(seconds or 0, end)
    assert program.stdout and program.stderr
    reader = threading.Thread(target=_collect, args=(program.stderr, said), daemon=True)
    reader.start()
    if seconds is not None:
        timer.start()
    try:
        for line in program.stdout:
            yield line.decode(errors="replace").rstrip("\n")
        program.wait()
        reader.join()
        if program.returncode != 0 and not over.is_set():
            raise errors.from_output("".join(said), program.returncode)
    finally:
        timer.cancel()
        if program.poll() is None:
            program.terminate()
            program.wait()
        _close(program, reader)


def main() -> None:
    """The command `trainyard` of this package: the program itself, in place of Python."""
    try:
        program = path()
    except errors.ProgramNotFound as e:
        raise SystemExit(f"trainyard: {e}") from None
    os.execv(program, [program, *sys.argv[1:]])
