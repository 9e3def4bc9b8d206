# SPDX-License-Identifier: Apache-2.0
"""Experiments from Python, and trials with the names of NNI."""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest

from place import Case, Server, load_doctests, trainyard
from trainyard import _exchange, tune

TRIAL = """
{imports}
x = {nni}.get_next_parameter()["x"]
assert {nni}.get_next_parameter() is None and {nni}.get_current_parameter("x") == x
for i in range(3):
    {nni}.report_intermediate_result(-abs(x - 1) - 3 + i)
{nni}.report_final_result({{"default": -abs(x - 1), "trial": {nni}.get_sequence_id()}})
"""


class Experiments(Case):
    """Real ones, of a few trials."""

    def experiment(self, command):
        e = tune.Experiment("local")
        e.config.trial_command = command
        e.config.search_space = {"x": {"_type": "uniform", "_value": [0, 2]}}
        e.config.tuner.name = "TPE"
        e.config.tuner.class_args = {"optimize_mode": "maximize"}
        e.config.trial_concurrency = 2
        e.config.max_trial_number = 4
        return e

    def run_quietly(self, e):
        with contextlib.redirect_stderr(io.StringIO()):
            return e.run(directory="exp")

    def test_an_experiment_runs_and_knows_its_best(self):
        self.write("trial.py", TRIAL.format(imports="from trainyard import tune", nni="tune"))
        e = self.experiment(f"{sys.executable} trial.py")
        self.assertTrue(self.run_quietly(e))
        rows = e.list_trial_jobs()
        self.assertEqual(len(rows), 4)
        self.assertTrue(all(len(row["intermediate"]) == 3 for row in rows))
        best = max(rows, key=lambda row: row["value"])
        self.assertEqual(e.best()["value"], best["value"])
        self.assertAlmostEqual(best["value"], -abs(best["parameters"]["x"] - 1))
        self.assertEqual(len(e.export_data()), 4)
        self.assertEqual(tune.Experiment.load("exp").get_status(), "DONE")
        self.assertIn("4 succeeded", e._repr_html_())
        with self.assertRaises(trainyard.TuneError):
            e.run()

    def test_a_script_that_imports_nni_runs_without_nni(self):
        self.write("trial.py", TRIAL.format(imports="import nni", nni="nni"))
        e = self.experiment(f"{sys.executable} -m trainyard.compat.nni trial.py")
        self.assertTrue(self.run_quietly(e))
        self.assertEqual(e.describe()["trials"]["SUCCEEDED"], 4)

    def test_a_bad_space_is_an_error_with_its_place(self):
        e = self.experiment("true")
        e.config.search_space = {"x": {"_type": "unifrom", "_value": [0, 2]}}
        with self.assertRaises(trainyard.TrainyardError) as caught:
            e.run()
        self.assertRegex(caught.exception.code, "^E0")
        self.assertIn("unifrom", str(caught.exception))

    def test_an_experiment_whose_trials_all_fail_is_false_and_can_be_looked_at(self):
        e = self.experiment("false")
        self.assertFalse(self.run_quietly(e))
        self.assertEqual(e.get_status(), "ERROR")
        self.assertIn("FAILED", [row["status"] for row in e.list_trial_jobs()])  # it may give up before the last
        e = self.experiment("true")
        e.config.tuner.class_args = {"optimise_mode": "maximize"}
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(trainyard.TuneError) as caught:
            e.run()
        self.assertRegex(str(caught.exception), r"^experiment:\d+: .*'optimise_mode', did you mean 'optimize_mode'")

    def test_names_that_an_experiment_does_not_have_are_refused_where_they_are_written(self):
        e = self.experiment("true")
        for change, text in ((lambda: setattr(e.config, "trial_comand", "x"), "no field 'trial_comand', did you mean 'trial_command'"),
                             (lambda: setattr(e.config.tuner, "class_arg", {}), "no field 'class_arg', did you mean 'class_args'"),
                             (lambda: tune.ExperimentConfig(max_trials=3), "no field 'max_trials'")):
            with self.assertRaisesRegex(trainyard.ConfigError, text) as caught:
                change()
            self.assertEqual(caught.exception.code, "E0201")
        for name, text in (("search_space", "its settings are those of config: config.search_space"), ("confg", "did you mean 'config'")):
            with self.assertRaisesRegex(AttributeError, text):
                setattr(e, name, {})
        e.config.maxTrialDuration = "1h"  # as files spell it
        e.config.training_service.use_active_gpu = False
        self.assertEqual(e.config.as_dict()["trainingService"], {"platform": "local", "useActiveGpu": False})

    def test_an_experiment_that_is_interrupted_goes_on(self):
        self.write("trial.py", TRIAL.format(imports="import time; from trainyard import tune; time.sleep(1)", nni="tune"))
        e = self.experiment(f"{sys.executable} trial.py")
        # whoever starts the tests in the background may have had it ignored
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(KeyboardInterrupt):
            threading.Thread(target=self.interrupt, args=(said,)).start()
            e.run()
        self.assertIn(f"experiment {e.id} was interrupted; resume() goes on", said.getvalue())
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertTrue(e.resume())
        self.assertEqual(len(e.trials()), 4)
        self.assertIn("<polyline", e._repr_html_())

    def interrupt(self, said, after="trial"):
        while after not in said.getvalue():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    def test_a_server_runs_interrupts_and_fails_an_experiment_as_this_machine_does(self):
        with self.served() as session:
            self.write("src/trial.sh", 'sleep "$2"; echo "::trainyard default=$1"')
            self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

            def begun(command):
                e = tune.Experiment("local", session=session)
                e.config.trial_code_directory = "src"  # below this directory, not that of a file of ours
                e.config.trial_command = command
                e.config.search_space = {"x": {"_type": "uniform", "_value": [0, 2]}}
                e.config.tuner.name = "Random"
                e.config.max_trial_number = 2
                return e

            os.environ["TMPDIR"] = os.path.join(self.place, "tmp")
            os.mkdir(os.environ["TMPDIR"])
            e = begun("sh trial.sh {{x}} 0")
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertTrue(e.run())
            self.assertIn("DONE: 2 of 2 trials", said.getvalue())
            self.assertEqual((e.get_status(), len(e.list_trial_jobs())), ("DONE", 2))
            self.assertGreaterEqual(e.best()["value"], 0)
            self.assertEqual(len(e.to_study().trials), 2)
            failing = begun("false")
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertFalse(failing.run())
            self.assertEqual((failing.get_status(), len(failing.trials())), ("ERROR", 2))

            long = begun("sh trial.sh {{x}} 60")
            with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(KeyboardInterrupt):
                threading.Thread(target=self.interrupt, args=(said, "RUNNING: 0 of 2")).start()
                long.run()
            self.assertIn(f"experiment {long.id} was interrupted; resume() goes on", said.getvalue())
            self.assertEqual(long.get_status(), "STOPPED")
            self.assertEqual(os.listdir(os.environ["TMPDIR"]), [], "nothing is left of what was fetched")

    @contextlib.contextmanager
    def served(self):
        server = Server(self.place)
        os.environ["TRAINYARD_TOKEN"] = server.token
        os.makedirs("work")
        os.chdir("work")
        try:
            yield trainyard.Session(server=server.url)
        finally:
            server.stop()

    def test_paths_of_a_config_are_of_this_directory(self):
        self.write("src/trial.py", TRIAL.format(imports="from trainyard import tune", nni="tune"))
        self.write("space.json", '{"x": {"_type": "uniform", "_value": [0, 2]}}')
        os.chdir("src")
        e = self.experiment(f"{sys.executable} trial.py")
        e.config.trial_code_directory = "."
        e.config.search_space = {}
        e.config.search_space_file = pathlib.Path("../space.json")
        e.config.experiment_working_directory = "../found"
        e.config.tuner.code_directory = None  # as NNI has it
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertTrue(e.run())
        self.assertEqual([row["status"] for row in e.list_trial_jobs()], ["SUCCEEDED"] * 4)
        self.assertIn(e.id, os.listdir("../found"))

    def test_a_study_is_used_by_threads_and_by_one_process(self):
        space = {"x": {"_type": "uniform", "_value": [0, 2]}}
        study = tune.Study(space, path="s.jsonl")

        def work():
            for _ in range(5):
                trial = study.ask()
                trial.report(1)
                trial.tell(trial.params["x"])
        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(t.number for t in study.trials), list(range(30)))
        code = f"from trainyard import tune; tune.Study({space!r}, path='s.jsonl')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertIn("'s.jsonl' is in use by another process", done.stderr)
        pid = os.fork()
        if pid == 0:
            try:
                study.ask()
            except trainyard.TuneError as e:
                os._exit(0 if "lives in the process that made it" in str(e) else 1)
            os._exit(1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        with self.assertRaisesRegex(trainyard.TuneError, "neither copied nor pickled"):
            pickle.dumps(study)
        self.assertIn(study.expected.number, [t.number for t in study.trials])
        again = tune.Study(space, path="s.jsonl")  # as a cell that is run again
        self.assertEqual((len(again.trials), again.best.value), (30, study.best.value))
        with self.assertRaisesRegex(trainyard.TuneError, "the study is closed; a new one of 's.jsonl' goes on"):
            study.ask()
        again.close()

    def test_a_study_survives_an_interrupt_and_the_end_of_its_tuner(self):
        space = {"x": {"_type": "uniform", "_value": [0, 2]}}
        with tune.Study(space, path="s.jsonl") as study, tune.Study(space) as other:
            want = []
            for _ in range(4):
                want.append(other.ask().params)
                other.trials[-1].tell(1)
            study.ask().tell(1)
            whole = study._tuner.answer

            def interrupted(line):
                whole(line)
                raise KeyboardInterrupt
            study._tuner.answer = interrupted
            with self.assertRaises(KeyboardInterrupt):
                study.ask()
            study.ask().tell(1)
            os.kill(study._tuner._process.pid, signal.SIGKILL)
            with self.assertRaisesRegex(trainyard.TrainyardError, "SIGKILL"):
                study.ask()
            for _ in range(2):
                study.ask().tell(1)
            self.assertEqual([t.params for t in study.trials], want, "as if nothing had been")
        with tune.Study(space, path="s.jsonl") as study:
            self.assertEqual([t.params for t in study.trials], want)

    def test_files_that_are_no_study_and_values_that_are_none_are_told(self):
        space = {"x": {"_type": "uniform", "_value": [0, 2]}}
        tune.Study(space, path="good.jsonl").close()
        with open("good.jsonl", encoding="utf-8") as f:
            head = f.read()
        for text in ("nonsense\n", "3\n", head + '{"tell": 7, "value": 1}\n', head + "[]\n"):
            self.write("bad.jsonl", text)
            with self.assertRaisesRegex(trainyard.TuneError, "'bad.jsonl' is (damaged|a study of another)"):
                tune.Study(space, path="bad.jsonl")
        for call, text in ((lambda: tune.Study({"x": {"_type": "foo", "_value": [0, 1]}}), '^space:3: search space "x" has unsupported'),
                           (lambda: tune.Study({"x": object()}), "the search space cannot be written"),
                           (lambda: tune.Study(space, foo=3), "Auto takes no argument 'foo'")):
            with self.assertRaisesRegex(trainyard.TuneError, text):
                call()
        with tune.Study(space) as study:
            for call, text in ((lambda: study.ask().report(None), "must be a number, not NoneType"),
                               (lambda: study.ask().report(float("nan")), "its result on the way is nan"),
                               (lambda: study.add({"x": 1}, float("inf")), "the result of {'x': 1} is inf"),
                               (lambda: study.add({"x": object()}, 1), "values of type object")):
                with self.assertRaisesRegex(trainyard.TuneError, text):
                    call()

    def test_a_result_that_is_no_number_is_told(self):
        with tune.Study({"x": {"_type": "uniform", "_value": [0, 2]}}) as study:
            with self.assertRaisesRegex(trainyard.TuneError, "trial 0: the result must be a number, not NoneType"):
                study.optimize(lambda params: None, n_trials=1)
            with self.assertWarnsRegex(UserWarning, "trial 1: its result is nan"):
                study.ask().tell(float("nan"))
            study.ask().tell(1)
            self.assertEqual([t.state for t in study.trials], ["failed", "failed", "done"])
            self.assertEqual(study.best.number, 2)

    def test_a_study_is_asked_and_told_and_goes_on(self):
        space = {"x": {"_type": "uniform", "_value": [0, 2]}, "k": {"_type": "choice", "_value": ["a", "b"]}}

        def value(p):
            return (p["x"] - 1) ** 2 + (p["k"] == "b")
        with tune.Study(space, path="s.jsonl", seed=3) as study:
            study.optimize(value, 15)
            self.assertLess(study.best.value, 0.1)
            half = study.ask()
            half.report(0.5)
        with open("s.jsonl", "a", encoding="utf-8") as f:
            f.write('{"tell": 15, "val')  # killed while it wrote
        with tune.Study(space, path="s.jsonl", seed=3) as again:
            self.assertEqual([t.params for t in again.trials], [t.params for t in study.trials])
            again.trials[15].tell(value(again.trials[15].params))
            after = again.ask().params
        with tune.Study(space, seed=3) as whole:
            whole.optimize(value, 15)
            trial = whole.ask()
            trial.report(0.5)
            trial.tell(value(trial.params))
            self.assertEqual(whole.ask().params, after)
            whole.add({"x": 1.0, "k": "a"}, 0.0)
            with self.assertRaisesRegex(trainyard.TuneError, "already"):
                trial.tell(1)
            with self.assertRaisesRegex(trainyard.TuneError, "parameter 'k' is missing"):
                whole.add({"x": 1.0}, 0.0)
        with self.assertRaisesRegex(trainyard.TuneError, "another space"):
            tune.Study(space, path="s.jsonl", seed=4)
        with self.assertRaises(trainyard.TuneError) as caught:
            tune.Study({"x": {"_type": "unifrom", "_value": [0, 2]}}).ask()
        self.assertEqual(caught.exception.code, "E0432")
        with tune.Study(space) as failing:
            with self.assertRaises(ZeroDivisionError):
                failing.optimize(lambda p: 1 / 0, 3)
            self.assertEqual(failing.trials[0].state, "failed")

    def test_a_study_goes_on_where_optuna_was_and_back(self):
        if not importlib.util.find_spec("optuna"):
            self.skipTest("optuna is not installed")
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)

        def objective(trial):
            lr = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
            depth = trial.suggest_int("depth", 2, 8)
            width = trial.suggest_int("width", 16, 64, step=16)
            kind = trial.suggest_categorical("kind", ["a", "b", None])
            drop = trial.suggest_float("drop", 0.0, 0.5, step=0.25)
            trial.report(lr, 0)
            return depth * (kind == "a") - drop + width / 64 - lr

        theirs = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
        theirs.optimize(objective, n_trials=12)
        with tune.Study.from_optuna(theirs, path="o.jsonl") as study:
            self.assertTrue(study.maximize)
            self.assertEqual(study.space["depth"], {"_type": "randint", "_value": [2, 9]})
            self.assertEqual(study.space["width"], {"_type": "choice", "_value": [16, 32, 48, 64]})
            self.assertEqual((study.best.value, study.best.params), (theirs.best_value, theirs.best_params))
            trial = study.ask()
            self.assertEqual(sorted(trial.params), ["depth", "drop", "kind", "lr", "width"])
            trial.report(0.5)
            trial.tell(99.0)
        with tune.Study.from_optuna(theirs, path="o.jsonl") as again:
            self.assertEqual((len(again.imported), len(again.trials), again.best.value), (12, 13, 99.0))
            self.assertEqual([t.number for t in again.trials], list(range(13)))
            back = again.to_optuna(storage="sqlite:///back.db", study_name="back")
        self.assertEqual((back.direction.name, back.best_value, len(back.trials)), ("MAXIMIZE", 99.0, 13))
        self.assertEqual([(t.params, t.value) for t in back.trials[:12]], [(t.params, t.value) for t in theirs.trials])
        optuna.load_study(storage="sqlite:///back.db", study_name="back").optimize(
            lambda t: t.suggest_float("lr", 1e-4, 1e-1, log=True), n_trials=1)
        several = optuna.create_study(directions=["maximize", "minimize"])
        with self.assertRaises(trainyard.TuneError):
            tune.Study.from_optuna(several)

    def test_a_study_of_optuna_keeps_integers_and_branches(self):
        if not importlib.util.find_spec("optuna"):
            self.skipTest("optuna is not installed")
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)

        def objective(trial):
            layers = trial.suggest_int("layers", 1, 100, log=True)
            if trial.suggest_categorical("o", ["sgd", "adam"]) == "sgd":
                return trial.suggest_float("momentum", 0.0, 1.0) + layers
            return float(layers)

        theirs = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        theirs.optimize(objective, n_trials=10)
        self.assertEqual({len(t.params) for t in theirs.trials}, {2, 3}, "both branches")
        with tune.Study.from_optuna(theirs, path="o.jsonl") as study:
            for theirs_one, ours in zip(theirs.trials, study.imported):
                self.assertEqual(ours.params, {**ours.params, **theirs_one.params})
                self.assertTrue(0 <= ours.params["momentum"] <= 1)
            asked = [study.ask().params["layers"] for _ in range(4)]
            self.assertEqual({type(n) for n in asked}, {int})
        with tune.Study.from_optuna(theirs, path="o.jsonl") as again:
            self.assertEqual([t.params["layers"] for t in again.trials[10:]], asked)
            back = again.to_optuna()
            self.assertEqual(back.trials[0].distributions["layers"], theirs.trials[0].distributions["layers"])

    def test_results_that_are_no_numbers_do_not_keep_the_others_back(self):
        self.write("trial.py", "from trainyard import tune\nx = tune.get_next_parameter()['x']\n"
                               "tune.report_final_result(float('nan') if tune.get_sequence_id() == 1 else x)\n")
        e = self.experiment(f"{sys.executable} trial.py")
        self.assertTrue(self.run_quietly(e))
        with self.assertWarnsRegex(UserWarning, "result 1 is left out: it is nan"), e.to_study() as study:
            self.assertEqual(len(study.imported), 3)
        if importlib.util.find_spec("optuna"):
            with self.assertWarnsRegex(UserWarning, "is left out: it is nan"):
                self.assertEqual(len(e.to_optuna().trials), 3)

    def test_suggestions_are_finite(self):
        big = {"_type": "lognormal", "_value": [0, 1000]}
        with tune.Study({"x": big, "y": {"_type": "normal", "_value": [0, 1e308]}}, tuner="Random") as study:
            for _ in range(20):
                params = study.ask().params
                self.assertTrue(0 < params["x"] <= sys.float_info.max and abs(params["y"]) <= sys.float_info.max, params)
        for kind, value, text in (("uniform", [-1.7e308, 1.7e308], "high - low is more than a float holds"),
                                  ("randint", [0, 2**60], r"must have int values within 2\^53")):
            with self.assertRaisesRegex(trainyard.TrainyardError, text):
                tune.Study({"x": {"_type": kind, "_value": value}})

    def test_values_that_cannot_be_kept_are_told(self):
        choices = [10**30, 2**64, 1.0, True, "a"]
        with tune.Study({"c": {"_type": "choice", "_value": choices}}, tuner="GridSearch") as study:
            self.assertEqual(sorted(map(repr, (study.ask().params["c"] for _ in choices))), sorted(map(repr, choices)))
        with tune.Study({"x": {"_type": "uniform", "_value": [0, 1]}}) as study:
            with self.assertRaisesRegex(trainyard.TuneError, "more than a float holds"):
                study.ask().tell(10**400)
        with self.assertRaisesRegex(trainyard.UsageError, "holds a NUL character"):
            tune.Study({"a\0b": {"_type": "uniform", "_value": [0, 1]}})
        e = self.experiment("echo a\0; echo b")
        with self.assertRaisesRegex(trainyard.UsageError, "holds a NUL character"):
            e.start()
        self.write("theirs.json", '{"a": 1}')
        with self.assertRaisesRegex(trainyard.TuneError, "'theirs.json' is no study, and is left as it is"):
            tune.Study({"x": {"_type": "uniform", "_value": [0, 1]}}, path="theirs.json")
        with open("theirs.json", encoding="utf-8") as f:
            self.assertEqual(f.read(), '{"a": 1}')
        tune.Study({"x": {"_type": "uniform", "_value": [0, 1]}}, path="cut.jsonl").close()
        with open("cut.jsonl", "r+b") as f:
            f.truncate(9)
        with tune.Study({"x": {"_type": "uniform", "_value": [0, 1]}}, path="cut.jsonl") as study:
            study.ask().tell(1)
        with tune.Study({"x": {"_type": "uniform", "_value": [0, 1]}}, path="cut.jsonl") as study:
            self.assertEqual(len(study.trials), 1)
        self.write("deep.jsonl", "[" * 100000 + "\n")
        with self.assertRaisesRegex(trainyard.TuneError, "is damaged, or no study"):
            tune.Study({"x": {"_type": "uniform", "_value": [0, 1]}}, path="deep.jsonl")
        with self.assertRaisesRegex(trainyard.TuneError, "there is no experiment '--help'"):
            tune.Experiment.load("--help")

    def test_an_experiment_of_an_empty_space_whose_trials_fail_is_false(self):
        e = self.experiment("false")
        e.config.search_space = {}
        self.assertFalse(self.run_quietly(e))

    def test_names_that_others_see_hold_no_control_characters(self):
        e = self.experiment("true")
        for name in ("\x1b[31mred", "two\nlines", "c1 \x9b31m"):
            e.config.experiment_name = name
            with self.assertRaisesRegex(trainyard.ConfigError, "E0211") as caught:
                e.start()
            self.assertIn("a control character cannot be in it", str(caught.exception))

    def test_results_from_elsewhere_are_trials(self):
        space = {"x": {"_type": "uniform", "_value": [0, 2]}}
        with tune.Study(space, path="s.jsonl") as study:
            study.ask().tell(1.0)
            study.add({"x": 1.5}, 0.5)
            study.ask().tell(2.0)
        with tune.Study(space, path="s.jsonl") as study:
            self.assertEqual([(t.number, t.state, t.value) for t in study.trials], [(0, "done", 1.0), (1, "done", 0.5), (2, "done", 2.0)])
            self.assertEqual((study.best.params, study.imported), ({"x": 1.5}, [study.trials[1]]))
            self.assertIn("3 trials, 3 done, best 0.5", repr(study))
            study.add({"x": 0.25}, 0.1)
            half = study.ask()
            half.tell(7.0)
            self.assertEqual((half.number, study.trials[3].imported, half.imported), (4, True, False))

    def test_a_study_whose_file_has_the_last_digit_otherwise_goes_on(self):
        space = {"lr": {"_type": "loguniform", "_value": [1e-4, 0.1]}}
        with tune.Study(space, path="s.jsonl") as study:
            study.ask().tell(1.0)
        with open("s.jsonl", encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        then = lines[1]["params"]["lr"] * (1 + 4e-16)
        for lr in (then, then + 0.01):
            lines[1]["params"]["lr"] = lr
            self.write("s.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
            if lr != then:
                with self.assertRaisesRegex(trainyard.TuneError, "suggested other parameters"):
                    tune.Study(space, path="s.jsonl")
                continue
            self.assertNotEqual(lr, study.trials[0].params["lr"])
            with tune.Study(space, path="s.jsonl") as again:
                self.assertEqual((again.trials[0].params, again.best.value), ({"lr": lr}, 1.0), "what was tried")
                again.ask().tell(2.0)

    def test_values_that_optuna_cannot_hold_do_not_keep_the_others_back(self):
        if not importlib.util.find_spec("optuna"):
            self.skipTest("optuna is not installed")
        space = {"lr": {"_type": "loguniform", "_value": [1e-4, 0.1]}, "n": {"_type": "randint", "_value": [1, 9]},
                 "k": {"_type": "choice", "_value": ["a", "b"]}}
        good = {"lr": 0.01, "n": 3, "k": "a"}
        results = [_exchange.Result({**good, **more}, float(i), []) for i, more in enumerate(
            ({}, {"lr": 0.2}, {"n": 20}, {"k": "c"}, {"n": 2.5}, {"lr": -1.0}, {"lr": "x"}, {"n": True}, {"k": "b"}))]
        with self.assertWarnsRegex(UserWarning, r"result 3 is left out: k: 'c' does not fit") as caught:
            made = _exchange.write_optuna(_exchange.Found(space, False, results))
        self.assertEqual([t.value for t in made.trials], [0, 1, 2, 8])
        self.assertEqual([t.params for t in made.trials[1:3]], [{**good, "lr": 0.2}, {**good, "n": 20}])
        self.assertEqual(len(caught.warnings), 5)

    def test_an_experiment_of_ours_becomes_a_study(self):
        self.write("trial.py", TRIAL.format(imports="from trainyard import tune", nni="tune"))
        e = self.experiment(f"{sys.executable} trial.py")
        self.assertTrue(self.run_quietly(e))
        with e.to_study() as study:
            self.assertEqual(len(study.imported), len(e.export_data()))
            self.assertEqual(study.best.value, e.best()["value"])
        if importlib.util.find_spec("optuna"):
            self.assertEqual(e.to_optuna().best_value, e.best()["value"])

    def test_outside_an_experiment_there_are_no_parameters(self):
        with self.assertWarnsRegex(RuntimeWarning, "no trial of an experiment"):
            self.assertEqual(tune.get_next_parameter(), {})
        with self.assertLogs("trainyard.tune", "INFO") as said:
            tune.report_final_result(0.5)
        self.assertIn("Final result: 0.5", said.output[0])
        self.assertEqual((tune.get_trial_id(), tune.get_sequence_id()), ("STANDALONE", 0))

    def test_a_mere_directory_is_no_package_and_utilities_are_there(self):
        os.mkdir("nni")
        self.write("t.py", """
import argparse
import nni
from nni.utils import merge_parameter
found = merge_parameter(argparse.Namespace(lr=0.1, n=None), {"lr": 0.5, "n": 3})
for bad, error in (({"lrr": 1}, ValueError), ({"lr": "x"}, TypeError)):
    try:
        merge_parameter({"lr": 0.1}, bad)
    except error:
        continue
    raise AssertionError(bad)
print(found.lr, found.n, nni.trace(dict) is dict, issubclass(nni.NoMoreTrialError, Exception))
""")
        from trainyard.compat import nni as compat
        shim = {**os.environ, "PYTHONPATH": compat.path() + ":" + os.environ["PYTHONPATH"]}
        for args, env in ((["-m", "trainyard.compat.nni", "t.py"], None), (["t.py"], shim)):
            out = subprocess.run([sys.executable, *args], env=env, capture_output=True, text=True, check=False)
            self.assertEqual(out.stdout, "0.5 3 True True\n", out.stderr)

    def test_a_directory_in_pythonpath_makes_nni_importable_and_replaces_none(self):
        from trainyard.compat import nni as compat
        script = "import nni, nni.experiment; print(nni.__version__, nni.get_trial_id(), nni.experiment.Experiment.__module__)"
        env = {**os.environ, "PYTHONPATH": compat.path() + ":" + os.environ["PYTHONPATH"]}
        run = [sys.executable, "-W", "ignore", "-c"]
        out = subprocess.run([*run, script], env=env, capture_output=True, text=True, check=True).stdout
        self.assertEqual(out, "3.0 STANDALONE trainyard.tune\n")
        self.write("site/nni/__init__.py", "real = True")
        env["PYTHONPATH"] += ":site"
        out = subprocess.run([*run, "import nni; print(nni.real)"], env=env, capture_output=True, text=True, check=True).stdout
        self.assertEqual(out, "True\n")

    def test_an_installed_nni_is_not_replaced(self):
        self.write("site/nni/__init__.py", "real = True")
        script = "import trainyard.compat.nni as c\ntry: c.install()\nexcept Exception as e: print(e)\nimport nni; print(nni.real)"
        env = {**os.environ, "PYTHONPATH": "site:" + os.environ["PYTHONPATH"]}
        out = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True).stdout
        self.assertEqual(out, "a package 'nni' is installed already; it is not replaced\nTrue\n")


def load_tests(loader, tests, pattern):
    return load_doctests(tests, ["trainyard.tune", "trainyard.trial", "trainyard._exchange", "trainyard.compat.nni"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
