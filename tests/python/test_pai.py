# SPDX-License-Identifier: Apache-2.0
"""Scripts of PAI's SDK run with one import more, or none."""
import os
import subprocess
import sys
import unittest

from place import Case

SUBMIT = """
from pai.estimator import Estimator
from pai.session import setup_default_session

setup_default_session(access_key_id="x", access_key_secret="y", region_id="cn-hangzhou", workspace_id="1")
est = Estimator(
    command="python3 train.py $PAI_USER_ARGS",
    source_dir="src",
    image_uri={image!r},
    instance_type="ecs.c6.large",
    hyperparameters={{"batch_size": 32, "learning_rate": 0.01, "training_method": "lora"}},
)
job = est.fit(inputs={{"train": "data/train.csv", "test": "data/"}})
print("model:", est.model_data())
print("status:", job.status, est.latest_job.training_job_name[:9])
"""
TRAIN = """
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int)
parser.add_argument("--learning_rate", type=float)
parser.add_argument("--training_method")
args = parser.parse_args()
print(args.batch_size, args.learning_rate, args.training_method)
print(sorted(json.load(open(os.path.join(os.environ["PAI_CONFIG_DIR"], "hyperparameters.json"))).items()))
print(open(os.environ["PAI_INPUT_TRAIN"]).read(), os.path.isdir(os.environ["PAI_INPUT_TEST"]))
open(os.path.join(os.environ["PAI_OUTPUT_MODEL"], "model.pth"), "w").close()
"""


class Scripts(Case):
    """As users have them."""

    def run_script(self, text, *args):
        self.write("submit_job.py", text)
        self.write("src/train.py", TRAIN)
        self.write("data/train.csv", "1,2")
        return subprocess.run([sys.executable, *args, "submit_job.py"], capture_output=True, text=True, check=False)

    def test_a_script_runs_as_it_is(self):
        done = self.run_script(SUBMIT.format(image=None), "-m", "trainyard.compat.pai")
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in ("32 0.01 lora", "[('batch_size', '32'), ('learning_rate', '0.01'), ('training_method', 'lora')]", "1,2 True",
                     "status: Succeed estimator"):
            self.assertIn(line, done.stdout)
        model = done.stdout.split("model: ")[1].split("\n")[0]
        self.assertEqual(os.listdir(model), ["model.pth"])

    def test_a_script_runs_with_one_line_more(self):
        done = self.run_script("import trainyard.compat.pai; trainyard.compat.pai.install()\n" + SUBMIT.format(image=None))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_only_the_cloud_has_says_so(self):
        done = self.run_script("from pai.image import retrieve\nretrieve('PyTorch', 'latest')", "-m", "trainyard.compat.pai")
        self.assertIn("images of PyTorch are in PAI's registries; give image_uri an image that this machine can pull", done.stderr)
        done = self.run_script("from pai.model import Model\nModel('x').deploy()", "-m", "trainyard.compat.pai")
        self.assertIn("is part of PAI's cloud; there is nothing like it here", done.stderr)

    def test_a_real_pai_is_not_replaced(self):
        self.write("site/pai/__init__.py", "")
        os.environ["PYTHONPATH"] = "site:" + os.environ["PYTHONPATH"]
        done = self.run_script("print('ran')", "-m", "trainyard.compat.pai")
        self.assertIn("a package 'pai' is installed already; it is not replaced", done.stderr)
        self.assertNotIn("ran", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
