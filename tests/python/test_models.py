# SPDX-License-Identifier: Apache-2.0
"""Models from Python: trained, evaluated, exported and scored from tables in memory."""
import importlib.util
import os
import random
import struct
import threading
import unittest

from place import SOURCE, Case, load_doctests, trainyard
from trainyard import Config, Model

CONFIG = os.path.join(SOURCE, "examples/quickstart/pipeline.config")


def has(*modules):
    return all(importlib.util.find_spec(m) for m in modules)


def rows(n, seed):
    r = random.Random(seed)
    made = []
    for _ in range(n):
        user, item = r.randrange(50), r.randrange(20)
        made.append({"user_id": user, "age": 20 + user, "item_id": item, "price": float(item), "clicked": int((user + item) % 3 == 0)})
    return made


def f32(value):
    """As a float of 32 bits."""
    return struct.unpack("f", struct.pack("f", value))[0]


class Models(Case):
    """Small ones, on the quick start's config."""

    edits = {"data_config.batch_size": 256, "train_config.num_epochs": 12}

    def train(self, data, other, **more):
        edits = {**self.edits, **more.pop("set", {})}
        return trainyard.train(CONFIG, train=data, eval=other, model_dir="run", set=edits, show=False, **more)

    def test_a_model_goes_from_rows_to_scores(self):
        run = self.train(rows(4000, 1), rows(500, 2), threads=2)
        self.assertGreater(run.metrics["auc"], 0.9)
        self.assertEqual(run.evaluate(rows(500, 2))["auc"], run.metrics["auc"])
        model = run.export("export")
        scores = model.predict(rows(10, 3), columns=["user_id"])
        self.assertEqual([s["user_id"] for s in scores], [r["user_id"] for r in rows(10, 3)])
        self.assertTrue(all(0 <= s["probs"] <= 1 for s in scores))
        # Inside this process: the same numbers, by rows and by columns.
        loaded = Model.load("export")
        inside = loaded.score(rows(10, 3))
        self.assertEqual([f32(p) for p in inside["probs"]], [f32(s["probs"]) for s in scores])
        columns = {name: [row[name] for row in rows(10, 3)] for name in rows(1, 1)[0]}
        self.assertEqual(list(loaded.score(columns)["probs"]), list(inside["probs"]))
        self.assertIn("auc", run._repr_html_())

    def test_scoring_inside_the_process(self):
        model = self.train(rows(2000, 1), rows(100, 2), set={"train_config.num_epochs": 1}).export("export")
        many = rows(3000, 5)
        for row in many[::7]:
            row["age"] = None
        many = [{**row, "note": "not read"} for row in many]
        want = [f32(s["probs"]) for s in model.predict(many)]
        self.assertEqual([f32(p) for p in model.score(many)["probs"]], want)
        found = [None] * 4
        threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, list(model.score(many[i::4])["probs"]))) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([f32(found[i % 4][i // 4]) for i in range(3000)], want)
        self.assertEqual(len(model.score([])), 0)
        with self.assertRaises(trainyard.DataError) as caught:
            model.score([{k: v for k, v in many[0].items() if k != "item_id"}])
        self.assertIn("item_id", str(caught.exception))
        with self.assertRaises(trainyard.DataError):
            model.score([{**many[0], "user_id": 1}, {**many[0], "user_id": "x"}])
        with self.assertRaises(trainyard.DataError):
            model.score(3)
        with self.assertRaises(trainyard.TrainingError) as caught:
            Model("nowhere").score(many)
        self.assertEqual(caught.exception.code, "E2002")

    @unittest.skipUnless(has("pandas", "pyarrow", "polars"), "pandas, pyarrow and polars are not installed")
    def test_tables_that_speak_arrow_are_scored_where_they_are(self):
        import pandas
        import polars
        import pyarrow
        model = self.train(rows(2000, 1), rows(100, 2), set={"train_config.num_epochs": 1}).export("export")
        many = rows(1000, 5)
        for row in many[::3]:
            row["age"] = None
        want = list(model.score(many)["probs"])
        table = pyarrow.Table.from_pylist(many)
        texts = table.set_column(0, "user_id", table["user_id"].cast("string"))
        kinds = {"table": table, "batch": table.to_batches()[0], "chunks": pyarrow.concat_tables([table[:333], table[333:]]),
                 "polars": polars.DataFrame(many), "texts": texts,
                 "large": texts.set_column(0, "user_id", texts["user_id"].cast("large_string")),
                 "views": texts.set_column(0, "user_id", texts["user_id"].cast("string_view")),
                 "dictionary": texts.set_column(0, "user_id", texts["user_id"].dictionary_encode()),
                 "small": table.set_column(2, "item_id", table["item_id"].cast("int8"))}
        if hasattr(pandas.DataFrame, "__arrow_c_stream__"):
            kinds["pandas"] = table.to_pandas(types_mapper=pandas.ArrowDtype)
        for name, data in kinds.items():
            self.assertEqual(list(model.score(data)["probs"]), want, name)
        self.assertEqual(list(model.score(table.to_batches()[0].slice(13, 100))["probs"]), want[13:113])
        with self.assertRaises(trainyard.TrainyardError) as caught:
            model.score(table.set_column(0, "user_id", pyarrow.array([{"a": 1}] * 1000)))
        self.assertEqual(caught.exception.code, "E2031")

    def test_a_run_goes_on(self):
        self.train(rows(1000, 1), rows(100, 2), set={"train_config.num_epochs": 1})
        again = self.train(rows(1000, 1), rows(100, 2), set={"train_config.num_epochs": 2}, continue_=True)
        self.assertEqual(len(again.history), 2)

    @unittest.skipUnless(has("pandas", "pyarrow"), "pandas and pyarrow are not installed")
    def test_a_data_frame_comes_back_as_one(self):
        import pandas
        frame = pandas.DataFrame(rows(2000, 1))
        model = self.train(frame, frame.head(100)).export("export")
        scores = model.predict(frame.head(5), columns=["item_id"])
        self.assertEqual(list(scores["item_id"]), list(frame.head(5)["item_id"]))
        self.assertIsInstance(scores, pandas.DataFrame)

    @unittest.skipUnless(has("polars"), "polars is not installed")
    def test_a_frame_of_polars_comes_back_as_one(self):
        import polars
        frame = polars.DataFrame(rows(2000, 1))
        model = self.train(frame, frame.head(100)).export("export")
        self.assertIsInstance(model.predict(frame.head(5)), polars.DataFrame)

    def test_errors_name_their_place(self):
        with self.assertRaises(trainyard.ConfigError) as caught:
            Config(CONFIG, {"train_config.num_epoch": 1}).check()
        self.assertEqual(caught.exception.code, "E0121")
        with self.assertRaises(trainyard.DataError) as caught:
            self.train("nowhere.jsonl", rows(10, 1))
        self.assertIn("nowhere.jsonl", str(caught.exception))
        with self.assertRaises(trainyard.DataError):
            self.train(3, rows(10, 1))
        with self.assertRaises(trainyard.TrainingError):
            Model.load("nowhere")
        with self.assertRaises(trainyard.UsageError):
            self.train(rows(10, 1), rows(10, 1), treads=2)

    def test_a_config_with_overrides_is_a_config(self):
        config = Config(CONFIG)
        config.train_config.num_epochs = 7
        config["data_config.label_fields"] = ["a", "b"]
        text = config.text()
        self.assertIn("num_epochs: 7", text)
        self.assertIn('label_fields: ["a", "b"]', text)
        self.assertEqual(config.get("model_dir"), "experiments/quickstart")
        self.assertEqual(config.with_values({"model_dir": "a \"b\""}).get("model_dir"), 'a "b"')
        self.assertEqual(Config(CONFIG).check(), [])


def load_tests(loader, tests, pattern):
    return load_doctests(tests, ["trainyard.config", "trainyard.frames", "trainyard.models", "trainyard._library"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
