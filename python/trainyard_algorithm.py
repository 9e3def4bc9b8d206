# SPDX-License-Identifier: Apache-2.0
"""Runs one tuner, assessor or advisor that is a Python class, in the manner of NNI.

It reads a JSON object per line from its standard input and answers each with one line:

    {"do": "start", "role": "tuner", "class": "mine.Tuner", "dir": "/code", "args": {}, "space": {}}
    {"do": "ask"}                            {"id": 3, "params": {...}}, or {} for nothing now
    {"do": "tell", "trial": "AAAxy", "id": 3, "params": {...}, "value": "0.93"}
    {"do": "report", "trial": "AAAxy", "id": 3, "params": {...}, "step": 0, "value": "0.5"}
                                             {"stop": true} ends the trial
    {"do": "end", "trial": "AAAxy", "id": 3, "params": {...}, "ok": true, "status": "SUCCEEDED"}
    {"do": "space", "space": {...}}

`value` is JSON inside a string, as a trial reported it. An answer may hold "kill", a list of
trials that an advisor wants ended, and holds "error" when the class failed. What the class
prints goes to standard error.

The nni package is used when it is there. Without it `nni.tuner.Tuner`, `nni.assessor.Assessor`,
`nni.NoMoreTrialError` and `nni.utils` exist in the form that such classes need; advisors, which
are made of the package's own message loop, need the package.
"""
import enum
import importlib
import json
import logging
import os
import sys
import traceback
import types


def stand_in():
    """The part of nni that classes of one's own derive from, for machines without it."""
    def module(name, **members):
        m = types.ModuleType(name)
        m.__dict__.update(members)
        sys.modules[name] = m
        return m

    class NoMoreTrialError(Exception):
        pass

    class Tuner:
        def generate_parameters(self, parameter_id, **kwargs):
            raise NotImplementedError("generate_parameters")

        def generate_multiple_parameters(self, parameter_id_list, **kwargs):
            made = []
            for i in parameter_id_list:
                try:
                    made.append(self.generate_parameters(i, **kwargs))
                except NoMoreTrialError:
                    break
            return made

        def receive_trial_result(self, parameter_id, parameters, value, **kwargs):
            raise NotImplementedError("receive_trial_result")

        def trial_end(self, parameter_id, success, **kwargs):
            pass

        def update_search_space(self, search_space):
            raise NotImplementedError("update_search_space")

        def import_data(self, data):
            pass

    class AssessResult(enum.Enum):
        Good = True
        Bad = False

    class Assessor:
        def assess_trial(self, trial_job_id, trial_history):
            raise NotImplementedError("assess_trial")

        def trial_end(self, trial_job_id, success):
            pass

    class OptimizeMode(enum.Enum):
        Minimize = "minimize"
        Maximize = "maximize"

    def extract_scalar_reward(value, scalar_key="default"):
        if isinstance(value, (int, float)):
            return value
        return value[scalar_key]

    class ClassArgsValidator:
        def validate_class_args(self, **kwargs):
            pass

    tuner = module("nni.tuner", Tuner=Tuner)
    assessor = module("nni.assessor", Assessor=Assessor, AssessResult=AssessResult)
    utils = module("nni.utils", OptimizeMode=OptimizeMode, NodeType=None,
                   extract_scalar_reward=extract_scalar_reward, ClassArgsValidator=ClassArgsValidator)
    module("nni", tuner=tuner, assessor=assessor, utils=utils, NoMoreTrialError=NoMoreTrialError,
           ClassArgsValidator=ClassArgsValidator)
    sys.modules["nni"].__path__ = []


def have_nni():
    # read when the package is loaded; an advisor's channel wants some address
    os.environ.setdefault("NNI_TUNER_COMMAND_CHANNEL", "ws://here")
    try:
        import nni.tuner  # noqa: F401
        import nni.assessor  # noqa: F401
        return True
    except ImportError:
        for name in [n for n in sys.modules if n == "nni" or n.startswith("nni.")]:
            del sys.modules[name]
        stand_in()
        return False


def read(text):
    """A value as Python's json writes it, NaN and Infinity included."""
    return json.loads(text)


class Tuner:
    def __init__(self, it, space):
        self.it, self.next, self.ready = it, 0, []
        it.update_search_space(space)

    def later(self, parameter_id, parameters):
        self.ready.append((parameter_id, parameters))

    def ask(self, _):
        if not self.ready:
            i, self.next = self.next, self.next + 1
            made = self.it.generate_multiple_parameters([i], st_callback=self.later)
            self.ready += [(i, p) for p in made]
        if not self.ready:
            return {}
        i, parameters = self.ready.pop(0)
        return {"id": i, "params": parameters}

    def tell(self, m):
        self.it.receive_trial_result(m["id"], m["params"], read(m["value"]), customized=False,
                                     trial_job_id=m["trial"])

    def report(self, m):
        pass

    def end(self, m):
        self.it.trial_end(m["id"], m["ok"], trial_job_id=m["trial"])

    def space(self, m):
        self.it.update_search_space(m["space"])


class Assessor:
    def __init__(self, it):
        self.it, self.history = it, {}

    def report(self, m):
        history = self.history.setdefault(m["trial"], [])
        if m["step"] != len(history):
            return {}
        value = read(m["value"])
        history.append(value.get("default") if isinstance(value, dict) else value)
        verdict = self.it.assess_trial(m["trial"], list(history))
        return {"stop": verdict is False or getattr(verdict, "value", verdict) is False}

    def tell(self, m):
        pass

    def end(self, m):
        self.history.pop(m["trial"], None)
        self.it.trial_end(m["trial"], m["ok"])

    def space(self, m):
        pass


class Advisor:
    """An advisor is handed its commands directly, in our order, rather than from its threads."""

    def __init__(self, make, space):
        from nni.runtime import msg_dispatcher_base
        from nni.runtime.tuner_command_channel import CommandType
        self.kinds, self.sent, self.ready, self.kills = CommandType, [], [], []

        class Channel:
            def __init__(channel, url):
                pass

            def connect(channel):
                pass

            def disconnect(channel):
                pass

            def _send(channel, kind, data):
                self.take(kind, data)

        msg_dispatcher_base.TunerCommandChannel = Channel
        self.it = make()
        # nothing is from before: all is told again. nni 3.0 compares ids that are words here
        self.it.is_created_in_previous_exp = lambda _: False
        self.do("Initialize", space)

    def take(self, kind, data):
        from nni.common import load
        if kind is self.kinds.NewTrialJob:
            record = load(data)
            self.ready.append((record["parameter_id"], record["parameters"]))
        elif kind is self.kinds.KillTrialJob:
            self.kills.append(load(data))
        elif kind is self.kinds.Error:
            raise RuntimeError(data)

    def do(self, kind, data):
        self.it.process_command(getattr(self.kinds, kind), data)
        kills, self.kills = self.kills, []
        return {"kill": kills} if kills else {}

    def ask(self, _):
        answer = {} if self.ready else self.do("RequestTrialJobs", 1)
        if self.ready:
            answer["id"], answer["params"] = self.ready.pop(0)
        return answer

    def metric(self, m, kind, step):
        return self.do("ReportMetricData", {
            "parameter_id": m["id"], "trial_job_id": m["trial"], "type": kind, "sequence": step,
            "value": m["value"]})

    def tell(self, m):
        return self.metric(m, "FINAL", 0)

    def report(self, m):
        return self.metric(m, "PERIODICAL", m["step"])

    def end(self, m):
        record = {"parameter_id": m["id"], "parameter_source": "algorithm",
                  "parameters": m["params"], "parameter_index": 0}
        return self.do("TrialEnd", {"trial_job_id": m["trial"], "event": m["status"],
                                    "hyper_params": json.dumps(record)})

    def space(self, m):
        return self.do("UpdateSearchSpace", m["space"])


def load(name):
    module, _, cls = name.rpartition(".")
    return getattr(importlib.import_module(module), cls)


def check(m):
    have_nni()
    sys.path.insert(0, m["dir"])
    load(m["class"])
    if "validator" in m:
        load(m["validator"])


def start(m):
    found = have_nni()
    sys.path.insert(0, m["dir"])
    os.chdir(m["dir"])
    cls = load(m["class"])
    if "validator" in m:
        load(m["validator"])().validate_class_args(**(m.get("args") or {}))

    def make():
        return cls(**(m.get("args") or {}))

    if m["role"] == "assessor":
        return Assessor(make())
    if found:
        from nni.runtime.msg_dispatcher_base import MsgDispatcherBase
        if issubclass(cls, MsgDispatcherBase):
            return Advisor(make, m["space"])
    return Tuner(make(), m["space"])


def plain(value):
    """What JSON cannot hold, such as numbers of NumPy."""
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} among the parameters cannot be written as JSON")


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    algorithm = None
    for line in sys.stdin:
        try:
            m = json.loads(line)
            if m["do"] == "start":
                algorithm, answer = start(m), {}
            elif m["do"] == "check":
                answer = check(m)
            else:
                answer = getattr(algorithm, m["do"])(m)
            text = json.dumps(answer or {}, default=plain)
        except BaseException as e:  # a class may also call exit()
            if isinstance(e, KeyboardInterrupt):
                return
            traceback.print_exc()
            text = json.dumps({"error": "".join(traceback.format_exception_only(type(e), e)).strip()})
        print(text, file=answers, flush=True)


main()
