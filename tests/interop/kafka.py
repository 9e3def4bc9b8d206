# SPDX-License-Identifier: Apache-2.0
"""kafka:// against Apache Kafka: rows, partitions, times, groups, training and resume."""
import glob
import json
import os
import socket
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

ty, jars = sys.argv[1:3]
checks = 0


def check(ok, what):
    global checks
    checks += 1
    if not ok:
        sys.exit(f"kafka: FAILED: {what}")


def run(*args, rc=0, timeout=120):
    p = subprocess.run([ty, *args], capture_output=True, text=True, timeout=timeout)
    check(p.returncode == rc, f"{args}: exit status {p.returncode}: {p.stderr}")
    return p


def rows(url):
    out = run("data", "head", "--json", "-n", "1000000", url).stdout
    return [json.loads(line) for line in out.splitlines()]


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


def start_broker():
    a, b = free_ports(2)
    with open("server.properties", "w") as f:
        f.write(f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{b}
listeners=PLAINTEXT://127.0.0.1:{a},CONTROLLER://127.0.0.1:{b}
advertised.listeners=PLAINTEXT://127.0.0.1:{a}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={os.getcwd()}/logs
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
""")
    java = ["java", "-Xmx384m", "-cp", f"{jars}/*"]
    subprocess.run(java + ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c",
                           "server.properties"], check=True, capture_output=True)
    return a, subprocess.Popen(java + ["kafka.Kafka", "server.properties"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)


def stream(batch):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as w:
        w.write_batch(batch)
    return sink.getvalue().to_pybytes()


port, broker = start_broker()
try:
    servers = f"127.0.0.1:{port}"
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    for _ in range(60):
        try:
            admin.list_topics(timeout=2)
            break
        except Exception:
            time.sleep(0.5)
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})

    def topic(name, partitions):
        for f in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            f.result(30)

    def send(name, partition, data, ms=0):
        producer.produce(name, value=data, partition=partition, timestamp=ms)
        check(producer.flush(30) == 0, "a message is delivered")

    at = f"kafka://{servers}"
    end = "stop.at.end=true"
    early = f"group.id=g&auto.offset.reset=earliest&{end}"

    # Rows of three partitions; message k has ids 10k .. 10k+9, and the time 1000k.
    topic("t", 3)
    for k in range(12):
        send("t", k % 3, stream(pa.record_batch([pa.array(range(10 * k, 10 * k + 10), pa.int64()),
                                                 [f"m{k}"] * 10], names=["id", "s"])), ms=1000 * k + 1)
    got = rows(f"{at}/t?{early}")
    check(sorted(r["id"] for r in got) == list(range(120)), "every row once")
    check([r["id"] for r in rows(f"{at}/t?{early}#1")] ==
          [i for k in (1, 4, 7, 10) for i in range(10 * k, 10 * k + 10)], "one partition, in order")
    check(sorted(r["id"] for r in rows(f"{at}/t?{early}&start.timestamp.ms=7000")) == list(range(70, 120)),
          "from a time on")
    check(rows(f"{at}/t?group.id=g&auto.offset.reset=latest&{end}") == [], "the end has no rows")
    # Where the group's committed offset is.
    from confluent_kafka import Consumer, TopicPartition
    c = Consumer({"bootstrap.servers": servers, "group.id": "h", "log_level": 0})
    c.commit(offsets=[TopicPartition("t", p, 2) for p in range(3)], asynchronous=False)
    c.close()
    check(sorted(r["id"] for r in rows(f"{at}/t?group.id=h&auto.offset.reset=earliest&{end}")) ==
          list(range(60, 120)), "from the group's offsets on")
    p = run("data", "head", f"{at}/none?{early}", rc=1)
    check("error[E1804]" in p.stderr and "topic 'none'" in p.stderr, p.stderr)

    # Training, with a schema in the messages and without, stopped and continued.
    n = 4000
    rng = np.random.default_rng(2)
    user, cate = rng.integers(0, 50, n), rng.integers(0, 20, n)
    clk = (rng.random(n) < 0.2 + 0.6 * (user % 2)).astype("int64")
    tags = [list(map(int, rng.integers(0, 9, rng.integers(0, 4)))) for _ in range(n)]
    batch = pa.record_batch([user, cate, pa.array(tags, pa.list_(pa.int64())), clk],
                            names=["user_id", "cate_id", "tags", "clk"])
    topic("train", 2)
    topic("bare", 2)
    for k, lo in enumerate(range(0, n, 250)):
        part = batch.slice(lo, 250)
        send("train", k % 2, stream(part))
        send("bare", k % 2, part.serialize().to_pybytes())
    config = """
train_config {
  num_epochs: 1 save_checkpoints_steps: 10
  sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} }
}
data_config { batch_size: 100 dataset_type: KafkaDataset fg_mode: FG_DAG label_fields: "clk" FIELDS }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "cate_id" expression: "item:cate_id"
  hash_bucket_size: 500 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "tags" expression: "item:tags"
  hash_bucket_size: 100 embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "wide" group_type: WIDE feature_names: ["user_id", "cate_id", "tags"] }
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "cate_id", "tags"] }
  deepfm { deep { hidden_units: [8] } final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} }
}
"""
    fields = 'input_fields_str: "user_id:BIGINT;cate_id:INT64;tags:ARRAY<BIGINT>;clk:BIGINT"'
    for name, text in (("train", ""), ("bare", fields)):
        with open("c.config", "w") as f:
            f.write(config.replace("FIELDS", text))
        with open("first.config", "w") as f:
            f.write(config.replace("FIELDS", text).replace("num_epochs: 1", "num_steps: 13"))
        url = f"{at}/{name}?{early}"
        run("train", "c.config", "--model-dir", f"{name}-whole", "--train-input", url)
        run("train", "first.config", "--model-dir", f"{name}-part", "--train-input", url)
        run("train", "c.config", "--model-dir", f"{name}-part", "--train-input", url, "--continue")
        for d in (f"{name}-whole", f"{name}-part"):
            check(os.path.isdir(f"{d}/model.ckpt-39"), f"{d}: steps 0 to 39 of 100 rows: {glob.glob(d + '/*')}")

    print(f"kafka: {checks} checks against Apache Kafka 3.9.1")
finally:
    broker.terminate()
    broker.wait()
