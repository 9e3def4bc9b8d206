# SPDX-License-Identifier: Apache-2.0
"""A pipeline.config as objects."""
import glob
import importlib.util
import os
import subprocess
import sys
import unittest

from place import SOURCE, Case, load_doctests
from trainyard import Config, ConfigError, _message, _stubs

CONFIG = os.path.join(SOURCE, "examples/quickstart/pipeline.config")
STUB = os.path.join(SOURCE, "python/trainyard/_schema.pyi")


class Configs(Case):
    """Read, changed, checked and written."""

    def test_values_are_those_of_the_file_or_the_default(self):
        c = Config(CONFIG)
        self.assertEqual((c.data_config.batch_size, c.data_config.dataset_type), (4096, "ParquetDataset"))
        self.assertEqual(c.model_dir, "experiments/quickstart")
        self.assertEqual((c.data_config.delimiter, c.data_config.with_header, c.train_config.has("num_steps")), (",", False, False))
        self.assertEqual(c.data_config.label_fields, ["clicked"])
        self.assertEqual(c.model_config.which("model"), "deepfm")
        self.assertEqual(list(c.model_config.deepfm.deep.hidden_units), [128, 64, 32])
        names = [f.id_feature.feature_name or f.raw_feature.feature_name for f in c.feature_configs]
        self.assertEqual(names, ["user_id", "age", "item_id", "price"])
        self.assertEqual(c.feature_configs[-1].raw_feature.boundaries, [1, 5, 10, 50, 100])
        self.assertEqual(c.train_config.to_plain()["num_epochs"], 1)

    def test_what_is_set_is_read_back_and_written(self):
        c = Config(CONFIG)
        c.train_config.num_epochs = 5
        c.train_config.dense_optimizer = {"sgd_optimizer": {"lr": 0.5}, "constant_learning_rate": {}}
        c.data_config.label_fields = ["clk", "buy"]
        c.data_config.fg_mode = "FG_DAG"
        c.feature_configs[":"].id_feature.embedding_dim = 8
        c.feature_configs.append({"id_feature": {"feature_name": "city", "expression": "user:city", "num_buckets": 500,
                                                 "embedding_dim": 16}})
        self.assertEqual((c.train_config.num_epochs, c.data_config.label_fields, len(c.feature_configs)), (5, ["clk", "buy"], 5))
        self.assertEqual([f.id_feature.embedding_dim for f in c.feature_configs if f.which("feature") == "id_feature"], [8, 8, 16])
        self.assertEqual(c.train_config.dense_optimizer.which("optimizer"), "sgd_optimizer")
        c.feature_configs[4].id_feature.num_buckets = 600
        self.assertEqual(c["feature_configs[4].id_feature.num_buckets"], 600)
        for i in (0, 2, 4):
            c.feature_configs[i].id_feature.embedding_dim = 16
        again = c.save("new.config")
        self.assertEqual((again.values, again.to_plain()), ({}, c.to_plain()))
        self.assertEqual([p.message for p in again.check()], ["nothing uses feature 'city'"])
        self.assertEqual(Config(CONFIG).train_config.num_epochs, 1, "the file stays as it is")

    def test_elements_of_lists_are_taken_out_and_added(self):
        config = Config(CONFIG)
        names = [next(iter(f.values()))["feature_name"] for f in config.feature_configs.to_plain()]
        config.feature_configs[0].id_feature.embedding_dim = 8
        self.assertEqual(next(iter(config.feature_configs.pop().values()))["feature_name"], names[-1])
        del config.feature_configs[1]
        del config.feature_configs[1]
        self.assertEqual([f.id_feature.feature_name for f in config.feature_configs], names[:1])
        self.assertEqual(config.feature_configs[-1].id_feature.embedding_dim, 8)
        added = [{"id_feature": {"feature_name": name, "expression": "user:a", "num_buckets": 9}} for name in ("a", "b")]
        config.feature_configs.extend(added)
        self.assertEqual([f.id_feature.feature_name for f in config.feature_configs], [*names[:1], "a", "b"])
        for index in (3, -4):
            with self.assertRaisesRegex(IndexError, "it has 3 elements"):
                config.feature_configs[index]

    def test_every_example_is_read_and_written(self):
        for path in sorted(glob.glob(os.path.join(SOURCE, "examples/*.config"))):
            config = Config(path)
            self.assertEqual(config.save("copy.config").to_plain(), config.to_plain(), path)

    def test_wrong_names_types_and_values_are_refused_where_they_are_written(self):
        c = Config(CONFIG)
        for change, said in (
                (lambda: setattr(c.train_config, "num_epoch", 1), "TrainConfig has no field 'num_epoch', did you mean 'num_epochs'?"),
                (lambda: setattr(c.train_config, "num_epochs", "x"), "train_config.num_epochs: 'x' is not of type uint32"),
                (lambda: setattr(c.train_config, "num_epochs", True), "train_config.num_epochs: True is not of type uint32"),
                (lambda: setattr(c.data_config, "batch_size", 0), "data_config.batch_size: 0 is outside [1, "),
                (lambda: setattr(c.data_config, "fg_mode", "FG_DAGG"), "did you mean 'FG_DAG'?"),
                (lambda: setattr(c, "feature_configs", [{"id_feature": {"feature_nam": "a"}}]), "IdFeature has no field 'feature_nam'"),
                (lambda: setattr(c, "data_config", 3), "data_config: a DataConfig is wanted, not 3"),
                (lambda: c.feature_configs.__setitem__(0, {"x": 1}), "FeatureConfig has no field 'x'")):
            with self.assertRaises(ConfigError) as caught:
                change()
            self.assertIn(said, str(caught.exception))
            self.assertIn(caught.exception.code, ("E0121", "E0123"))
        self.assertEqual(c.values, {})
        with self.assertRaises(AttributeError):
            c.train_config.nothing  # noqa: B018
        for path, said in (("does-not-matter.config", "there is no such config"), (os.curdir, "it is a directory")):
            with self.assertRaisesRegex(ConfigError, f"^{path}: {said}.* .E0005.$") as caught:
                Config(path)
            self.assertEqual((caught.exception.code, caught.exception.file), ("E0005", path))

    def test_overrides_by_their_path_are_refused_where_they_are_written(self):
        c = Config(CONFIG)
        c["train_config.num_epochs"] = 4
        for path, value, said in (("train_config.num_epoch", 3, "TrainConfig has no field 'num_epoch', did you mean 'num_epochs'?"),
                                  ("train_config.num_epochs", "x", "'num_epochs' takes an integer"),
                                  ("feature_configs[9].id_feature.embedding_dim", 8, "selects nothing|has 4 elements"),
                                  ("data_config.batch_size", 0, "outside|at least|between"), ("a[", 1, "")):
            with self.assertRaisesRegex(ConfigError, said) as caught:
                c[path] = value
            self.assertRegex(caught.exception.code, "^E0[12]")
            self.assertNotIn("--edit", str(caught.exception))
        self.assertEqual((c.values, c.train_config.num_epochs), ({"train_config.num_epochs": 4}, 4))
        c["data_config.label_fields"] = ["other"]  # what it means for the rest is told by check()
        c["feature_configs[id_feature.embedding_dim>4].id_feature.embedding_dim"] = 4
        self.assertEqual(c.data_config.label_fields, ["other"])

    def test_fields_are_completed_and_described(self):
        c = Config(CONFIG)
        self.assertIn("num_epochs", dir(c.train_config))
        self.assertIn("feature_configs", dir(c))
        self.assertIn("id_feature", dir(c.feature_configs[0]))
        self.assertTrue(c.train_config.describe("num_epochs"))

    def test_every_field_of_the_schema_can_be_reached(self):
        for name, message in _message.schema()["messages"].items():
            for field, about in message["fields"].items():
                if about.get("message"):
                    self.assertIn(about["type"], _message.schema()["messages"], f"{name}.{field}")
                if about.get("enum"):
                    self.assertIn(about["type"], _message.schema()["enums"], f"{name}.{field}")

    @unittest.skipUnless(os.path.exists(STUB), "the source is not here")
    def test_the_stub_is_that_of_the_program(self):
        self.assertEqual(_stubs.main(["--check", STUB]), 0, "python -m trainyard._stubs python/trainyard/_schema.pyi")
        self.write("old.pyi", "")
        with open(os.devnull, "w", encoding="utf-8") as null:
            stderr, sys.stderr = sys.stderr, null
            try:
                self.assertEqual(_stubs.main(["--check", "old.pyi"]), 1)
            finally:
                sys.stderr = stderr

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_type_checkers_know_the_fields(self):
        self.write("good.py", 'from trainyard import Config\nc = Config("a")\nc.train_config.num_epochs = 3\n'
                   'c.data_config.label_fields = ["a"]\nn: int = c.feature_configs[0].id_feature.embedding_dim\n')
        self.write("bad.py", 'from trainyard import Config\nc = Config("a")\nc.train_config.num_epoch = 3\nc.model_dir = 1\n'
                   'c.data_config.fg_mode = "x"\n')
        env = {**os.environ, "MYPYPATH": os.environ.get("PYTHONPATH", "")}
        done = {name: subprocess.run([sys.executable, "-m", "mypy", "--strict", name], capture_output=True, text=True, env=env, check=False)
                for name in ("good.py", "bad.py")}
        self.assertEqual(done["good.py"].returncode, 0, done["good.py"].stdout)
        for said in ("bad.py:3: error", "bad.py:4: error", "bad.py:5: error"):
            self.assertIn(said, done["bad.py"].stdout)


def load_tests(loader, tests, pattern):
    return load_doctests(tests, ["trainyard.config"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
