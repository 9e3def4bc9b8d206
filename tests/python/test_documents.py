# SPDX-License-Identifier: Apache-2.0
"""The code of two public documents, block by block as it is printed: PAI's page on training code, NNI's on PAI-DLC.

They are not ours to hand on: DOCUMENTS names a directory with them (../shared/seeds unless given). What a block leaves out or
misprints is added in front of it or replaced here, in the open; what only the cloud has (its endpoints) is replaced by a directory.
"""
import contextlib
import glob
import importlib.util
import io
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import time
import unittest

from place import PROGRAM, SOURCE, Case, trainyard

DOCUMENTS = os.environ.get("DOCUMENTS", os.path.join(SOURCE, "../shared/seeds"))


def blocks(number):
    """(language, text) of the code blocks of a document."""
    found = glob.glob(os.path.join(DOCUMENTS, f"{number}_*.txt"))
    if not found:
        raise unittest.SkipTest(f"the document is not in {DOCUMENTS}")
    with open(found[0], encoding="utf-8") as f:
        made, lines = [], f.read().split("\n")
    at = 0
    while at < len(lines):
        match = re.match(r"^( *)\.\. code-block:: (\w+)", lines[at])
        at += 1
        if match:
            body = []
            while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > len(match[1])):
                body.append(lines[at])
                at += 1
            text = textwrap.dedent("\n".join(body)).strip("\n")
            while re.match(r"^:\w[\w-]*:", text):  # options of the block
                text = text.partition("\n")[2].lstrip("\n")
            made.append((match[2], text))
    return made


TRANSFORMERS = """
class Trainer:
    def __init__(self, model):
        self.model = model

    def train(self):
        pass

    def save_model(self, output_dir):
        open(output_dir + "/saved", "w").close()
"""


class TrainingCode(Case):
    """PAI's page: how training code gets hyperparameters and data, and leaves its model."""

    def setUp(self):
        super().setUp()
        self.blocks = blocks("004")
        self.code = "<YourTrainingCodeDir>"
        trainyard.setup_default_session(server="local", profiles={name: {"image": "ignore"} for name in ("", "ecs.c6.xlarge")})
        from trainyard.compat import pai
        for name in [n for n in sys.modules if n == "pai" or n.startswith("pai.")]:
            del sys.modules[name]
        pai.install()
        self.addCleanup(lambda: [sys.modules.pop(n) for n in list(sys.modules) if n == "pai" or n.startswith("pai.")])
        os.environ["PATH"] = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]

    def block(self, part, language="python"):
        found = [text for kind, text in self.blocks if kind == language and part in text]
        self.assertEqual(len(found), 1, f"{part!r} is in {len(found)} blocks")
        return found[0]

    def execute(self, text, **names):
        from pai.estimator import Estimator
        names.setdefault("Estimator", Estimator)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, "document", "exec"), names)
        return names, out.getvalue()

    def fit(self, est, **inputs):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            est.fit(**inputs)
        return out.getvalue()

    def test_there_are_as_many_blocks_as_are_tested(self):
        self.assertEqual([kind for kind, _ in self.blocks].count("python"), 8)
        self.assertEqual(len(self.blocks), 15)

    def test_hyperparameters_are_read_from_the_file(self):
        self.write(f"{self.code}/train.py", "import json\n" + self.block("hp_path ="))  # json is not imported there
        names, _ = self.execute(self.block("# 训练作业超参\n"))
        out = self.fit(names["est"])
        printed = json.loads(self.block("learning-rate", "json"))
        printed["learning_rate"] = printed.pop("learning-rate")  # a misprint: names are kept
        self.assertIn(str(printed), out)

    def test_hyperparameters_are_read_with_argparse(self):
        self.write("code/train.py", self.block("import argparse"))
        names, _ = self.execute(self.block("$PAI_USER_ARGS"))
        names["est"].source_dir = "code"  # the block has none
        self.assertEqual(self.fit(names["est"]).split(), ["32", "0.01", "lora"])

    def test_inputs_are_given_to_fit(self):
        self.write("bucket/train/data/train.csv", "1,2\n")
        self.write("bucket/test/data/test.csv", "3,4\n")
        text = self.block("estimator.fit(\n").replace("oss://<YourOssBucket>", os.path.abspath("bucket"))
        est = trainyard.Estimator(command='cat "$PAI_INPUT_TRAIN" "$PAI_INPUT_TEST/test.csv"; echo "$PAI_INPUT_TRAIN $PAI_INPUT_TEST"')
        _, out = self.execute(text, estimator=est)
        self.assertIn("1,2\n3,4\n", out)
        self.assertIn("/ml/input/data/train/train.csv", out)
        self.assertRegex(out, r"/ml/input/data/test/\n")

    def test_the_path_of_the_model_is_printed(self):
        self.write(f"{self.code}/train.py", "import os\nopen(os.environ['PAI_OUTPUT_MODEL'] + '/a', 'w').close()")
        _, out = self.execute(self.block("from pai.estimator import Estimator"))
        self.assertEqual(os.listdir(out.strip().splitlines()[-1]), ["a"])

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_a_model_of_pytorch_is_saved(self):
        printed = self.block("class ToyModel")
        with self.assertRaises(SyntaxError):
            compile(printed, "document", "exec")
        text = printed.replace("def __init__\n", "def main():\n")  # a misprint
        text += "\n\ndef train(model):\n    pass\n\n\nmain()\n"
        self.write("code/train.py", text)
        est = trainyard.Estimator(command="python train.py", source_dir="code")
        self.fit(est)
        import torch
        state = torch.load(os.path.join(est.model_data(), "model.pth"))
        self.assertEqual(sorted(state), ["net1.bias", "net1.weight", "net2.bias", "net2.weight"])

    def test_a_trainer_saves_where_the_page_says(self):
        self.write("code/transformers.py", TRANSFORMERS)
        self.write("code/train.py", "model = None\n" + self.block("from transformers import Trainer"))
        est = trainyard.Estimator(command="python train.py", source_dir="code")
        self.fit(est)
        self.assertEqual(os.listdir(est.model_data()), ["saved"])

    def environment(self, hyperparameters, **inputs):
        est = trainyard.Estimator(command="env", hyperparameters=hyperparameters)
        return set(self.fit(est, **inputs).splitlines())

    def test_the_environment_is_as_printed(self):
        env = self.environment({"epochs": 10, "batch-size": 32, "train.learning_rate": 0.001})
        for line in self.block("PAI_HPS_EPOCHS", "shell").splitlines():
            self.assertIn(line, env)
        env = self.environment({"epochs": 10, "batch-size": 32, "learning-rate": 0.001})
        self.assertIn(self.block("PAI_USER_ARGS=", "shell").replace('"', ""), env)
        printed = self.block("PAI_HPS=", "shell").partition("=")[2]
        env = self.environment({"epochs": 10, "batch-size": 32})
        found = next(line for line in env if line.startswith("PAI_HPS=")).partition("=")[2]
        self.assertEqual(json.loads(found), {k: str(v) for k, v in json.loads(printed).items()})  # texts, as in the file
        self.write("data/train/a", "")
        self.write("data/test.csv", "")
        env = self.environment({}, inputs={"train": "data/train/", "test": "data/test.csv"})
        for line in (self.block("PAI_INPUT_TRAIN", "shell") + "\n" + self.block("PAI_OUTPUT_MODEL", "shell")).splitlines():
            self.assertIn(line, env)

    def test_the_tree_is_as_printed(self):
        self.block("|-- usercode", "shell")
        self.write("code/train.py", "")
        self.write("train.csv", "")
        self.write("test.csv", "")
        est = trainyard.Estimator(command="find /ml | sort", source_dir="code")
        out = self.fit(est, inputs={"train_data": "train.csv", "test_data": "test.csv"}).split()
        for path in ("usercode/train.py", "input/config/hyperparameters.json", "input/data/test_data/test.csv",
                     "input/data/train_data/train.csv", "output/model", "output/checkpoints", "output/logs"):
            self.assertIn("/ml/" + path, out)


MNIST = """
import argparse, os
import nni
parser = argparse.ArgumentParser()
parser.add_argument("--data_dir")
data_dir = parser.parse_args().data_dir
assert data_dir.endswith("/mnist"), data_dir  # what the container would have is where it is here
params = nni.get_next_parameter()
nni.report_intermediate_result(params["lr"])
nni.report_final_result(-abs(params["lr"] - 0.01))
"""


class TrainingService(Case):
    """NNI's page on PAI-DLC: an experiment file and the command that starts it."""

    def test_the_experiment_of_the_page_runs(self):
        printed = blocks("003")
        self.assertEqual([kind for kind, _ in printed], ["bash", "yaml", "bash"])
        config = next(text for kind, text in printed if kind == "yaml")
        os.makedirs("bin")
        os.symlink(PROGRAM, "bin/nnictl")
        os.makedirs("nni/examples/trials/mnist-pytorch")
        os.chdir("nni/examples/trials/mnist-pytorch")
        # Where things are on this machine; the image is in the cloud's registry.
        config = config.replace("/home/admin/workspace/{your_working_dir}", os.path.join(self.place, "work"))
        config = config.replace("{your_data_dir}", "mnist").replace("localStorageMountPoint: /home/admin/workspace/",
                                                                    f"localStorageMountPoint: {self.place}/")
        config = re.sub(r"\$\{(\w+)\}", r"\1", config)
        self.write("config_dlc.yml", config)
        self.write("search_space.json", '{"lr": {"_type": "loguniform", "_value": [0.001, 0.1]}}')
        self.write("mnist.py", MNIST)
        command = next(line for line in printed[2][1].splitlines() if line.startswith("nnictl create"))
        asked = [sys.executable, "-m", "trainyard.compat.nni", "--path"]
        shim = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        env = {**os.environ, "PATH": f"{self.place}/bin:{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
               "PYTHONPATH": os.pathsep.join(p for p in (shim, os.environ.get("PYTHONPATH")) if p)}
        done = subprocess.run(shlex.split(command), env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.finished(env)

    def finished(self, env):
        subprocess.run(["nnictl", "--version"], env=env, check=True, capture_output=True)
        found = json.loads(subprocess.run([PROGRAM, "tune", "list", "--json"], env=env, check=True, capture_output=True, text=True).stdout)
        self.assertEqual(len(found), 1)
        e = trainyard.tune.Experiment.load(found[0]["id"])
        for _ in range(120):
            if e.get_status() in ("DONE", "ERROR", "STOPPED"):
                break
            time.sleep(0.5)
        self.assertEqual((e.get_status(), e.describe()["trials"]["SUCCEEDED"]), ("DONE", 10), e.describe())


if __name__ == "__main__":
    unittest.main(verbosity=2)
