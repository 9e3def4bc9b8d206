# SPDX-License-Identifier: Apache-2.0
"""A place of its own for each case: an empty directory, jobs of its own, and the real program."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
# The package of the tree, or with TY_INSTALLED the one that is installed.
PACKAGE = "" if os.environ.get("TY_INSTALLED") else os.path.join(SOURCE, "python")
if PACKAGE:
    sys.path.insert(0, PACKAGE)
PROGRAM = os.environ["TRAINYARD"]

import trainyard  # noqa: E402
from trainyard import session as sessions  # noqa: E402
from trainyard.compat import _pai_session as pai_sessions  # noqa: E402


class Case(unittest.TestCase):
    """Runs in an empty directory; jobs live below it."""

    def setUp(self):
        self.kept = dict(os.environ)
        self.home = os.getcwd()
        self.place = tempfile.mkdtemp(prefix="ty-python-")
        os.chdir(self.place)
        os.environ.update(HOME=self.place, TRAINYARD_DIR=os.path.join(self.place, "jobs"), XDG_CONFIG_HOME=self.place,
                          PYTHONPATH=PACKAGE, PATH=os.path.dirname(PROGRAM) + ":" + os.environ["PATH"])
        for name in ("TRAINYARD_SERVER", "TRAINYARD_TOKEN", "PAI_CONFIG_PATH", "NNI_PLATFORM"):
            os.environ.pop(name, None)
        sessions._default = pai_sessions._default_session = None
        warnings.simplefilter("error")

    def tearDown(self):
        warnings.resetwarnings()
        os.chdir(self.home)
        os.environ.clear()
        os.environ.update(self.kept)
        for pid in self.agents():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        shutil.rmtree(self.place, ignore_errors=True)

    def agents(self):
        """Supervisors of this place's jobs."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    environ = f.read()
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    command = f.read()
            except OSError:
                continue
            if self.place.encode() in environ and b"agent" in command:
                found.append(int(pid))
        return found

    def write(self, path, text):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


class Server:
    """A real server for one case."""

    def __init__(self, place, store=None):
        self.log = os.path.join(place, "server.log")
        with open(self.log, "w", encoding="utf-8") as f:
            command = [PROGRAM, "server", "--listen", "127.0.0.1:0", "--dir", os.path.join(place, "yard"), "--experiments", "none"]
            command += [f"--store={store}"] if store else []
            self.process = subprocess.Popen(command, stdout=f, stderr=subprocess.STDOUT)
        self.url = self._listening()
        with open(os.path.join(place, "yard", "admin.token"), encoding="utf-8") as f:
            self.token = f.read().strip()

    def _listening(self):
        for _ in range(600):
            with open(self.log, encoding="utf-8") as f:
                found = re.search(r"^listening on (\S+)", f.read(), re.MULTILINE)
            if found:
                return found[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        with open(self.log, encoding="utf-8") as f:
            raise AssertionError("the server does not listen: " + f.read())

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Postgres:
    """A database for one class of cases; raises SkipTest where PostgreSQL is not installed."""

    def __init__(self):
        self.place = tempfile.mkdtemp(prefix="ty-python-pg-")
        done = subprocess.run([self._tool(), "start", self.place], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(self.place)
            raise unittest.SkipTest(done.stdout.strip() or done.stderr.strip())
        self.url = done.stdout.strip()
        self.made = 0

    def _tool(self):
        return os.path.join(SOURCE, "tests", "pg")

    def fresh(self):
        """The URL of one more empty database."""
        self.made += 1
        subprocess.run(["psql", "-qd", self.url, "-c", f"create database d{self.made}"], check=True)
        return self.url.replace("/postgres?", f"/d{self.made}?")

    def stop(self):
        subprocess.run([self._tool(), "stop", self.place], check=False)
        shutil.rmtree(self.place, ignore_errors=True)


def load_doctests(tests, names):
    """The examples in the docstrings of modules."""
    import doctest
    import importlib
    for name in names:
        tests.addTests(doctest.DocTestSuite(importlib.import_module(name)))
    return tests


__all__ = ["Case", "Postgres", "Server", "PROGRAM", "SOURCE", "trainyard", "load_doctests"]
