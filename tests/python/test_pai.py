# SPDX-License-Identifier: Apache-2.0
"""Scripts of PAI's SDK run with one import more, or none."""
import os
import subprocess
import sys
import unittest

from place import Case, load_doctests, trainyard

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


EXAMPLE = """
import os
from pai.common.oss_utils import download, upload
from pai.common.utils import random_str
from pai.estimator import Estimator, FileSystemInput
from pai.experiment import Experiment
from pai.image import retrieve
from pai.job import ExperimentConfig, InstanceSpec, UserVpcConfig
from pai.model import InferenceSpec, container_serving_spec
from pai.processor import Processor
from pai.session import get_default_session

image_uri = retrieve("PyTorch", framework_version="latest").image_uri
experiment = Experiment.create(artifact_uri="artifacts/", name=f"try_{random_str(6)}")
assert Experiment.get_by_name(experiment.name).experiment_id == experiment.experiment_id

# Data is made by a processing job, from an uploaded file.
processor = Processor(
    image_uri=image_uri,
    source_dir=upload(source_path="src/", oss_path="path/for/code/"),
    command="python3 prepare.py",
    parameters={"interval": 500},
    instance_type="ecs.c6.large",
    base_job_name="example_processing_job",
)
processor.run(inputs={"raw": upload("data/raw.csv", oss_path="data/")}, outputs={"flag": os.path.abspath("made/")})
download(oss_path=processor.get_outputs_data()["flag"], local_path="./outputs/")
print("prepared", sorted(os.listdir("outputs")))

est = Estimator(
    image_uri=image_uri,
    command="python3 train.py $PAI_USER_ARGS",
    source_dir="./src/",
    instance_spec=InstanceSpec(cpu="1", memory="1", gpu="0"),
    hyperparameters={"n_estimators": 500, "objective": "reg:squarederror"},
    metric_definitions=[{"Name": "loss", "Regex": r"loss=([0-9.]+)"}],
    experiment_config=ExperimentConfig(experiment_id=experiment.experiment_id),
    base_job_name="example_train_job",
)
est.fit(inputs={"train": FileSystemInput("0a1b", os.path.abspath("made/"))}, wait=False)
est.wait(show_logs=False)
print("model", sorted(os.listdir(est.model_data())), est.model_data().startswith(experiment.artifact_uri))
print("logs", os.listdir(est.tensorboard_data()), est.tensorboard_data().startswith(experiment.tensorboard_data()))
est.create_model(InferenceSpec(processor="xgboost")).download("./model/")
print("copied", os.listdir("model"), len(est.latest_job.metrics("loss")))
spec = container_serving_spec(command="python serve.py", image_uri=image_uri, source_dir="./src/")
spec.metadata.rpc.keepalive = 1000
print("spec", spec.to_dict()["metadata"], get_default_session().get_storage_path_by_category("train_data", "a"))
experiment.delete()
print("left", [e.name for e in Experiment.list()])
"""
PREPARE = """
import os
with open(os.environ["PAI_INPUT_RAW"]) as f, open(os.environ["PAI_OUTPUT_FLAG"] + "/rows.csv", "w") as out:
    out.write(f.read() + os.environ["PAI_HPS_INTERVAL"])
"""
FITTED = """
import os, sys
print(sys.argv[1:], open(os.environ["PAI_INPUT_TRAIN"] + "/rows.csv").read())
print("loss=0.25")
open(os.environ["PAI_OUTPUT_MODEL"] + "/model.json", "w").close()
open(os.environ["PAI_OUTPUT_TENSORBOARD"] + "/events", "w").close()
"""


def installed(case):
    """The package `pai` in this process, until the case ends."""
    from trainyard.compat import pai
    case.addCleanup(lambda: [sys.modules.pop(n) for n in list(sys.modules) if n == "pai" or n.startswith("pai.")])
    pai.install()
    return sys.modules["pai"]


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
        for code, said in (("from pai.model import Model\nModel('x').deploy()", "is part of PAI's cloud; there is nothing like it here"),
                           ("from pai.pipeline import Pipeline\nPipeline(steps=[])", "pai.pipeline.Pipeline is part of PAI's cloud"),
                           ("from pai.model import RegisteredModel\nRegisteredModel('bert')", "RegisteredModel is part of PAI's cloud"),
                           ("from pai.session import get_default_session as s\ns().oss_bucket.put_object('a', 'b')",
                            "oss_bucket.put_object is part of PAI's cloud; jobs here read and write files")):
            done = self.run_script(code, "-m", "trainyard.compat.pai")
            self.assertIn(said, done.stderr)
            self.assertNotEqual(done.returncode, 0)

    def test_an_image_of_the_cloud_is_one_that_the_session_names_or_none(self):
        pai = installed(self)
        with self.assertWarnsRegex(UserWarning, "images of PyTorch are in PAI's registries: the job runs without a container"):
            self.assertEqual(pai.image.retrieve("PyTorch", "latest", accelerator_type="GPU").image_uri, "")
        pai.session.setup_default_session(images={"PyTorch": "local/torch:2", "pytorch:1.12:GPU": "local/torch:1"})
        self.assertEqual(pai.image.retrieve("pytorch", "latest").image_uri, "local/torch:2")
        self.assertEqual(pai.image.retrieve("PyTorch", "1.12", accelerator_type="GPU").image_uri, "local/torch:1")
        self.assertEqual([i.image_uri for i in pai.image.list_images("pytorch")], ["local/torch:2", "local/torch:1"])

    def test_the_flow_of_the_sdks_examples_runs(self):
        self.write("src/prepare.py", PREPARE)
        self.write("data/raw.csv", "1,2,")
        self.write("example.py", EXAMPLE)
        self.write("src/train.py", FITTED)
        done = subprocess.run([sys.executable, "-m", "trainyard.compat.pai", "example.py"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in ("prepared ['rows.csv']", "model ['model.json'] True", "logs ['events'] True", "copied ['model.json'] 1",
                     "spec {'rpc': {'keepalive': 1000}} pai/train_data/a/", "left []"):
            self.assertIn(line, done.stdout)
        self.assertIn("the job runs without a container", done.stderr)

    def test_sessions_come_from_the_sdks_own_files_and_variables(self):
        pai = installed(self)
        self.assertIsNone(pai.session.get_default_session().region_id)
        os.environ.update(DLC_JOB_ID="dlc1", REGION="cn-shanghai", PAI_WORKSPACE_ID="7")
        self.assertEqual(pai.session.get_default_session().workspace_id, "7")
        self.write(".pai/config.json", '{"region_id": "cn-beijing", "workspace_id": "8"}')
        self.assertEqual(pai.session.get_default_session().region_id, "cn-beijing")
        made = pai.session.setup_default_session("key", "secret", None, "cn-hangzhou", oss_bucket_name="b")
        self.assertEqual((made.region_id, made.workspace_id, made.oss_bucket.bucket_name), ("cn-hangzhou", "8", "b"))
        self.assertIs(trainyard.get_default_session(), made)
        self.assertTrue(made.is_gpu_training_instance("ecs.gn6v-c10g1.20xlarge"))
        self.assertFalse(made.is_supported_training_instance("huge"))
        with self.assertRaises(TypeError):
            pai.session.setup_default_session(region="x")
        with self.assertRaises(ValueError):
            pai.session.setup_default_session(access_key_id="a", credential_config=object())

    def test_an_algorithm_is_described_in_the_sdks_words(self):
        pai = installed(self)
        job = pai.job
        spec = job.AlgorithmSpec(command=["sh", "-c", 'echo "lr $PAI_HPS_LR" >"$PAI_OUTPUT_MODEL/x"'],
                                 output_channels=[job.Channel(name="model")],
                                 hyperparameter_definitions=[job.HyperParameterDefinition(name="lr", type="Float", default_value="0.5")])
        est = pai.estimator.AlgorithmEstimator(algorithm_spec=spec)
        est.fit(show_logs=False)
        self.assertEqual(est.hyperparameters, {"lr": "0.5"})
        with open(os.path.join(est.get_outputs_data()["model"], "x"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "lr 0.5\n")

    def test_addresses_are_written_and_taken_apart_as_by_pai(self):
        from trainyard.compat import _pai_uris as uris
        self.assertEqual(uris.parse_nas_uri("nas://0-g.cn-hangzhou.extreme.nas.aliyuncs.com/m/"),
                         ("nas://0-g.cn-hangzhou.extreme.nas.aliyuncs.com/m/", "cn-hangzhou"))
        self.assertIsNone(uris.parse_nas_uri("nas://0-g.extreme.nas.aliyuncs.com/m/"))
        self.assertEqual(uris.parse_odps_uri("odps://p/s/tables/t"), ("p", "s", "t"))
        self.assertEqual(uris.parse_region_id_from_endpoint("cn-shanghai-internal.aliyuncs.com"), "cn-shanghai")
        self.assertIsNone(uris.parse_region_id_from_endpoint("http://elsewhere.com"))
        trainyard.setup_default_session(region_id="cn-hangzhou", oss_bucket_name="b")
        from trainyard.estimator import CpfsFileSystemInput, FileSystemInput
        self.assertEqual(FileSystemInput("f", "/a/b").to_input_uri(), "nas://f.cn-hangzhou/a/b")
        self.assertEqual(CpfsFileSystemInput("f", "p", "e").to_input_uri(), "cpfs://f.cn-hangzhou/p/e/")

    def test_a_real_pai_is_not_replaced(self):
        self.write("site/pai/__init__.py", "")
        os.environ["PYTHONPATH"] = "site:" + os.environ["PYTHONPATH"]
        done = self.run_script("print('ran')", "-m", "trainyard.compat.pai")
        self.assertIn("a package 'pai' is installed already; it is not replaced", done.stderr)
        self.assertNotIn("ran", done.stdout)


def load_tests(loader, tests, pattern):
    return load_doctests(tests, ["trainyard.compat._pai_uris", "trainyard.compat._pai_fields", "trainyard.compat._pai_logging",
                                 "trainyard.compat._pai_serving", "trainyard.estimator"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
