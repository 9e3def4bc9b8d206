# SPDX-License-Identifier: Apache-2.0
"""Jobs from Python: the same cases on this machine and at a server."""
import contextlib
import importlib.util
import io
import json
import os
import signal
import subprocess
import threading
import urllib.request
import unittest
import warnings

from place import Case, Postgres, Server, load_doctests, trainyard
from trainyard import AlgorithmEstimator, Estimator, JobError, Processor, Session, TrainingJob, UnexpectedStatusException

TRAIN = """
import json, os
hps = json.load(open(os.environ["PAI_CONFIG_DIR"] + "/hyperparameters.json"))
print("args", os.environ["PAI_USER_ARGS"])
for step, auc in enumerate(("0.5", "0.75")):
    print(f"step {step} auc={auc}", flush=True)
with open(os.environ["PAI_OUTPUT_MODEL"] + "/model.txt", "w") as f:
    f.write(hps["learning_rate"])
"""


class Jobs:
    """One behaviour everywhere."""

    def estimator(self, **more):
        self.write("src/train.py", TRAIN)
        given = {"command": "python3 train.py", "source_dir": "src", "session": self.session,
                 "hyperparameters": {"batch_size": 32, "learning_rate": 0.01},
                 "metric_definitions": [{"Name": "auc", "Regex": r"auc=(\d+(?:\.\d+)?)"}]}
        return Estimator(**{**given, **more})

    def fit(self, est, **more):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            job = est.fit(**more)
        return job, out.getvalue()

    def test_fit_shows_the_log_and_leaves_a_model(self):
        est = self.estimator()
        job, out = self.fit(est)
        self.assertIn("args --batch_size 32 --learning_rate 0.01\n", out)
        self.assertEqual((job.state, job.status, job.is_succeeded()), ("Succeeded", "Succeed", True))
        self.assertEqual([f["path"] for f in job.outputs("model")], ["model.txt"])
        with open(os.path.join(job.download("got"), "model/model.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "0.01")
        self.assertIs(est.latest_job, job)
        self.assertTrue(est.model_data().endswith("/model/"))

    def test_metrics_come_out_of_the_log(self):
        job, _ = self.fit(self.estimator(), show_logs=False)
        rows = job.metrics("auc")
        values = list(rows["value"]) if hasattr(rows, "columns") else [row["value"] for row in rows]
        self.assertEqual(values, [0.5, 0.75])
        self.assertEqual(job.plot("auc").curves, {"auc": [(0, 0.5), (1, 0.75)]}, "they have no steps: one behind the other")
        if hasattr(rows, "columns"):
            self.assertEqual(list(rows.columns), ["name", "value", "step", "attempt", "worker", "time"])
            self.assertTrue(rows["step"].isna().all())
            self.assertEqual(rows["time"].dtype.kind, "M")
        with self.assertRaisesRegex(JobError, "has no such outputs"):
            job.download("got", "checkpoints")

    def test_inputs_are_where_the_contract_says(self):
        self.write("data/train.csv", "a,b\n")
        est = Estimator(command='cat "$PAI_INPUT_TRAIN"', session=self.session)
        _, out = self.fit(est, inputs={"train": "data/train.csv"})
        self.assertEqual(out, "a,b\n")

    def test_numbers_of_any_size_arrive_and_what_is_no_description_is_told(self):
        est = Estimator(command="echo $PAI_USER_ARGS", hyperparameters={"seed": 2**64, "big": -10**40, "n": 2**63}, session=self.session)
        _, out = self.fit(est)
        self.assertEqual(out, f"--seed {2**64} --big {-10**40} --n {2**63}\n")
        for bad, text in (({"command": 5}, "command: a text or a list"), ({"instance_count": 0}, "instance_count: a number from 1 on"),
                          ({"metric_definitions": {"a": "b"}}, "metric_definitions: a list of"), ({"instance_count": True}, "from 1 on"),
                          ({"hyperparameters": [1]}, "hyperparameters: a dict is wanted, not list")):
            with self.assertRaisesRegex(trainyard.ConfigError, text):
                Estimator(**{"command": "true", **bad})
        os.makedirs("algorithms/boost/v1")
        with self.assertRaisesRegex(trainyard.ConfigError, "algorithms/boost/v1/algorithm.json cannot be read"):
            AlgorithmEstimator("boost", "v1", registry="algorithms", session=self.session)
        for inputs in (["x"], "x"):
            with self.assertRaisesRegex(trainyard.ConfigError, "inputs: a dict of channels"):
                est.fit(inputs=inputs)
        for bad in ({"command": "echo a\0; echo b"}, {"command": "true", "hyperparameters": {"a\0": 1}}):
            with self.assertRaisesRegex(trainyard.UsageError, "holds a NUL character"):
                Estimator(session=self.session, **bad).fit()

    def test_a_failed_job_raises_with_the_reason_and_its_last_lines(self):
        est = Estimator(command="echo going down; exit 3", session=self.session)
        with self.assertRaises(UnexpectedStatusException) as caught:
            self.fit(est, job_name="doomed")
        self.assertEqual(caught.exception.status, "Failed")
        for text in ("doomed", "exit status 3", "going down"):
            self.assertIn(text, str(caught.exception))
        self.assertEqual(est.latest_job.reason_code, "UserExit")

    def test_a_job_can_be_left_found_again_followed_and_stopped(self):
        est = Estimator(command="echo first; sleep 600", session=self.session, grace="1s")
        job = est.fit(wait=False)
        again = TrainingJob.get(job.id, session=self.session)
        lines = again.logs(follow=True)
        self.assertEqual(next(lines), "first")
        lines.close()
        self.assertIn(job.id, [j.id for j in TrainingJob.list(status="Running", session=self.session)])
        again.stop()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            again.wait(show_logs=False)
        self.assertIn("was stopped", said.getvalue())
        self.assertEqual(again.status, "Terminated")

    def test_waiting_can_end_before_the_job(self):
        job = Estimator(command="sleep 600", session=self.session, grace="1s").fit(wait=False)
        for show in (False, True):
            with self.assertRaisesRegex(JobError, "after 0.2 s"):
                job.wait(show_logs=show, timeout=0.2)
        job.stop()

    def test_errors_have_a_class_a_code_and_a_place(self):
        with self.assertRaises(trainyard.ConfigError) as caught:
            Estimator(command="true", session=self.session, cpu="x").fit()
        self.assertEqual(caught.exception.code, "E0211")
        with self.assertRaises(JobError) as caught:
            TrainingJob.get("jb-doesnotexist", session=self.session)
        self.assertEqual(caught.exception.code, "E3103")
        with self.assertRaises(JobError):
            TrainingJob("--server=http://elsewhere")

    def test_mistakes_are_told_before_anything_is_submitted(self):
        before = len(TrainingJob.list(session=self.session))
        table = type("DataFrame", (), {"columns": ["a"]})()
        for call, text in ((lambda: self.estimator(metric_definitions=[{"name": "a"}]), "has no 'Name'"),
                           (lambda: self.estimator().fit(inputs={"train": table}), "not DataFrame: write the data to a file"),
                           (lambda: self.estimator(instnce_type="local").fit(), "job:"),
                           (lambda: self.estimator(source_dir="nowhere").fit(), "there is no directory 'nowhere'"),
                           (lambda: self.estimator().fit(inputs={"train": "nowhere.csv"}), "nowhere.csv")):
            with self.assertRaises(trainyard.TrainyardError) as caught:
                call()
            self.assertIn(text, str(caught.exception))
            self.assertNotIn("/tmp/trainyard-", str(caught.exception))
        self.assertEqual(len(TrainingJob.list(session=self.session)), before)

    def test_hyperparameters_may_be_of_any_type(self):
        number = type("float32", (), {"item": lambda self: 0.5})()
        est = Estimator(command='echo "$PAI_HPS"', session=self.session, hyperparameters={"a": [1, 2], "n": number, "t": True, "z": None})
        _, out = self.fit(est)
        self.assertEqual(json.loads(out), {"a": "[1, 2]", "n": "0.5", "t": "True", "z": "None"})

    def test_an_interrupt_leaves_the_job_and_says_how_to_come_back(self):
        est = Estimator(command="echo first; sleep 600", session=self.session, grace="1s")
        job = est.fit(wait=False)
        self.assertEqual(next(job.logs(follow=True)), "first")
        # whoever starts the tests in the background may have had it ignored
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
            with self.assertRaises(KeyboardInterrupt):
                job.wait()
        self.assertIn(f"come back with TrainingJob.get({job.id!r}).wait()", said.getvalue())
        self.assertEqual(job.state, "Running")
        job.stop()

    @unittest.skipUnless(importlib.util.find_spec("tensorboard"), "tensorboard is not installed")
    def test_tensorboard_shows_the_logs_of_the_latest_job(self):
        est = Estimator(command='echo 1 >"$PAI_OUTPUT_TENSORBOARD/events"', session=self.session)
        self.fit(est)
        board = est.tensorboard()
        try:
            with urllib.request.urlopen(board.app_uri + "data/environment") as answer:
                self.assertIn("data_location", json.load(answer))
            self.assertEqual(board.status, "Running")
            self.assertIn(board.app_uri, board._repr_html_())
        finally:
            board.delete()
        self.assertEqual(board.status, "Stopped")

    def test_a_processor_names_its_outputs(self):
        p = Processor(command='echo "$PAI_USER_ARGS" >"$PAI_OUTPUT_RESULT/x"', parameters={"n": 2}, session=self.session)
        with contextlib.redirect_stdout(io.StringIO()):
            job = p.run(outputs=self.outputs())
        self.assertEqual(job.outputs("result")[0]["path"], "x")


class OnThisMachine(Jobs, Case):
    """Without a server."""

    def setUp(self):
        super().setUp()
        self.session = Session()

    def outputs(self):
        return {"result": "result"}

    def test_the_source_of_a_job_may_be_a_git_repository(self):
        self.write("repo/code/run.sh", "echo from git")
        git = ["git", "-C", "repo", "-c", "user.name=a", "-c", "user.email=a@b"]
        for args in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "x"]):
            subprocess.run(git + args, check=True)
        config = {"repo": os.path.abspath("repo"), "branch": "main"}
        _, out = self.fit(Estimator(command="sh run.sh", source_dir="code", git_config=config, session=self.session))
        self.assertEqual(out, "from git\n")
        for bad, text in (({"repo": "none", "branch": "main"}, "none"), ({**config, "branch": "other"}, "other"), ({}, "'repo'"),
                          ({**config, "repository": "x"}, "no 'repository'")):
            with self.assertRaises(trainyard.ConfigError) as caught:
                self.fit(Estimator(command="true", git_config=bad or {"branch": "x"}, session=self.session))
            self.assertIn(text, str(caught.exception))
        with self.assertRaises(trainyard.ConfigError):
            self.fit(Estimator(command="true", source_dir="../..", git_config=config, session=self.session))

    def test_an_instance_type_larger_than_the_machine_warns_and_runs(self):
        est = Estimator(command="true", instance_type="ecs.c6.64xlarge", session=self.session)
        with self.assertWarnsRegex(UserWarning, "larger than this machine"):
            self.assertTrue(self.fit(est)[0].is_succeeded())
        with self.assertRaises(trainyard.ConfigError):
            Estimator(command="true", instance_type="huge", session=self.session).fit()

    def test_arguments_of_the_cloud_say_that_they_have_no_effect(self):
        with self.assertWarnsRegex(UserWarning, "user_vpc_config concerns PAI's cloud; it has no effect here"):
            Estimator(command="true", user_vpc_config=object())

    def test_an_algorithm_comes_out_of_a_directory(self):
        about = {"Command": "sh run.sh", "HyperParameters": [{"Name": "depth", "Type": "Int", "DefaultValue": "3"},
                                                              {"Name": "data", "Type": "Int", "Required": True}],
                 "InputChannels": [{"Name": "train", "Required": True}, {"Name": "extra"}, {"Name": "items", "Required": True}],
                 "OutputChannels": [{"Name": "model"}], "SupportedInstanceTypes": ["local"]}
        for version in ("v1", "v2"):
            self.write(f"algorithms/boost/{version}/algorithm.json", json.dumps(about))
            self.write(f"algorithms/boost/{version}/run.sh", f'echo {version} $PAI_USER_ARGS >"$PAI_OUTPUT_MODEL/said"')
        with self.assertWarnsRegex(UserWarning, "no version given, 'v2' is taken"):
            est = AlgorithmEstimator("boost", hyperparameters={"data": 1}, registry="algorithms", session=self.session)
        for inputs, text in ((None, "requires the input channels 'train', 'items'$"),
                             ({"train": "algorithms"}, "requires the input channel 'items'$")):
            with self.assertRaisesRegex(trainyard.ConfigError, text):
                est.fit(inputs=inputs)
        self.assertEqual(est.jobs, [])
        with self.assertWarnsRegex(UserWarning, "does not define the input channel 'other'"):
            self.fit(est, inputs={"train": "algorithms", "items": "algorithms", "other": "algorithms"})
        with open(os.path.join(est.get_outputs_data()["model"], "said"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "v2 --depth 3 --data 1\n")
        self.assertEqual((est.supported_instance_types, len(est.hyperparameter_definitions)), (["local"], 2))
        for bad, text in (({"algorithm_name": "boots"}, "there is no algorithm 'boots'"), ({}, "algorithm_name or algorithm_spec"),
                          ({"algorithm_name": "boost", "algorithm_version": "v2"}, "'data' is required")):
            with self.assertRaises(trainyard.ConfigError) as caught:
                AlgorithmEstimator(registry="algorithms", **bad)
            self.assertIn(text, str(caught.exception))

    @unittest.skipUnless(importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"), "nbclient is not installed")
    def test_a_notebook_shows_a_job_while_it_runs(self):
        import nbclient
        import nbformat
        lines = "for auc in 0.5 0.6 0.7 0.8; do echo auc=$auc; sleep 1.1; done"
        code = ("import trainyard\n"
                f"est = trainyard.Estimator(command={lines!r}, metric_definitions=[{{'Name': 'auc', 'Regex': r'auc=([0-9.]+)'}}])\n"
                "job = est.fit(show_logs=%s)")
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code % show) for show in (True, False)])
        updates = []

        class Client(nbclient.NotebookClient):
            def process_message(self, msg, cell, index):
                if msg["msg_type"] == "update_display_data":
                    updates.append((index, msg["content"]["data"]["text/html"]))
                return super().process_message(msg, cell, index)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.environ.update(JUPYTER_PLATFORM_DIRS="1", PYTHONWARNINGS="ignore")
            Client(book, timeout=60, kernel_name="python3", resources={"metadata": {"path": self.place}}).execute()
        for index in (0, 1):
            shown = [html for at, html in updates if at == index]
            self.assertGreater(len([html for html in shown if "Running" in html]), 1, "it changes while the job runs")
            self.assertIn("Succeeded", shown[-1])
            self.assertIn("<polyline", shown[-1])
            tables = [o for o in book.cells[index].outputs if "text/html" in o.get("data", {})]
            self.assertIn("Succeeded", tables[0]["data"]["text/html"], "one output, which has changed")
        self.assertIn("auc=0.8", "".join(o.text for o in book.cells[0].outputs if o.output_type == "stream"))

    def test_output_path_is_where_the_model_goes(self):
        est = self.estimator(output_path="models", base_job_name="my job")
        self.fit(est)
        self.assertRegex(est.model_data(), "/models/my_job_[0-9_]*_[a-z0-9]{6}/model/$")
        self.assertTrue(os.path.exists(os.path.join(est.model_data(), "model.txt")))

    def test_a_notebook_shows_text_never_markup(self):
        job, _ = self.fit(Estimator(command="true", labels={"a": "b"}, session=self.session))
        self.assertIn("Succeeded", job._repr_html_())
        job, _ = self.fit(self.estimator(), show_logs=False)
        self.assertIn("<polyline", job._repr_html_())
        self.assertEqual(repr(job.plot("auc")), "auc: 0.5, 0.75")
        from trainyard import _display
        html = _display.job_html({"id": "x", "name": "<img src=x onerror=alert(1)>", "state": "<b>", "reason": "", "metrics": {}})
        self.assertNotIn("<img", html)
        self.assertNotIn("<b>", html)


class AtAServer(Jobs, Case):
    """Through HTTP, with a token."""

    def setUp(self):
        super().setUp()
        self.server = self.start()
        os.environ["TRAINYARD_TOKEN"] = self.server.token
        self.session = Session(server=self.server.url)

    def start(self):
        return Server(self.place)

    def test_a_token_with_the_end_of_its_line_is_one_and_secrets_are_not_repeated(self):
        os.environ["TRAINYARD_TOKEN"] = self.server.token + "\n"
        self.assertEqual(TrainingJob.list(session=self.session), [])
        os.environ["TRAINYARD_TOKEN"] = "secret\nX-More: y"
        with self.assertRaisesRegex(trainyard.ServerError, "TRAINYARD_TOKEN holds a blank or a control character") as caught:
            TrainingJob.list(session=self.session)
        self.assertNotIn("secret", str(caught.exception))
        os.environ["TRAINYARD_TOKEN"] = self.server.token
        for url, text in ((self.server.url.replace("://", "://u:pw@"), "names a user or a password"),
                          (self.server.url + "\r\nX: y", "holds a blank or a control character")):
            with self.assertRaisesRegex(trainyard.ServerError, text) as caught:
                TrainingJob.list(session=Session(server=url))
            self.assertNotIn("pw", str(caught.exception))

    def tearDown(self):
        self.server.stop()
        super().tearDown()

    def outputs(self):
        return {"result": None}

    def test_a_wrong_token_is_a_server_error(self):
        os.environ["TRAINYARD_TOKEN"] = "x" * 40
        with self.assertRaises(trainyard.ServerError):
            TrainingJob.list(session=self.session)
        del os.environ["TRAINYARD_TOKEN"]
        with self.assertRaises(trainyard.ServerError) as caught:
            Estimator(command="true", session=self.session).fit()
        self.assertRegex(caught.exception.code, "^E5")

    def test_a_server_that_is_down_is_a_server_error_at_once(self):
        self.server.stop()
        with self.assertRaises(trainyard.ServerError) as caught:
            Estimator(command="true", session=self.server.url).fit()
        self.assertIn(self.server.url.split("//")[1], str(caught.exception))
        self.assertTrue(caught.exception.code)


class AtAServerOnPostgres(AtAServer):
    """The same with PostgreSQL behind the server."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.database = Postgres()

    @classmethod
    def tearDownClass(cls):
        cls.database.stop()
        super().tearDownClass()

    def start(self):
        return Server(self.place, self.database.fresh())


def load_tests(loader, tests, pattern):
    warnings.simplefilter("default")
    return load_doctests(tests, ["trainyard", "trainyard.errors", "trainyard.session", "trainyard.profiles", "trainyard._display"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
