# SPDX-License-Identifier: Apache-2.0
"""Models from Python: trained, evaluated, exported and scored from tables in memory."""
import contextlib
import copy
import datetime
import decimal
import gc
import importlib.util
import io
import json
import os
import pathlib
import pickle
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import unittest
import warnings

from place import PROGRAM, SOURCE, Case, load_doctests, trainyard
from trainyard import Config, Model, errors

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

    def test_a_config_comes_out_of_the_rows(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            config = trainyard.init(rows(3000, 1), "first.config")
        self.assertRegex(said.getvalue(), r"held out: \d+ of 3000 rows")
        self.assertIn("label 'clicked'", said.getvalue())
        self.assertNotIn("trainyard train", said.getvalue())
        self.assertEqual(config.data_config.label_fields, ["clicked"])
        run = trainyard.train(config, show=False, patience=2, threads=1)
        self.assertGreater(run.metrics["global_step"], 0)
        self.assertEqual(len(run.export("export").score(rows(5, 2))["probs"]), 5)
        for more, text in (({}, "say overwrite=True to replace it, or path="),
                           ({"path": "b.config", "label": "clickd"}, "there is no column 'clickd'")):
            with self.assertRaises(trainyard.DataError) as caught:
                trainyard.init(rows(300, 1), **{"path": "first.config", **more})
            self.assertIn(text, str(caught.exception))

    def test_rows_of_a_table_stay_beside_the_config_that_names_them(self):
        os.mkdir("b")
        for data, path, more in ((rows(2000, 1), "a.config", {"holdout": 0}), (rows(60, 2), "b/a.config", {})):
            config = trainyard.init(data, path, label="clicked", show=False, **more)
            self.assertEqual(config.train_input_path, path[:-len(".config")] + "-data/train.parquet")
            trainyard.train(config, show=False, set={"train_config.num_epochs": 1})
        kept = os.path.getsize("b/a-data/train.parquet")
        with self.assertRaisesRegex(trainyard.TrainyardError, "there is no directory 'nowhere'"):
            trainyard.init(rows(500, 3), "nowhere/a.config", name="b/a", label="clicked", overwrite=True)
        trainyard.init(rows(500, 3), "a.config", label="clicked", overwrite=True, show=False)
        self.assertEqual(os.path.getsize("b/a-data/train.parquet"), kept, "another init has its own rows")

    @unittest.skipUnless(has("nbclient", "ipykernel"), "nbclient is not installed")
    def test_a_notebook_shows_training_while_it_runs(self):
        import nbclient
        import nbformat
        code = (f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
                "import test_models as t\n"
                "from trainyard import _display\n"
                "_display.Live.due = lambda self, every=0: self.on\n"  # at every line
                "run = t.trainyard.train(t.CONFIG, train=t.rows(3000, 1), eval=t.rows(500, 2), model_dir='run', threads=1,"
                " set={'train_config.num_epochs': 6, 'data_config.batch_size': 256, 'train_config.save_checkpoints_epochs': 1})")
        again = "t.trainyard.train(t.CONFIG, train=t.rows(30, 1), eval=t.rows(50, 2), model_dir='run')"
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (code, again)])
        updates = []

        class Client(nbclient.NotebookClient):
            def process_message(self, msg, cell, index):
                if msg["msg_type"] == "update_display_data":
                    updates.append((index, msg["content"]["data"]["text/html"]))
                return super().process_message(msg, cell, index)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.environ.update(JUPYTER_PLATFORM_DIRS="1", PYTHONWARNINGS="ignore")
            where = {"metadata": {"path": self.place}}
            Client(book, timeout=120, kernel_name="python3", allow_errors=True, resources=where).execute()
        curves = [html for at, html in updates if at == 0 and "<polyline" in html]
        self.assertGreater(len(set(curves)), 1, "the curves grow while it trains")
        said = {o.name: o.text for o in book.cells[0].outputs if o.output_type == "stream"}
        self.assertEqual(list(said), ["stdout"], "progress is not an error")
        failed = book.cells[1].outputs
        self.assertEqual([o.ename for o in failed if o.output_type == "error"], ["TrainingError"])
        self.assertEqual([o for o in failed if o.output_type == "stream"], [], "what is raised is not printed as well")

    def test_scores_are_computed_without_the_lock_of_the_interpreter(self):
        model = self.train(rows(300, 1), rows(100, 2), set={"train_config.num_epochs": 1}).export("export")
        columns = {name: [row[name] for row in rows(1, 1)] * 200000 for name in rows(1, 1)[0]}
        from trainyard import _library
        schema, batch, _keep = next(_library.batches(columns))
        scorer = _library.Scorer("export", 1)
        before = time.perf_counter()
        scorer._score_batch(schema, batch)
        took = time.perf_counter() - before
        worker = threading.Thread(target=scorer._score_batch, args=(schema, batch))
        counted, until = 0, time.perf_counter() + took / 2
        worker.start()
        while time.perf_counter() < until:
            counted += 1
        self.assertTrue(worker.is_alive(), "it is still scoring")
        self.assertGreater(counted, 1000, "this thread has run beside it")
        worker.join()
        scorer.close()
        del model

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
        self.assertEqual({name: len(scores) for name, scores in model.score([]).items()}, {"logits": 0, "probs": 0})
        with self.assertRaises(trainyard.DataError) as caught:
            model.score([{k: v for k, v in many[0].items() if k != "item_id"}])
        self.assertIn("item_id", str(caught.exception))
        with self.assertRaises(trainyard.DataError):
            model.score([{**many[0], "user_id": 1}, {**many[0], "user_id": "x"}])
        with self.assertRaises(trainyard.DataError):
            model.score(3)
        with self.assertRaises(trainyard.DataError) as caught:
            Model("nowhere").score(many)
        self.assertEqual(caught.exception.code, "E2002")

    def test_rows_hold_what_services_send(self):
        model = self.train(rows(300, 1), rows(100, 2), set={"train_config.num_epochs": 1}).export("export")
        some = rows(3, 5)
        want = list(model.score(some)["probs"])
        odd = {"a note": object(), 7: 1, "when": datetime.datetime(2024, 1, 1), "deep": [object()], "big": 2**70, "text": "\udcff"}
        self.assertEqual(list(model.score([{**row, **odd} for row in some])["probs"]), want, "columns that the model does not read")
        for column in ("user_id", "price"):  # nothing but missing values, in every column one after another
            gaps = [{**row, column: None} for row in some]
            expected = [f32(s["probs"]) for s in model.predict(gaps)]
            for missing in (None, float("nan")):
                found = model.score([{**row, column: missing} for row in some])["probs"]
                self.assertEqual([f32(p) for p in found], expected, f"{column} is {missing}")
        prices = [decimal.Decimal("1.5")] * 3
        self.assertEqual(list(model.score([{**row, "price": p} for row, p in zip(some, prices)])["probs"]),
                         [f32(s["probs"]) for s in model.predict([{**row, "price": p} for row, p in zip(some, prices)])])
        self.assertEqual(len(model.score({name: [] for name in some[0]})["probs"]), 0)
        for bad, text in (({"user_id": 2**70}, "column 'user_id': int too big"), ({"user_id": "\udcff"}, "surrogates not allowed"),
                          ({"user_id": object()}, "column 'user_id': values of type object")):
            with self.assertRaises(trainyard.DataError) as caught:
                model.score([{**row, **bad} for row in some])
            self.assertIn(text, str(caught.exception))
        self.assertEqual(list(model.score(some, threads=2)["probs"]), want)
        for threads in (-1, 5000, "2"):
            with self.assertRaisesRegex(trainyard.UsageError, "threads: a number up to 1024 is wanted"):
                model.score(some, threads=threads)
        self.assertEqual(list(model.predict(some, columns="user_id")[0]), ["logits", "probs", "user_id"])
        with self.assertRaisesRegex(trainyard.DataError, "row 0: column 'price' is infinite"):
            model.predict([{**some[0], "price": float("inf")}])
        for odd in (None, 7, "a", ["b"]):
            for call in (model.predict, model.score):
                with self.assertRaises(trainyard.DataError, msg=f"{call} of {odd!r}"):
                    call([some[0], {**some[0], "extra": True}, odd, some[1]])
        model._scorer.close()
        with self.assertRaisesRegex(trainyard.UsageError, "the model was closed"):
            model.score(some)

    @unittest.skipUnless(has("pandas", "pyarrow"), "pandas and pyarrow are not installed")
    def test_a_first_model_takes_times_booleans_lists_and_gaps(self):
        import pandas
        frame = pandas.DataFrame(rows(3000, 1))
        frame["when"] = pandas.Timestamp("2024-01-01", tz="Asia/Shanghai") + pandas.to_timedelta(range(0, 3000 * 701, 701), unit="s")
        frame["premium"] = frame["user_id"] % 3 == 0
        frame["city"] = [None if i % 5 == 0 else f"c{i % 4}" for i in range(3000)]
        frame["tags"] = [["a", "b"] if i % 2 else ["c"] for i in range(3000)]
        config = trainyard.init(frame, label="clicked", show=False)
        names = [str(f) for f in config.feature_configs]
        for name in ("when_hour", "premium", "city", "tags"):
            self.assertTrue(any(f"'{name}'" in text for text in names), name)
        run = trainyard.train(config, show=False, patience=1)
        self.assertIn("auc", run.evaluate(frame.tail(200)))
        model = run.export("export")
        want = [f32(p) for p in model.predict(frame.tail(5))["probs"]]
        self.assertEqual([f32(p) for p in model.score(frame.tail(5))["probs"]], want)
        records = frame.tail(5).to_dict("records")
        self.assertEqual([f32(p) for p in model.score(records)["probs"]], want)
        self.assertEqual([f32(s["probs"]) for s in model.predict(records)], want)
        columns = {name: [row[name] for row in records] for name in records[0]}
        self.assertEqual([f32(p) for p in model.predict(columns)["probs"]], want)
        expected = run.evaluate(frame.tail(200))
        self.assertEqual(run.evaluate(frame.tail(200).to_dict("records")), expected, "booleans are numbers there, too")
        self.assertEqual([f32(model.score([row])["probs"][0]) for row in records], want, "one row at a time")

    def test_ids_without_sign_are_ids(self):
        few = {"train_config.num_epochs": 1}
        many = [{**row, "user_id": row["user_id"] + 2**63} for row in rows(600, 1)]
        model = self.train(many, many, set=few).export("export")
        want = [f32(s["probs"]) for s in model.predict(many)]
        self.assertEqual([f32(p) for p in model.score(many)["probs"]], want)
        texts = [{**row, "user_id": str(row["user_id"])} for row in many]
        self.assertEqual([f32(p) for p in model.score(texts)["probs"]], want, "an id has one written form")
        unlike = [{**row, "user_id": row["user_id"] - 2**64} for row in many]  # the same bits, with a sign
        self.assertNotEqual([f32(p) for p in model.score(unlike)["probs"]], want)
        if has("pandas", "pyarrow", "polars"):
            import pandas
            import polars
            frame = pandas.DataFrame(many)
            self.assertEqual(str(frame["user_id"].dtype), "uint64")
            tables = {"pandas": frame, "categories": frame.astype({"user_id": "category"}), "polars": polars.from_pandas(frame),
                      "polars of rows": polars.DataFrame(many), "nullable": frame.astype({"user_id": "UInt64"})}
            for name, table in tables.items():
                found = trainyard.train(CONFIG, train=table, eval=table, model_dir=name, show=False, set={**self.edits, **few})
                other = found.export(name + " export")
                for call in (other.predict, other.score, model.score, model.predict):
                    self.assertEqual([f32(p) for p in call(table)["probs"]], want, name)
            small = pandas.DataFrame(rows(600, 1))
            whole = trainyard.train(CONFIG, train=small, eval=small, model_dir="whole", show=False, set={**self.edits, **few})
            whole = whole.export("whole export")
            unsigned = small.astype({c: "uint64" for c in ("user_id", "age", "item_id")})
            self.assertEqual(list(whole.score(unsigned)["probs"]), list(whole.score(small)["probs"]))

    @unittest.skipUnless(has("numpy", "pandas", "pyarrow", "polars"), "pandas, pyarrow and polars are not installed")
    def test_score_reads_what_predict_reads(self):
        import numpy
        import pandas
        import polars
        import pyarrow
        frame = pandas.DataFrame(rows(600, 1))
        model = self.train(frame, frame, set={"train_config.num_epochs": 1}).export("export")
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        ids, moment = table["user_id"].combine_chunks(), datetime.datetime(2024, 1, 1, 0, 0, 1)
        lists = pyarrow.FixedSizeListArray.from_arrays(ids, 1)

        def with_column(name, values):
            return table.set_column(table.column_names.index(name), name, values)

        kinds = {"lists of one length": with_column("user_id", lists), "a slice of them": with_column("user_id", lists).slice(7, 99),
                 "arrays": polars.from_pandas(frame).with_columns(polars.concat_list("user_id").cast(polars.Array(polars.Int64, 1))),
                 "bytes of one length": with_column("user_id", pyarrow.array([b"12"] * 600, pyarrow.binary(2))),
                 "decimals": with_column("price", table["price"].cast(pyarrow.decimal256(40, 3))),
                 "durations": frame.assign(age=pandas.Timedelta(seconds=31)),
                 "sparse": frame.assign(age=pandas.arrays.SparseArray(frame["age"]))}
        for unit in ("s", "ms", "us", "ns"):
            kinds[f"times in {unit}"] = with_column("age", pyarrow.array([moment] * 600, pyarrow.timestamp(unit, "UTC")))
        kinds["days"] = with_column("age", pyarrow.array([moment.date()] * 600, pyarrow.date64()))
        for name, data in kinds.items():
            want = [f32(p) for p in list(model.predict(data)["probs"].to_pylist() if hasattr(data, "column_names") else
                                         model.predict(data)["probs"])]
            self.assertEqual([f32(p) for p in model.score(data)["probs"]], want, name)
        for name, odd in {"NaT": pandas.NaT, "float32": numpy.float32("nan"), "numpy's NaT": numpy.datetime64("NaT")}.items():
            missing = [{**row, "age": odd} for row in rows(3, 5)]
            want = [f32(s["probs"]) for s in model.predict([{**row, "age": None} for row in rows(3, 5)])]
            self.assertEqual([f32(s["probs"]) for s in model.predict(missing)], want, name)
            self.assertEqual([f32(p) for p in model.score(missing)["probs"]], want, name)
        for name, odd in {"numpy.bool": numpy.bool_(True), "whole": 1.0, "numpy.float32": numpy.float32(1)}.items():
            given = [{**row, "user_id": odd} for row in rows(3, 5)]
            want = [f32(s["probs"]) for s in model.predict([{**row, "user_id": 1} for row in rows(3, 5)])]
            self.assertEqual([f32(s["probs"]) for s in model.predict(given)], want, name)
            self.assertEqual([f32(p) for p in model.score(given)["probs"]], want, name)

    @unittest.skipUnless(has("pandas", "pyarrow", "polars"), "pandas, pyarrow and polars are not installed")
    def test_tables_that_cannot_be_read_are_told_and_empty_ones_are_not_refused(self):
        import pandas
        import polars
        import pyarrow
        import pyarrow.compute
        frame = pandas.DataFrame(rows(600, 1))
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        once = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches())
        model = self.train(once, frame, set={"train_config.num_epochs": 1}).export("export")  # has sample rows
        runs = table.set_column(0, "user_id", pyarrow.compute.run_end_encode(table["user_id"].combine_chunks()))
        for bad in (frame.assign(price=1j), runs, [{}], [{}, {}], table.append_column("age", table["price"])):
            for call in (model.score, model.predict):
                with self.assertRaises(trainyard.TrainyardError):
                    call(bad)
        with self.assertRaisesRegex(trainyard.DataError, "several columns 'age'"):
            model.predict(table.append_column("age", table["price"]))
        kinds = {"frame": frame.head(0), "table": table.slice(0, 0), "polars": polars.from_pandas(frame).head(0), "list": [],
                 "columns": {name: [] for name in frame}}
        for name, data in kinds.items():
            found = model.predict(data, columns=["user_id"])
            self.assertEqual(len(model.score(data)["probs"]), 0, name)
            self.assertIs(type(found), type(data), name)
            if name == "list":
                continue
            names = getattr(found, "column_names", found.keys() if name == "columns" else getattr(found, "columns", None))
            self.assertEqual(list(names), ["logits", "probs", "user_id"], name)
        self.assertEqual(str(model.predict(kinds["frame"])["probs"].dtype), "float32")
        with self.assertRaisesRegex(trainyard.DataError, "there is no column 'nope'"):
            model.predict(kinds["frame"], columns=["nope"])

    def test_texts_that_init_tidies_are_tidied_when_they_are_scored(self):
        cities = ["a city", "b", "c", "d e"]

        def raw(n, seed, around=" {} "):
            when = datetime.datetime(2024, 1, 1)
            return [{**row, "city": around.format(cities[row["user_id"] % 4]),
                     "at": str(when + datetime.timedelta(seconds=row["item_id"] * 3600 + i))} for i, row in enumerate(rows(n, seed))]

        config = trainyard.init(raw(3000, 1), label="clicked", show=False)
        self.assertTrue(config.data_config.tidy_text)
        run = trainyard.train(config, show=False, patience=1, threads=1)
        model = run.export("export")
        want = [f32(p) for p in model.score(raw(50, 2, "{}"))["probs"]]
        for around in (" {}", '"{}"', '\t "{}"\n'):
            some = raw(50, 2, around)
            self.assertEqual([f32(p) for p in model.score(some)["probs"]], want, around)
            if has("pandas", "pyarrow"):
                import pandas
                frame = pandas.DataFrame(some).assign(city=lambda f: f["city"].astype("category"))
                self.assertEqual([f32(p) for p in model.predict(frame)["probs"]], want, around)
                self.assertIn("auc", run.evaluate(frame))
        other = [{**row, "city": "d e" if row["city"].strip() == "b" else "b"} for row in raw(50, 2)]
        self.assertNotEqual([f32(p) for p in model.score(other)["probs"]], want, "the texts matter")
        moved = [{**row, "at": "2024-01-02 23:00:00"} for row in raw(50, 2)]
        self.assertNotEqual([f32(p) for p in model.score(moved)["probs"]], want, "the times matter")
        with self.assertRaisesRegex(trainyard.DataError, "'yesterday' is not a number"):
            model.score([{**row, "at": "yesterday"} for row in raw(5, 2)])
        millis = [{"ts": 1704067200000 + i * 1800000, "age": row["age"], "clicked": i // 2 % 2} for i, row in enumerate(rows(3000, 1))]
        clocks = trainyard.init(millis, "clock.config", label="clicked", show=False)
        counted = trainyard.train(clocks, show=False, patience=2, threads=1)
        self.assertGreater(counted.metrics["auc"], 0.9)
        self.assertGreater(counted.evaluate(millis[:1000])["auc"], 0.9, "milliseconds come as they are")
        tidy = trainyard.init([{k: v for k, v in row.items() if k != "at"} for row in raw(3000, 1, "{}")], "tidy.config",
                              label="clicked", show=False)
        self.assertFalse(tidy.data_config.tidy_text)

    @unittest.skipUnless(has("pandas", "pyarrow"), "pandas and pyarrow are not installed")
    def test_labels_of_two_texts_stay_labels_after_init(self):
        def raw(n, seed, yes=">50K", no="<=50K"):
            return [{**row, "clicked": yes if row["clicked"] else no} for row in rows(n, seed)]

        config = trainyard.init(raw(3000, 1), label="clicked", show=False)
        self.assertEqual(config.data_config.label_texts.to_plain(), [{"label_name": "clicked", "one": ">50K", "zero": "<=50K"}])
        edits = {"data_config.batch_size": 128, "train_config.num_epochs": 9}
        run = trainyard.train(config, train=raw(3000, 3), eval=raw(500, 2), show=False, threads=1, set=edits)
        self.assertGreater(run.metrics["auc"], 0.8)
        want = run.evaluate(rows(500, 2))
        self.assertEqual(want["auc"], run.metrics["auc"], "numbers stay numbers")
        frames = [raw(500, 2, ' ">50K"', " <=50K\t")]
        if has("pandas", "pyarrow"):
            import pandas
            frames += [pandas.DataFrame(raw(500, 2)), pandas.DataFrame(raw(500, 2)).astype({"clicked": "category"})]
        for frame in frames:
            self.assertEqual(run.evaluate(frame), want)
        again = trainyard.train(config, train=rows(3000, 3), eval=raw(500, 2), show=False, threads=1, model_dir="numbers", set=edits)
        self.assertEqual(again.metrics, run.metrics, "the same rows, whichever way their labels are written")
        edits["train_config.num_epochs"] = 10
        trainyard.train(config, train=rows(300, 4), eval=raw(50, 2), show=False, continue_=True, set=edits)
        model = run.export("export")
        self.assertEqual(len(model.predict(raw(5, 2), columns=["clicked"])), 5)
        said = "label 'clicked', row 8 of 'eval': 'maybe' is neither '>50K' nor '<=50K'"
        with self.assertRaisesRegex(trainyard.DataError, said) as caught:
            run.evaluate([*raw(7, 2), {**rows(1, 1)[0], "clicked": "maybe"}])
        self.assertEqual(caught.exception.code, "E1314")
        good = {"label_name": "clicked", "one": "a", "zero": "b"}
        for texts, code in (([{**good, "label_name": "click"}], "E0377"), ([{**good, "zero": "a"}], "E0316"), ([good] * 2, "E0316")):
            with self.assertRaises(trainyard.ConfigError) as caught:
                config.with_values({"data_config.label_texts": texts}).check()
            self.assertEqual(caught.exception.code, code)
        if has("numpy"):
            from trainyard import features
            batch = next(iter(features.read(config, raw(50, 2))))
            self.assertEqual(list(batch.labels["clicked"]), [float(r["clicked"]) for r in rows(50, 2)])

    def test_all_answers_of_a_run_are_of_one_checkpoint(self):
        rate = {"adam_optimizer": {"lr": 0.05}, "constant_learning_rate": {}}
        edits = {"data_config.batch_size": 64, "train_config.num_epochs": 40, "train_config.save_checkpoints_epochs": 1,
                 "train_config.dense_optimizer": rate, "train_config.sparse_optimizer": rate}
        run = self.train(rows(600, 1), rows(200, 2), patience=2, threads=1, set=edits)
        best, last = max(run.history, key=lambda row: row["auc"]), run.history[-1]
        self.assertNotEqual(best["global_step"], last["global_step"])
        self.assertEqual(run.metrics, best)
        self.assertEqual(run.evaluate(rows(200, 2))["auc"], best["auc"])
        self.assertEqual(run.evaluate(rows(200, 2), checkpoint="latest")["auc"], last["auc"])
        steps = {which: run.checkpoint(which) for which in (None, "best", "latest")}
        self.assertEqual(steps, {None: f"run/model.ckpt-{best['global_step']}", "best": f"run/model.ckpt-{best['global_step']}",
                                 "latest": f"run/model.ckpt-{last['global_step']}"})
        with self.assertRaisesRegex(trainyard.CheckpointError, "'run/model.ckpt-7' does not exist"):
            run.checkpoint("run/model.ckpt-7")
        if has("numpy"):
            exported = {name: run.export(name, checkpoint=name).embeddings("item_id") for name in ("best", "latest")}
            default = run.export("default").embeddings("item_id").vectors
            self.assertTrue((default == exported["best"].vectors).all())
            self.assertFalse((default == exported["latest"].vectors).all())
            for which, name in ((None, "best"), ("best", "best"), ("latest", "latest")):
                found = run.embeddings("item_id", checkpoint=which)
                self.assertTrue((found.vectors == exported[name].vectors[found.ids]).all(), which)
            self.assertIn("item_id_emb", run.tables())
        if has("torch"):
            states = [run.state_dict("model", which).values() for which in (None, "best", "latest")]
            self.assertTrue(all((a == b).all() for a, b in zip(*states[:2])))
            self.assertFalse(all((a == b).all() for a, b in zip(*states[1:])))
        latest = {**edits, "export_config.exporter_type": "latest", "train_config.num_epochs": 3}
        other = trainyard.train(CONFIG, train=rows(600, 1), eval=rows(200, 2), model_dir="other", show=False, threads=1, set=latest)
        self.assertEqual((other.metrics, other.checkpoint()), (other.history[-1], other.checkpoint("latest")))
        shutil.rmtree("run")
        self.assertEqual(run.metrics, {})

    def test_every_code_has_the_class_that_the_documents_say(self):
        done = subprocess.run([PROGRAM, "explain", "--all"], capture_output=True, text=True, check=True)
        codes = re.findall(r"^ *(E\d{4}) ", done.stdout, re.MULTILINE)
        self.assertGreater(len(codes), 400)
        self.assertEqual(set(errors._CODES) - set(codes), set(), "codes that the program does not have")
        self.assertEqual({c[1:3] for c in codes} - set(errors._AREAS), set(), "areas without a class")
        for code in codes:
            self.assertEqual(errors.of_code(code) is trainyard.TrainyardError, code.startswith("E00") and code not in errors._CODES, code)
        page = os.path.join(SOURCE, "docs/python.md")
        if not os.path.exists(page):
            self.skipTest("the source is not here")
        with open(page, encoding="utf-8") as f:
            table = re.findall(r"^\| `(\w+Error)` \|[^|]*\| ([E0-9, ]+) \|$", f.read(), re.MULTILINE)
        said = {code: name for name, listed in table for code in listed.split(", ")}
        for code in codes:
            self.assertEqual(said.get(code, said.get(code[:3])), errors.of_code(code).__name__, code)

    def test_texts_of_the_user_are_not_reworded_and_end_nowhere(self):
        with self.assertRaises(trainyard.TrainyardError) as caught:
            trainyard.train(CONFIG, train="--model-dir=x/t.parquet", model_dir="run", show=False)
        self.assertIn("'--model-dir=x/t.parquet'", str(caught.exception))
        tables = [[{"a\0b": 1, "label": 0}], {"a\0b": [1], "label": [0]}]
        if has("pandas", "pyarrow"):
            import pandas
            import pyarrow
            tables += [pandas.DataFrame(tables[1]), pyarrow.table(tables[1])]
            with self.assertRaisesRegex(trainyard.DataError, "data: "):
                trainyard.init(pandas.DataFrame({"label": [0, 1], "n": [10**30, 10**31]}, dtype=object))
        for table in tables:
            with self.assertRaisesRegex(trainyard.TrainyardError, "a NUL character|a zero byte", msg=type(table).__name__):
                trainyard.init(table)
        cyclic = []
        cyclic.append(cyclic)
        run = self.train(rows(500, 1), rows(100, 2), set={"train_config.num_epochs": 1})
        model = run.export("export")
        with self.assertRaisesRegex(trainyard.DataError, "nested without an end"):
            model.score([{**rows(1, 3)[0], "user_id": cyclic}])
        with self.assertRaisesRegex(trainyard.TrainyardError, "it is an export or a checkpoint"):
            model.predict(rows(3, 3), output="export", overwrite=True)
        for columns in (["a,b"], [" user_id "], [""]):
            with self.assertRaisesRegex(trainyard.UsageError, "cannot be asked for"):
                model.predict(rows(3, 3), columns=columns)
        tuned = trainyard.train(CONFIG, train=rows(500, 1), eval=rows(100, 2), model_dir="tuned", fine_tune=run, show=False,
                                set={**self.edits, "train_config.num_epochs": 1})
        self.assertGreater(tuned.metrics["global_step"], 0)

    def test_options_that_are_arguments_are_refused(self):
        for call, text in ((lambda: trainyard.init(rows(300, 1), out="b.config"), "unknown option 'out', say path="),
                           (lambda: trainyard.train(CONFIG, train_input="a.csv"), "unknown option 'train_input', say train="),
                           (lambda: trainyard.evaluate(CONFIG, eval_input="a.csv"), "unknown option 'eval_input', say data="),
                           (lambda: trainyard.export(CONFIG, "a", export_dir="b"), "unknown option 'export_dir', say to="),
                           (lambda: trainyard.predict("a", rows(1, 1), reserved_columns="a"), "'reserved_columns', say columns=")):
            with self.assertRaisesRegex(trainyard.UsageError, text):
                call()
        self.assertEqual(os.listdir(), [])

    @unittest.skipUnless(has("pandas", "pyarrow"), "pandas is not installed")
    def test_tables_of_pandas_with_gaps_in_ids_come_with_advice(self):
        import pandas
        frame = pandas.DataFrame(rows(300, 1))
        model = self.train(frame, frame, set={"train_config.num_epochs": 1}).export("export")
        gaps = frame.head(3).assign(user_id=[1.0, float("nan"), 3.0])
        for call in (model.score, model.predict):
            with self.assertRaisesRegex(trainyard.DataError, r"df.astype\({'user_id': 'Int64'}\) keeps them"):
                call(gaps)
        kept = gaps.astype({"user_id": "Int64"})
        self.assertEqual([f32(p) for p in model.score(kept)["probs"]], [f32(p) for p in model.predict(kept)["probs"]])
        twice = pandas.concat([frame.head(3), frame.head(3)[["age"]]], axis=1)
        with self.assertRaisesRegex(trainyard.TrainyardError, "several columns 'age'"):
            model.score(twice)
        mixed = frame.head(3).assign(note=[{1: 2}, "a", 3])  # Arrow cannot hold it, the model does not read it
        self.assertEqual(list(model.score(mixed)["probs"]), list(model.score(frame.head(3))["probs"]))
        many = frame.assign(user_id=pandas.Categorical(frame["user_id"], categories=range(100000)))
        self.assertEqual(list(model.score(many.head(9))["probs"]), list(model.score(frame.head(9))["probs"]), "many categories, few rows")
        self.assertEqual(len(model.score(frame.head(0))["probs"]), 0)

    def test_a_program_that_is_missing_killed_or_another_is_told(self):
        self.write("other", "#!/bin/sh\necho nonsense\n")
        self.write("killed", "#!/bin/sh\nkill -9 $$\n")
        for name in ("other", "killed"):
            os.chmod(name, 0o755)
        space = {"x": {"_type": "uniform", "_value": [0, 1]}}
        calls = (lambda: self.train(rows(10, 1), rows(10, 2)), lambda: Config(CONFIG).check(),
                 lambda: Config(CONFIG).train_config.num_epochs, lambda: trainyard.tune.Study(space))
        for program, kind, text in (("/nowhere/trainyard", trainyard.ProgramNotFound, "cannot be started: No such file"),
                                    (CONFIG, trainyard.ProgramNotFound, "cannot be started: Permission denied"),
                                    (os.path.abspath("killed"), trainyard.TrainyardError, "was ended by SIGKILL")):
            os.environ["TRAINYARD"] = program
            for call in calls:
                with self.assertRaises(kind) as caught:
                    call()
                self.assertIn(text, str(caught.exception))
        os.environ["TRAINYARD"] = os.path.abspath("other")
        for call in (calls[1], calls[2], lambda: trainyard.TrainingJob.list()):
            with self.assertRaisesRegex(trainyard.ProgramNotFound, "gives no answer of the program trainyard"):
                call()

    def test_paths_and_values_of_other_types_are_taken_or_told(self):
        some = rows(300, 1)
        run = trainyard.train(CONFIG, train=some, eval=some, model_dir=b"by bytes", show=False,
                              **{**self.edits, "train_config.num_epochs": 1})
        self.assertEqual(run.model_dir, "by bytes")
        self.assertEqual(len(run.export(b"out").score(some[:2])["probs"]), 2)
        self.assertIsNone(Model.load(pathlib.Path("out")).predict(some[:2], output=pathlib.Path("scores.jsonl")))
        with open(CONFIG, encoding="utf-8") as f:
            self.write("nowhere.config", f.read().replace('model_dir: "experiments/quickstart"', ""))
        for call, text in ((lambda: trainyard.train("nowhere.config", train=some, eval=some), "has no model_dir: give model_dir="),
                           (lambda: Model.load(None), "path: a path is wanted, not NoneType"),
                           (lambda: self.train(some, some, help=True), "unknown option 'help'"),
                           (lambda: self.train(some, some, set={"train_config.num_epochs": object()}), "set: values of type object"),
                           (lambda: trainyard.init(some, label=3), "label: names of columns are wanted, not int"),
                           (lambda: self.train("a\0b", some), "embedded null byte"),
                           (lambda: self.train(some, some, set={"model_dir": "x" * 300000}), "too long for one command")):
            with self.assertRaises(trainyard.TrainyardError) as caught:
                call()
            self.assertIn(text, str(caught.exception))

    def test_columns_have_the_types_that_the_model_was_trained_with(self):
        model = self.train(rows(2000, 1), rows(100, 2), set={"train_config.num_epochs": 1}).export("export")
        odd = [{**row, "user_id": row["user_id"] + 0.5} for row in rows(10, 3)]
        with self.assertRaises(trainyard.DataError) as caught:
            model.score(odd)
        self.assertEqual(caught.exception.code, "E1411")
        self.assertIn("column 'user_id' of 'rows' is double, but was int64 when the model was trained", str(caught.exception))
        # As predict, which has the same rows in a file.
        texts = [{**row, "user_id": str(row["user_id"])} for row in rows(10, 3)]
        self.assertEqual(list(model.score(texts)["probs"]), list(model.score(rows(10, 3))["probs"]))

    @unittest.skipUnless(has("pandas", "pyarrow"), "pandas and pyarrow are not installed")
    def test_a_table_of_other_types_is_refused_by_score_as_by_predict(self):
        import pandas
        frame = pandas.DataFrame(rows(2000, 1))
        model = self.train(frame, frame.head(100), set={"train_config.num_epochs": 1}).export("export")
        odd = frame.head(10).assign(user_id=lambda f: f["user_id"] + 0.5)
        said = []
        for call in (model.score, model.predict):
            with self.assertRaises(trainyard.DataError) as caught:
                call(odd)
            said.append((caught.exception.code, caught.exception.message.split(" is ")[-1]))
        self.assertEqual(said[0], said[1])

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

        class Once:
            """Gives one and the same stream."""
            stream = table.__arrow_c_stream__()

            def __arrow_c_stream__(self, requested_schema=None):
                return self.stream
        self.assertEqual(list(model.score(Once())["probs"]), want)
        with self.assertRaisesRegex(trainyard.DataError, "rows were read already"):
            model.score(Once())
        with self.assertRaises(trainyard.TrainyardError) as caught:
            model.score(table.set_column(0, "user_id", pyarrow.array([{"a": 1}] * 1000)))
        self.assertEqual(caught.exception.code, "E2031")

    def test_training_that_a_signal_ended_and_rows_that_spoil_an_evaluation_are_told(self):
        def end():
            while not os.path.exists("run/run.json"):
                time.sleep(0.02)
            children = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True, check=False).stdout.split()
            for child in children:
                with contextlib.suppress(OSError), open(f"/proc/{child}/cmdline", encoding="utf-8") as f:
                    if "--model-dir=run" in f.read():
                        os.kill(int(child), signal.SIGTERM)

        threading.Thread(target=end).start()
        with self.assertWarnsRegex(UserWarning, r"stopped by a signal after \d+ steps; continue_=True goes on"):
            self.train(rows(2000, 1), rows(100, 2), set={"train_config.num_epochs": 100000})
        config = trainyard.init(rows(1000, 1), "plain.config", label="clicked", show=False)
        run = trainyard.train(config, show=False, set={"train_config.num_epochs": 1})
        self.write("bad.jsonl", "".join(json.dumps({**row, "price": 1e39 if i == 7 else 1.0}) + "\n" for i, row in enumerate(rows(20, 3))))
        with self.assertRaisesRegex(trainyard.DataError, r"row 8 of 'bad.jsonl': .* feature 'price' is inf") as caught:
            run.evaluate("bad.jsonl")
        self.assertEqual(caught.exception.code, "E2017")

    def test_the_config_of_a_run_names_no_file_that_is_gone(self):
        config = trainyard.init(rows(2000, 1), "c.config", label="clicked", show=False)
        once = {"train_config.num_epochs": 1}
        run = trainyard.train(config, train=rows(500, 2), eval=rows(500, 3), model_dir="r", set=once, show=False)
        kept = Config("r/pipeline.config")
        self.assertEqual((kept.train_input_path, kept.eval_input_path), ("c-data/train.parquet", "c-data/eval.parquet"))
        again = trainyard.Run("r/pipeline.config", "r")
        self.assertEqual(again.evaluate(), run.evaluate())
        more = trainyard.train("r/pipeline.config", train=rows(500, 4), model_dir="r", set={"train_config.num_epochs": 2}, continue_=True,
                               show=False)
        self.assertGreater(more.metrics["global_step"], run.history[0]["global_step"])
        trainyard.export("r/pipeline.config", "e", model_dir="r")

    def test_a_run_of_another_is_evaluated(self):
        run = self.train(rows(2000, 1), rows(500, 2))
        want = run.evaluate(rows(300, 3))
        os.remove("run/eval_result.txt")
        os.mkdir("run/eval_result.txt")  # root may write anywhere, but not to this
        self.assertEqual(run.evaluate(rows(300, 3)), want)
        with self.assertRaisesRegex(trainyard.TrainyardError, "eval_result.txt"):
            run.evaluate(rows(300, 3), eval_result_filename="eval_result.txt")

    def test_a_run_goes_on(self):
        self.train(rows(1000, 1), rows(100, 2), set={"train_config.num_epochs": 1})
        again = self.train(rows(1000, 1), rows(100, 2), set={"train_config.num_epochs": 2}, continue_=True)
        self.assertEqual(len(again.history), 2)
        self.assertIn("<polyline", again._repr_html_())
        self.assertIn("auc: ", repr(again.plot("auc")))
        third = trainyard.train(CONFIG, train=rows(100, 1), eval=rows(50, 2), model_dir="other", show=False,
                                **{"data_config.batch_size": 64, "train_config.num_epochs": 3})
        self.assertEqual(third.config.train_config.num_epochs, 3)
        self.assertGreaterEqual(third.metrics["global_step"], 3)

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
        with self.assertRaises(trainyard.DataError):
            Model.load("nowhere")
        with self.assertRaises(trainyard.UsageError):
            self.train(rows(10, 1), rows(10, 1), treads=2)

    def test_errors_speak_of_the_call_not_of_files_and_options(self):
        some = rows(300, 1)
        self.train(some, some, set={"train_config.num_epochs": 1}).export("export")
        def other(data, evaluated=some, **edits):
            return trainyard.train(CONFIG, train=data, eval=evaluated, model_dir="other", set={**self.edits, **edits}, show=False)
        cases = [(lambda: self.train(some, some), "use continue_=True to resume from it, or another model_dir"),
                 (lambda: trainyard.Run(Config(CONFIG), "run").export("export"), "say overwrite=True"),
                 (lambda: other([{**r, "clicked": "no"} for r in some]), "label 'clicked' of 'train'"),
                 (lambda: other(some, [{k: v for k, v in r.items() if k != "clicked"} for r in some]), "is not in 'eval'"),
                 (lambda: Model("export").predict(some, columns=["nope"]), "rows: there is no column 'nope'"),
                 (lambda: other(some, **{"train_config.num_epoch": 1}), "did you mean 'num_epochs'?"),
                 (lambda: trainyard.train(some, some), "a Config is wanted, not list"),
                 (lambda: trainyard.train("nowhere.config"), "nowhere.config: there is no such config"),
                 (lambda: Model.load("run"), "is no export, which export() makes")]
        for call, text in cases:
            with self.assertRaises(trainyard.TrainyardError) as caught:
                call()
            self.assertIn(text, str(caught.exception))
            self.assertNotIn("/tmp/trainyard-", str(caught.exception))
            again = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((type(again), str(again), again.code, again.problems),
                             (type(caught.exception), str(caught.exception), caught.exception.code, caught.exception.problems))

    def test_rows_come_as_columns_paths_or_with_gaps(self):
        some = rows(600, 1)
        columns = {name: [row[name] for row in some] for name in some[0]}
        with open("a.jsonl", "w", encoding="utf-8") as a, open("b.jsonl", "w", encoding="utf-8") as b:
            for i, row in enumerate(some):
                (a if i < 300 else b).write(json.dumps(row) + "\n")
        want = self.train(some, some, set={"train_config.num_epochs": 1}).metrics
        for name, data in {"columns": columns, "paths": ["a.jsonl", pathlib.Path("b.jsonl")]}.items():
            found = trainyard.train(CONFIG, train=data, eval=some, model_dir=pathlib.Path(name), show=False,
                                    set={**self.edits, "train_config.num_epochs": 1})
            self.assertEqual(found.metrics["global_step"], want["global_step"], name)
        gaps = [{**row, "price": float("nan") if i % 3 else row["price"]} for i, row in enumerate(some)]
        model = trainyard.train(CONFIG, train=gaps, eval=gaps, model_dir="gaps", show=False,
                                set={**self.edits, "train_config.num_epochs": 1}).export("export")
        self.assertEqual(list(model.predict(columns)), list(model.predict(some)[0]), "columns come back as columns")
        for bad, text in (({"a": [1], "b": [1, 2]}, "lists of one length"), ({"a": 1}, "lists of one length"),
                          ((r for r in some), "generator"), ([{"a": object()}], "row 0: column 'a': values of type object")):
            with self.assertRaises(trainyard.DataError) as caught:
                self.train(bad, some)
            self.assertIn(text, str(caught.exception))

    def test_a_model_is_copied_pickled_and_forked(self):
        some = rows(300, 1)
        model = self.train(some, some, set={"train_config.num_epochs": 1}).export("export")
        want = list(model.score(some)["probs"])
        self.assertEqual(list(pickle.loads(pickle.dumps(model)).score(some)["probs"]), want)
        self.assertEqual(list(copy.deepcopy(model).score(some)["probs"]), want)
        self.assertEqual(list(model.score(some[0])["probs"]), want[:1], "one row")
        with self.assertRaisesRegex(trainyard.DataError, "'age' is one value, others are lists"):
            model.score({**{k: [v] for k, v in some[0].items()}, "age": 3})
        pid = os.fork()
        if pid == 0:
            os._exit(0 if list(model.score(some)["probs"]) == want else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0, "scores in a forked process")
        other = Model.load("export")
        other.score(some)
        del model
        gc.collect()
        self.assertEqual(list(other.score(some)["probs"]), want, "a second model is its own")

    def test_an_interrupt_ends_training_and_it_can_go_on(self):
        code = (f"import signal, sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
                "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                "import test_models as t\n"
                "t.trainyard.train(t.CONFIG, train=t.rows(3000, 1), eval=t.rows(99, 2), model_dir='run', show=False,"
                " set={'train_config.num_epochs': 100000, 'data_config.batch_size': 64, 'train_config.save_checkpoints_steps': 100})")
        child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
        for _ in range(600):
            if os.path.isdir("run") and any(name.startswith("model.ckpt-") for name in os.listdir("run")):
                break
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", said)
        self.assertIn("continue_=True goes on", said)
        self.assertEqual([p for p in os.listdir("/proc") if p.isdigit() and self.works_here(p)], [], "nothing is left running")

    def works_here(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return b"--model-dir=run" in f.read() and os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(self.place)
        except OSError:
            return False

    @unittest.skipUnless(has("pandas", "pyarrow", "polars"), "pandas, pyarrow and polars are not installed")
    def test_tables_of_all_kinds_are_trained_and_scored_alike(self):
        import numpy
        import pandas
        import polars
        import pyarrow
        frame = pandas.DataFrame(rows(600, 1))
        edits = {"train_config.num_epochs": 1}
        model = self.train(frame, frame, set=edits).export("export")
        want = model.score(frame)["probs"].tolist()
        kinds = {"categories": frame.astype({"user_id": "category", "item_id": "category"}), "nullable": frame.astype({"age": "Int64"}),
                 "indexed": frame.set_index(["user_id", "age"]), "kept": frame.set_index("user_id", drop=False),
                 "lazy": polars.from_pandas(frame).lazy(),
                 "batch": pyarrow.RecordBatch.from_pandas(frame), "numpy": {c: frame[c].to_numpy() for c in frame},
                 "scalars": [{k: numpy.float64(v) if k == "price" else numpy.int64(v) for k, v in row.items()}
                             for row in frame.to_dict("records")]}
        for name, data in kinds.items():
            found = trainyard.train(CONFIG, train=data, eval=data, model_dir=name, show=False, set={**self.edits, **edits})
            self.assertEqual(found.metrics["global_step"], 3, name)
            if name != "indexed":  # an index is not a column to Arrow
                self.assertEqual(model.score(data)["probs"].tolist(), want, name)
            scored = model.predict(data)
            got = [row["probs"] for row in scored] if isinstance(scored, list) else list(scored["probs"])
            self.assertEqual([f32(p) for p in got], [f32(p) for p in want], name)
        odd = frame.set_axis(range(1000, 1600))
        self.assertEqual(list(model.predict(odd).index), list(odd.index), "scores have the index of the rows")
        mixed = frame.assign(age=[str(a) if i % 2 else a for i, a in enumerate(frame["age"])])
        for bad, text in ((mixed, "column age"), (pandas.concat([frame, frame[["age"]]], axis=1), "several columns 'age'")):
            with self.assertRaises(trainyard.DataError) as caught:
                self.train(bad, frame)
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(trainyard.DataError, r"df.iloc\[\[0\]\]"):
            model.score(frame.iloc[0])

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


class Capsules(Case):
    """What speaks Arrow's C data interface, well or badly: an error of this package's own, never of the process."""

    BREAKS = {
        "released rows": "rows.release = type(rows.release)()",
        "released schema": "schema.release = type(schema.release)()",
        "released column": "column.release = type(column.release)()",
        "released column schema": "schema.children[at].contents.release = type(schema.release)()",
        "no children": "rows.children = type(rows.children)()",
        "no child": "rows.children[at] = type(rows.children[at])()",
        "no schema children": "schema.children = type(schema.children)()",
        "no schema child": "schema.children[at] = type(schema.children[at])()",
        "no buffers": "column.buffers = type(column.buffers)()",
        "offset -8": "column.offset = -8",
        "offset -2^40": "column.offset = -2**40",
        "offset 2^62": "column.offset = 2**62",
        "offset of rows": "rows.offset = -1",
        "fewer children": "rows.n_children = schema.n_children = -1",
        "dictionary": "column.dictionary = ctypes.pointer(L.ArrowArray(release=L._keep_array))",
    }
    SCRIPT = """
import ctypes, sys, trainyard
from trainyard import _library as L
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
model = trainyard.Model.load("export")
names = {"user_id": 3, "age": 23, "item_id": 4, "price": 4.0}
class Rows:
    swapped = False
    def __init__(self, change):
        s, r, self.keep = next(L.batches([names] * 20))
        at = list(names).index("price")
        exec(change, {"schema": s.contents, "rows": r.contents, "column": r.contents.children[at].contents, "at": at, "ctypes": ctypes,
                      "L": L})
        self.capsules = [new(ctypes.addressof(s.contents), b"arrow_schema", None), new(ctypes.addressof(r.contents), b"arrow_array", None)]
    def __arrow_c_array__(self, requested_schema=None):
        return tuple(self.capsules[::-1] if self.swapped else self.capsules)
def outcome(rows):
    try:
        return bool(model.score(rows)["probs"][0] == want) or "other scores"
    except trainyard.DataError as e:
        return e.code or "DataError"
want = model.score([names])["probs"][0]
assert outcome(Rows("")) is True
for line in sys.stdin:
    print(line.rstrip() + ":", outcome(Rows(line)), flush=True)
swapped = Rows("")
swapped.swapped = True
print("swapped:", outcome(swapped))
print("texts:", outcome(type("X", (), {"__arrow_c_array__": lambda self: ("a", "b")})()))
stream = L.ArrowArrayStream()
capsule = new(ctypes.addressof(stream), b"arrow_array_stream", None)
print("stream:", outcome(type("X", (), {"__arrow_c_stream__": lambda self: capsule})()))
"""

    def model(self):
        return trainyard.train(CONFIG, train=rows(300, 1), eval=rows(50, 2), model_dir="run", show=False,
                        set={"train_config.num_epochs": 1, "data_config.batch_size": 100}).export("export")

    def test_numbers_that_are_none_mean_the_same_to_score_and_predict(self):
        r = random.Random(1)
        config = trainyard.init([{**row, "price": r.random()} for row in rows(600, 1)], label="clicked", show=False)
        model = trainyard.train(config, model_dir="run", show=False, set={"train_config.num_epochs": 1}).export("export")
        given = [{**row, "price": price} for row, price in zip(rows(3, 1), (1.0, float("nan"), None))]
        want = [s["probs"] for s in model.predict(given)]
        self.assertEqual(want[1], model.predict([{**given[1], "price": None}])[0]["probs"])
        kinds = [lambda rows: rows]
        if has("pyarrow"):
            import pyarrow
            kinds.append(pyarrow.Table.from_pylist)
        if has("pyarrow", "pandas"):
            import pandas
            kinds.append(pandas.DataFrame)
        if has("polars"):
            import polars
            kinds.append(polars.DataFrame)
        for kind in kinds:
            with self.subTest(kind=kind):
                self.assertEqual([f32(p) for p in model.score(kind(given))["probs"]], [f32(p) for p in want])
                if kind is not kinds[0]:
                    self.assertEqual([f32(p) for p in model.predict(kind(given))["probs"]], [f32(p) for p in want])
                with self.assertRaisesRegex(trainyard.DataError, "row 2: output '.*' is .*: feature 'price' is inf.*E2017"):
                    model.score(kind([given[0], {**given[1], "price": float("inf")}]))

    def test_what_is_broken_is_an_error_not_a_crash(self):
        self.model()
        for first in range(len(self.BREAKS) + 1):  # one at a time: a crash names the case
            changes = list(self.BREAKS.values())[first:first + 1]
            ran = subprocess.run([sys.executable, "-c", self.SCRIPT], input="\n".join(changes), capture_output=True, text=True)
            with self.subTest(*changes):
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertNotRegex(ran.stdout, "True|other")
                self.assertEqual(ran.stdout.count("E2032") + ran.stdout.count("DataError"), len(changes) + 3, ran.stdout)


def load_tests(loader, tests, pattern):
    return load_doctests(tests, ["trainyard.errors", "trainyard.frames", "trainyard.models", "trainyard._library"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
