# SPDX-License-Identifier: Apache-2.0
"""Experiments of the real NNI, taken over; for an environment that has it."""
import importlib.util
import json
import os
import socket
import subprocess
import sys
import unittest

from place import Case, trainyard
from trainyard import tune

RUN = """
import sys, time
from nni.experiment import Experiment
e = Experiment("local")
e.config.experiment_working_directory = sys.argv[1]
e.config.trial_command = sys.executable + " trial.py"
e.config.trial_code_directory = "."
e.config.search_space = {"x": {"_type": "uniform", "_value": [0, 2]}, "n": {"_type": "randint", "_value": [0, 3]},
                         "k": {"_type": "choice", "_value": ["a", "b"]}}
e.config.tuner.name = "TPE"
e.config.tuner.class_args = {"optimize_mode": "minimize"}
e.config.max_trial_number = 3
e.config.trial_concurrency = 2
e.start(int(sys.argv[2]))
for _ in range(120):
    if e.get_status() in ("DONE", "ERROR"):
        break
    time.sleep(0.5)
print("ended", e.get_status(), e.id)
e.stop()
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@unittest.skipUnless(importlib.util.find_spec("nni"), "nni is not installed")
class Experiments(Case):
    """Made by NNI, and made for it."""

    def test_a_study_goes_on_where_nni_was_and_back(self):
        self.write("trial.py", "import nni\np = nni.get_next_parameter()\nnni.report_intermediate_result(p['x'])\n"
                   "nni.report_final_result((p['x'] - 1) ** 2 + p['n'])\n")
        self.write("run.py", RUN)
        done = subprocess.run([sys.executable, "run.py", self.place, str(free_port())], capture_output=True, text=True,
                              check=False, timeout=120)
        self.assertIn("ended DONE", done.stdout, done.stderr)
        name = done.stdout.split("ended DONE ")[1].split()[0]
        with tune.Study.from_nni(os.path.join(self.place, name)) as study:
            self.assertEqual((len(study.imported), study.maximize, study.space["n"]), (3, False, {"_type": "randint", "_value": [0, 3]}))
            for trial in study.imported:
                self.assertAlmostEqual(trial.value, (trial.params["x"] - 1) ** 2 + trial.params["n"])
            study.optimize(lambda p: (p["x"] - 1) ** 2 + p["n"], 5)
            rows = study.to_nni("rows.json")
        from nni.algorithms.hpo.tpe_tuner import TpeTuner
        tuner = TpeTuner(optimize_mode="minimize")
        tuner.update_search_space(study.space)
        with open("rows.json", encoding="utf-8") as f:
            tuner.import_data(json.load(f))
        self.assertEqual(len(rows), 8)
        self.assertEqual(sorted(tuner.generate_parameters(0)), ["k", "n", "x"])
        with self.assertRaises(trainyard.TuneError):
            tune.Study.from_nni("nowhere")
        self.write("odd.sqlite", "no database")
        with self.assertRaises(trainyard.TuneError):
            tune.Study.from_nni("odd.sqlite")


if __name__ == "__main__":
    unittest.main(verbosity=2)
