# SPDX-License-Identifier: Apache-2.0
"""Batches of features inside this process: numpy arrays and tensors of PyTorch."""
import gc
import importlib.util
import os
import pickle
import signal
import subprocess
import unittest

from place import PROGRAM, SOURCE, Case, load_doctests, trainyard
from trainyard import features

EXAMPLES = os.path.join(SOURCE, "examples")
CONFIG = "plain.config"


def write_config():
    """The quick start's, with prices as numbers and rows in the order of the file."""
    with open(os.path.join(EXAMPLES, "quickstart/pipeline.config"), encoding="utf-8") as f:
        text = f.read()
    for part in ("    boundaries: [1, 5, 10, 50, 100]\n    embedding_dim: 16\n", "  num_workers: 2\n"):
        assert part in text
        text = text.replace(part, "")
    with open(CONFIG, "w", encoding="utf-8") as f:
        f.write(text.split("model_config")[0])  # a model is not needed


def has(*modules):
    return all(importlib.util.find_spec(m) for m in modules)


def rows(n):
    return [{"user_id": i % 50, "age": 20 + i % 30, "item_id": i % 20, "price": i / 4, "clicked": int(i % 3 == 0)} for i in range(n)]


@unittest.skipUnless(has("numpy"), "numpy is not installed")
class Arrays(Case):
    """As numpy has them."""

    def setUp(self):
        super().setUp()
        write_config()

    def taobao(self, n=3000):
        subprocess.run([PROGRAM, "data", "gen", "taobao", "--rows", str(n), "--out", "taobao"], check=True, capture_output=True)

    @unittest.skipUnless(has("pyarrow"), "pyarrow is not installed")
    def test_integers_without_sign_fall_where_their_digits_fall(self):
        import pyarrow
        u64, i64, text, big = pyarrow.uint64(), pyarrow.int64(), pyarrow.string(), 2**63
        config = ('data_config {{ batch_size: 8 dataset_type: ParquetDataset fg_mode: {0} label_fields: "y" }}\n'
                  'feature_configs {{ id_feature {{ feature_name: "a" expression: "user:a" {1} }} }}\n'
                  'feature_configs {{ id_feature {{ feature_name: "l" expression: "user:l" {1} }} }}\n'
                  'feature_configs {{ raw_feature {{ feature_name: "n" expression: "user:n" }} }}\n'
                  'feature_configs {{ id_feature {{ feature_name: "m" expression: "user:m" weighted: true {1} }} }}\n')

        def batch(kind, add, number):
            """Integers of a type, `add` to some; or their texts."""
            made = str if kind == text else int
            ids = pyarrow.array([made(add + 1), made(2), None], kind)
            lists = pyarrow.array([[made(1), made(add + 3)], None, [made(4)]], pyarrow.list_(kind))
            maps = pyarrow.array([[(made(add + 1), 0.5), (made(2), 2.0)], None, []], pyarrow.map_(kind, pyarrow.float32()))
            numbers = pyarrow.array([add + 1.0, 2.0, 3.0] if number == pyarrow.float64() else [add + 1, 2, 3], number)
            table = pyarrow.table({"a": ids, "l": lists, "m": maps, "n": numbers, "y": [0, 1, 0]})
            found = next(iter(features.read("ids.config", table)))
            return [found[name].values.tolist() for name in ("a", "l", "m")], found["m"].weights.tolist(), found["n"].tolist()

        for mode, buckets in (("FG_NORMAL", "num_buckets: 10"), ("FG_NORMAL", "hash_bucket_size: 1000"), ("FG_NONE", "num_buckets: 10"),
                              ("FG_DAG", f'vocab_list: ["1", "2", "{big + 1}"]')):
            self.write("ids.config", config.format(mode, buckets))
            self.assertEqual(batch(u64, 0, u64), batch(i64, 0, i64), (mode, buckets))
            if mode != "FG_NONE":
                self.assertEqual(batch(u64, big, u64), batch(text, big, pyarrow.float64()), (mode, buckets))
                continue
            with self.assertRaises(trainyard.DataError) as caught:
                batch(u64, big, u64)
            self.assertIn("row 1 of 'rows': 9223372036854775809 is not an integer of 64 bits with sign", str(caught.exception))

    def test_a_batch_has_ids_numbers_and_labels(self):
        source = features.Source(CONFIG, rows(1000), batch_size=400, use="eval")
        self.assertEqual([(c.name, c.kind, c.sparse) for c in source.columns],
                         [("user_id", "feature", True), ("age", "feature", True), ("item_id", "feature", True),
                          ("price", "feature", False), ("clicked", "label", False)])
        batches = list(source)
        self.assertEqual([b.rows for b in batches], [400, 400, 200])
        prices = [x for b in batches for x in b["price"].reshape(-1).tolist()]
        self.assertEqual(prices, [r["price"] for r in rows(1000)])
        clicked = [x for b in batches for x in b.labels["clicked"].tolist()]
        self.assertEqual(clicked, [float(r["clicked"]) for r in rows(1000)])
        ids = batches[0]["item_id"]
        self.assertEqual(ids.offsets.tolist(), list(range(401)))
        self.assertEqual(len(set(ids.values[:20].tolist())), 20)
        self.assertEqual(ids.values[:20].tolist(), ids.values[20:40].tolist())
        self.assertEqual(ids.lengths().tolist(), [1] * 400)

    def test_arrays_are_the_librarys_memory_and_live_on_their_own(self):
        kept = [b["price"] for b in features.read(CONFIG, rows(1000), batch_size=100, use="eval")]
        gc.collect()
        self.assertEqual([float(a.reshape(-1)[0]) for a in kept], [25.0 * i for i in range(10)])
        self.assertFalse(kept[0].flags.owndata)

    def test_an_id_is_the_same_as_text_and_as_number(self):
        one = next(features.read(CONFIG, rows(8), use="predict"))
        self.assertEqual(one.labels, {})
        again = next(features.read(CONFIG, [{k: str(v) if k == "user_id" else v for k, v in r.items()} for r in rows(8)],
                                   use="predict"))
        self.assertEqual(one["user_id"].values.tolist(), again["user_id"].values.tolist())

    def test_sequences_have_steps(self):
        self.taobao()
        source = features.Source(os.path.join(EXAMPLES, "din-taobao.config"), "taobao/train", batch_size=256)
        sequences = [c for c in source.columns if c.sequence]
        self.assertTrue(sequences)
        batch = next(iter(source))
        for column in sequences:
            jagged = batch[column.name]
            self.assertEqual(len(jagged.steps), 257)
            self.assertEqual(jagged.step_offsets[-1], len(jagged.values))
            self.assertEqual(jagged.step_offsets[jagged.steps[-1]], jagged.offsets[-1])

    def test_negatives_come_with_their_counts(self):
        self.taobao()
        subprocess.run([PROGRAM, "data", "items", "taobao/train", "taobao/eval", "--item", "adgroup_id", "--attrs",
                        "adgroup_id,cate_id,brand,price", "--out", "taobao/tables"], check=True, capture_output=True)
        batch = next(features.read(os.path.join(EXAMPLES, "dssm-taobao.config"), "taobao/train", batch_size=64))
        self.assertEqual(batch.item_rows, 64 + batch.common_negatives)
        self.assertGreater(batch.common_negatives, 0)

    def test_data_goes_on_behind_a_batch(self):
        edits = {"data_config.shuffle": True, "data_config.shuffle_buffer_size": 4}
        first = features.Source(CONFIG, rows(2000), batch_size=100, set=edits, seed=5, positions=True)
        whole = [b["price"].reshape(-1).tolist() for b in first]
        second = features.Source(CONFIG, first._input, batch_size=100, set=edits, seed=5, positions=True)
        it = iter(second)
        for _ in range(7):
            next(it)
        state = second.state_dict()
        del it
        third = features.Source(CONFIG, first._input, batch_size=100, set=edits, positions=True)
        third.load_state_dict(state)
        self.assertEqual([b["price"].reshape(-1).tolist() for b in third], whole[7:])
        self.assertNotEqual(whole, [b["price"].reshape(-1).tolist() for b in first], "the next pass has an order of its own")

    def test_a_process_that_was_forked_ends_and_is_told(self):
        data = features.Source(CONFIG, rows(20000), batch_size=64)  # more batches than are read ahead
        it = iter(data)
        held = next(it)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                try:
                    next(it)
                except trainyard.DataError as e:
                    told = "iterate anew in this one" in str(e)
                it.close()
                anew = sum(b.rows for b in data)
                del held, it
                gc.collect()
                os._exit(0 if told and anew == 20000 else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(held.rows + sum(b.rows for b in it), 20000, "the parent reads on")

    def test_a_position_that_nobody_keeps_is_no_state(self):
        data = features.Source(CONFIG, rows(300), batch_size=100)
        self.assertEqual(data.state_dict()["position"], "", "nothing was read yet")
        next(iter(data))
        with self.assertRaisesRegex(trainyard.DataError, "give positions=True"):
            data.state_dict()
        for state in ({}, {"epoch": "x", "seed": 0, "position": ""}):
            with self.assertRaisesRegex(trainyard.DataError, "no state_dict"):
                data.load_state_dict(state)

    def test_some_features_are_enough(self):
        batch = next(features.read(CONFIG, rows(10), features=["price"]))
        self.assertEqual((list(batch.features), list(batch.labels)), (["price"], ["clicked"]))
        with self.assertRaises(trainyard.DataError):
            next(features.read(CONFIG, rows(10), features=["prize"]))

    def test_errors_have_a_code_a_file_and_a_line(self):
        self.write("bad.config", 'model_dir: "a"\nmodel_dri: "b"\n')
        with self.assertRaises(trainyard.ConfigError) as caught:
            next(features.read("bad.config", rows(1)))
        self.assertEqual((caught.exception.file, caught.exception.line), ("bad.config", 2))
        self.assertTrue(caught.exception.code)
        with self.assertRaises(trainyard.DataError) as caught:
            next(features.read(CONFIG, "nowhere.parquet"))
        self.assertIn("nowhere.parquet", str(caught.exception))
        with self.assertRaisesRegex(trainyard.DataError, "label 'clicked' is not in 'rows'"):
            next(features.read(CONFIG, [{"user_id": 1}]))
        with self.assertRaises(ValueError):
            features.read(CONFIG, rows(1), use="test")


@unittest.skipUnless(has("torch"), "torch is not installed")
class Tensors(Case):
    """As PyTorch has them."""

    def setUp(self):
        super().setUp()
        write_config()

    def dataset(self, data, **more):
        from trainyard.torch import FeatureDataset
        return FeatureDataset(CONFIG, data, **{"batch_size": 100, "use": "eval", **more})

    def prices(self, batches):
        return [x for b in batches for x in b["price"].reshape(-1).tolist()]

    def test_a_data_loader_gives_every_row_once_whatever_its_workers(self):
        from torch.utils.data import DataLoader
        data = self.dataset(rows(1000))
        want = [r["price"] for r in rows(1000)]
        self.assertEqual(self.prices(data), want)
        for workers in (0, 1, 2):
            found = self.prices(DataLoader(data, batch_size=None, num_workers=workers))
            self.assertEqual(sorted(found), want, f"{workers} workers")
        parts = [self.prices(self.dataset(data.source._input, rank=r, world_size=2)) for r in (0, 1)]
        self.assertEqual(parts[0] + parts[1], want)

    def test_tensors_feed_an_embedding_bag(self):
        import torch
        data = self.dataset(rows(300))
        sizes = {c.name: c.num_embeddings for c in data.columns}
        table = torch.nn.EmbeddingBag(sizes["user_id"], 4, mode="sum", include_last_offset=True)
        for batch in data:
            ids = batch["user_id"]
            self.assertEqual(table(ids.values, ids.offsets).shape, (100, 4))
            self.assertEqual((ids.values.dtype, batch["price"].dtype), (torch.int64, torch.float32))
            moved = batch.to("cpu")
            self.assertTrue(torch.equal(moved["user_id"].values, ids.values))

    def test_tensors_outlive_the_dataset(self):
        kept = [b["user_id"].values for b in self.dataset(rows(1000))]
        gc.collect()
        self.assertEqual([len(t) for t in kept], [100] * 10)
        self.assertEqual(kept[0].tolist()[:50], kept[9].tolist()[:50])

    def test_the_dataset_is_pickled_to_workers_that_are_spawned(self):
        data = self.dataset("nowhere.parquet")
        self.assertEqual(pickle.loads(pickle.dumps(data)).source.config.path, CONFIG)

    def test_positions_are_a_state_dict(self):
        data = self.dataset(rows(1000), positions=True)
        it = iter(data)
        first = [next(it)["price"].reshape(-1).tolist() for _ in range(3)]
        state = data.state_dict()
        other = self.dataset(data.source._input, positions=True)
        other.load_state_dict(state)
        self.assertEqual([x for part in first for x in part] + self.prices(other), [r["price"] for r in rows(1000)])

    def test_a_position_of_workers_is_not_that_of_the_dataset(self):
        from torch.utils.data import DataLoader
        for start in ("fork", "spawn"):
            data = self.dataset(rows(1000), positions=True)
            self.assertEqual(data.state_dict()["position"], "", "nothing was read yet")
            next(iter(DataLoader(data, batch_size=None, num_workers=1, multiprocessing_context=start)))
            with self.assertRaisesRegex(trainyard.DataError, "read by other processes"):
                data.state_dict()

    def test_pinned_batches_are_for_cards(self):
        import torch
        if not torch.cuda.is_available():
            self.skipTest("there is no card")
        batch = next(iter(self.dataset(rows(100), pin_memory=True)))
        self.assertTrue(batch["price"].is_pinned())
        self.assertEqual(batch.to("cuda", non_blocking=True)["price"].device.type, "cuda")
        from torch.utils.data import DataLoader
        for workers in (0, 1):
            batch = next(iter(DataLoader(self.dataset(rows(100)), batch_size=None, num_workers=workers, pin_memory=True)))
            self.assertTrue(batch["user_id"].offsets.is_pinned() and batch.labels["clicked"].is_pinned())

    def test_every_tensor_of_a_batch_is_pinned_by_the_dataset_and_by_a_data_loader(self):
        from unittest import mock

        import torch
        from torch.utils.data._utils.pin_memory import pin_memory  # what a DataLoader calls for each batch
        pinned = []

        def pin(tensor, *unused):
            pinned.append(tensor.clone())
            return pinned[-1]

        with mock.patch.object(torch.Tensor, "pin_memory", pin):
            ours = next(iter(self.dataset(rows(100), pin_memory=True)))
            theirs = pin_memory(next(iter(self.dataset(rows(100)))))
        for batch in (ours, theirs):
            held = []
            batch.map(held.append)
            self.assertEqual(len(held), 8)  # three times ids and offsets, the price, the label
            self.assertTrue(all(any(t is p for p in pinned) for t in held))
            self.assertEqual(batch.rows, 100)


def load_tests(loader, tests, pattern):
    return load_doctests(tests, ["trainyard.features"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
