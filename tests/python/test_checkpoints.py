# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and exports as arrays of numpy and state dicts of PyTorch."""
import importlib.util
import os
import subprocess
import unittest

from place import PROGRAM, SOURCE, Case, load_doctests, trainyard

CONFIG = os.path.join(SOURCE, "examples/quickstart/pipeline.config")
EDITS = {"data_config.batch_size": 128, "data_config.num_workers": 1}


def has(*modules):
    return all(importlib.util.find_spec(m) for m in modules)


def rows(n):
    return [{"user_id": i % 50, "age": 20 + i % 30, "item_id": i % 20, "price": i / 4, "clicked": int(i * i % 3 == 1)} for i in range(n)]


class Trained(Case):
    """A run of 8 steps per pass."""

    def setUp(self):
        super().setUp()
        import json
        self.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows(1000)))

    def train(self, model_dir, epochs=1, **more):
        return trainyard.train(CONFIG, train="rows.jsonl", eval="rows.jsonl", model_dir=model_dir, show=False, threads=1,
                               set={**EDITS, "train_config.num_epochs": epochs}, **more)


@unittest.skipUnless(has("numpy"), "numpy is not installed")
class Arrays(Trained):
    """As numpy has them."""

    def test_embeddings_have_ids_and_vectors(self):
        run = self.train("run")
        self.assertEqual(run.tables(), sorted(f"{n}_emb{w}" for n in ("user_id", "age", "item_id", "price") for w in ("", "_wide")))
        users = run.embeddings("user_id")
        self.assertEqual((users.vectors.shape, users.vectors.dtype.name, len(users.ids)), ((50, 16), "float32", 50))
        self.assertEqual(run.embeddings("user_id_emb_wide").vectors.shape, (50, 4))
        batch = next(trainyard.features.read(CONFIG, rows(50), use="predict"))
        self.assertEqual(sorted(users.ids), sorted(batch["user_id"].values))
        near = users.nearest(users.vectors[3], 5)
        scores = near.vectors @ users.vectors[3]
        self.assertEqual(list(scores), sorted(scores, reverse=True))
        for state, more, text in (({"w": "x"}, {}, "w: a tensor is wanted, not str"),
                                  ({"w": users.vectors}, {"step": -5}, "step: a number from 0 on"),
                                  ({"w": users.vectors}, {"step": True}, "step: a number from 0 on")):
            with self.assertRaisesRegex(trainyard.CheckpointError, text):
                trainyard.save_state_dict(state, "saved", **more)
        for vector, k in ((users.vectors[3][:5], 5), ([float("nan")] * 16, 5), (users.vectors[3], -1)):
            with self.assertRaisesRegex(trainyard.TrainyardError, "^nearest: "):
                users.nearest(vector, k)
        with self.assertRaises(trainyard.CheckpointError) as caught:
            run.embeddings("uid")
        self.assertIn("there is no table 'uid'; there are age_emb, ", str(caught.exception))
        with self.assertRaises(trainyard.CheckpointError):
            trainyard.embeddings("nowhere", "uid")

    def test_embeddings_of_an_export_are_those_of_its_checkpoint(self):
        run = self.train("run")
        want = run.embeddings("user_id")
        largest = abs(want.vectors).max()
        for kind, tolerance in (("f32", 0), ("bf16", 0.01), ("f16", 0.001), ("int8", 0.01), ("int4", 0.1), ("int2", 0.4)):
            found = run.export(kind, table_type=kind, sample_input="rows.jsonl").embeddings("user_id")
            self.assertEqual(found.vectors.shape, (100000, 16))
            off = abs(found.vectors[want.ids] - want.vectors).max()
            self.assertLessEqual(off, tolerance * largest, kind)
            self.assertEqual(off == 0, kind == "f32")

    def test_keys_of_a_table_that_grows_are_the_ids(self):
        with open(CONFIG, encoding="utf-8") as f:
            text = f.read().replace("    hash_bucket_size: 50000\n", "    zch { zch_size: 64 eviction_interval: 2 lfu {} }\n")
        self.write("zch.config", text)
        run = trainyard.train("zch.config", train="rows.jsonl", eval="rows.jsonl", model_dir="z", show=False, set=EDITS)
        batch = next(trainyard.features.read("zch.config", rows(20), use="predict"))
        self.assertEqual(sorted(run.embeddings("item_id").ids), sorted(batch["item_id"].values))


@unittest.skipUnless(has("torch"), "torch is not installed")
class StateDicts(Trained):
    """As PyTorch has them."""

    def newest(self, model_dir):
        from trainyard import _ckpt
        opened = _ckpt.Checkpoint(model_dir)
        return opened.step, {name: opened[name].tobytes() for name in opened}, opened.state

    def test_training_goes_on_from_a_state_dict_as_from_the_checkpoint(self):
        import torch
        self.train("whole", epochs=2)
        first = self.train("first")
        torch.save(first.state_dict(), "first.pth")
        path = trainyard.save_state_dict(torch.load("first.pth"), "second")
        self.assertEqual(path, os.path.join("second", f"model.ckpt-{self.newest('first')[0]}"))
        self.assertEqual(self.newest("first"), self.newest("second"))
        self.train("second", epochs=2, continue_=True)
        step, tensors, _ = self.newest("second")
        want_step, want, _ = self.newest("whole")
        self.assertEqual((step, sorted(tensors)), (want_step, sorted(want)))
        self.assertEqual([name for name in want if tensors[name] != want[name]], [])

    def test_weights_of_a_module_take_the_place_of_a_checkpoints(self):
        import torch
        run = self.train("run")
        state = run.state_dict("model")
        table = next(name for name in state if name.endswith("user_id_emb.weight"))
        self.assertEqual(tuple(state[table].shape), (100000, 16))
        bag = torch.nn.EmbeddingBag(100000, 16)
        bag.load_state_dict({"weight": state[table]})
        state[table][7] = 1.5
        state["model.output_mlp.bias"][0] = 0.25
        trainyard.save_state_dict(state, "changed", like="run")
        subprocess.run([PROGRAM, "params", "changed"], check=True, capture_output=True)
        again = trainyard.state_dict("changed", "model")
        self.assertEqual(sorted(again), sorted(state))
        self.assertTrue(all(torch.equal(again[name], state[name]) for name in state))
        self.train("changed", epochs=2, continue_=True)
        self.assertGreater(self.newest("changed")[0], self.newest("run")[0])
        with self.assertRaises(trainyard.CheckpointError) as caught:
            trainyard.save_state_dict({"model.output_mlp.bias": torch.zeros(2)}, "bad", like="run")
        self.assertIn("model.output_mlp.bias: its shape is (2,), the checkpoint's (1,)", str(caught.exception))
        with self.assertRaises(trainyard.CheckpointError):
            trainyard.save_state_dict({"odd": torch.zeros(2)}, "bad", like="run")

    def test_weights_alone_serve_to_fine_tune(self):
        run = self.train("run")
        state = {name: value for name, value in run.state_dict().items() if name != "trainyard.manifest"}
        trainyard.save_state_dict(state, "weights")
        with self.assertRaises(trainyard.CheckpointError):
            trainyard.save_state_dict(state, "weights")
        self.train("tuned", fine_tune="weights")


def load_tests(loader, tests, pattern):
    return load_doctests(tests, ["trainyard.checkpoint"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
