# SPDX-License-Identifier: Apache-2.0
"""Jobs from Python: the same cases on this machine and at a server."""
import contextlib
import io
import os
import subprocess
import unittest
import warnings

from place import Case, Server, load_doctests, trainyard
from trainyard import Estimator, JobError, Processor, Session, TrainingJob, UnexpectedStatusException

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

    def test_inputs_are_where_the_contract_says(self):
        self.write("data/train.csv", "a,b\n")
        est = Estimator(command='cat "$PAI_INPUT_TRAIN"', session=self.session)
        _, out = self.fit(est, inputs={"train": "data/train.csv"})
        self.assertEqual(out, "a,b\n")

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
        with self.assertRaises(JobError):
            job.wait(show_logs=False, timeout=0.2)
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

    def test_output_path_is_where_the_model_goes(self):
        est = self.estimator(output_path="models", base_job_name="my job")
        self.fit(est)
        self.assertRegex(est.model_data(), "/models/my_job_[0-9_]*_[a-z0-9]{6}/model/$")
        self.assertTrue(os.path.exists(os.path.join(est.model_data(), "model.txt")))

    def test_a_notebook_shows_text_never_markup(self):
        job, _ = self.fit(Estimator(command="true", labels={"a": "b"}, session=self.session))
        self.assertIn("Succeeded", job._repr_html_())
        from trainyard import _display
        html = _display.job_html({"id": "x", "name": "<img src=x onerror=alert(1)>", "state": "<b>", "reason": "", "metrics": {}})
        self.assertNotIn("<img", html)
        self.assertNotIn("<b>", html)


class AtAServer(Jobs, Case):
    """Through HTTP, with a token."""

    def setUp(self):
        super().setUp()
        self.server = Server(self.place)
        os.environ["TRAINYARD_TOKEN"] = self.server.token
        self.session = Session(server=self.server.url)

    def tearDown(self):
        self.server.stop()
        super().tearDown()

    def outputs(self):
        return {"result": None}

    def test_a_wrong_token_is_a_server_error(self):
        os.environ["TRAINYARD_TOKEN"] = "x" * 40
        with self.assertRaises(trainyard.ServerError):
            TrainingJob.list(session=self.session)


def load_tests(loader, tests, pattern):
    warnings.simplefilter("default")
    return load_doctests(tests, ["trainyard", "trainyard.errors", "trainyard.session", "trainyard.profiles", "trainyard._display"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
