# SPDX-License-Identifier: Apache-2.0
"""What TensorBoard reads from m/ equals what the run said it did."""
import json

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def load(path):
    sizes = {"scalars": 0, "histograms": 0, "tensors": 0}
    a = EventAccumulator(path, size_guidance=sizes)
    a.Reload()
    return a


said = [json.loads(l) for f in ("first.jsonl", "second.jsonl") for l in open(f)]
progress = {e["step"]: e for e in said if e.get("event") == "progress"}
evals = {e["step"]: e for e in said if e.get("event") == "evaluation"}

train = load("m")
tags = train.Tags()
print("scalars:", tags["scalars"])
print("histograms:", tags["histograms"][:4], "...")
for tag, key in (("loss/total", "loss"), ("loss/binary_cross_entropy", "loss"), ("samples_per_second", "rows_per_s")):
    got = {s.step: s.value for s in train.Scalars(tag)}
    assert sorted(got) == sorted(progress), (tag, sorted(got), sorted(progress))
    for step, e in progress.items():
        assert abs(got[step] - e[key]) <= 1e-6 + 1e-3 * abs(e[key]) + (0.51 if key != "loss" else 0), (
            tag, step, got[step], e[key])
rates = [s.value for s in train.Scalars("lr/g1")]
assert rates[0] > rates[-1] > 0, rates
assert all(abs(s.value - 0.01) < 1e-9 for s in train.Scalars("lr/g0"))
assert all(s.value > 0 for s in train.Scalars("global_gradient_norm"))
assert "metric/auc" in tags["scalars"] and "wait_percent" in tags["scalars"]
weights = [t for t in tags["histograms"] if t.endswith("weight")]
grads = [t for t in tags["histograms"] if t.endswith("/gradient")]
assert weights and grads
h = train.Histograms(weights[0])[0].histogram_value
assert h.num > 0 and h.min < h.max and abs(sum(h.bucket) - h.num) < 0.5
config = train.Tensors("pipeline.config")[0].tensor_proto.string_val[0].decode()
assert "multi_tower" in config
assert train.SummaryMetadata("pipeline.config").plugin_data.plugin_name == "text"

val = load("m/eval_val")
got = {s.step: s.value for s in val.Scalars("metric/auc")}
assert sorted(got) == sorted(evals), (sorted(got), sorted(evals))
for step, e in evals.items():
    assert abs(got[step] - e["auc"]) < 1e-5
print(f"read_events.py: {len(progress)} reports and {len(evals)} evaluations agree")
