# SPDX-License-Identifier: Apache-2.0
"""drive.py CHECKOUT WORK CASE... - runs TorchEasyRec's own train_and_evaluate() on each WORK/CASE,
a directory with c.config and its data, in the Python environment that it is started with.

Beside what the program writes, a case gets first/ (the weights before the first step, as a checkpoint of
Trainyard) and reference.json: the loss of each step, the last evaluation, the time of the steps and of
the whole call, or the error. Packages that no registry has (pyfg, graphlearn, common_io) are replaced by
empty modules: a case that calls one of them fails with its name."""
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import shutil
import signal
import socket
import sys
import time
import traceback
import types

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # before torch looks
import torch  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE, TRIES = int(os.environ.get("PATIENCE", "60")), 3  # seconds of a case
CLOSED = ("pyfg", "graphlearn", "common_io", "feature_store_py")


class Absent:
    """Anything of a package that is not here; using it is an error that says so."""

    def __init__(self, name):
        self.__name__ = name

    def __getattr__(self, name):
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{self.__name__} is not here")


class Closed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of packages that are not here: everything in them is Absent."""

    def __init__(self):
        self.names = {name for name in CLOSED if not importlib.util.find_spec(name)}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__file__ = f"{spec.name}.py"
        module.__getattr__ = lambda attr: self.absent(f"{spec.name}.{attr}", attr)
        return module

    @staticmethod
    def absent(name, attr):
        if attr.startswith("__"):
            raise AttributeError(name)
        return Absent(name)

    def exec_module(self, module):
        pass


def generate(checkout, work):
    """The modules of the checkout's .proto files, outside of the checkout."""
    import glob
    import grpc_tools
    from grpc_tools import protoc
    files = [os.path.relpath(f, checkout) for f in glob.glob(f"{checkout}/tzrec/protos/**/*.proto", recursive=True)]
    out = f"{work}/protos"
    os.makedirs(out, exist_ok=True)
    known = os.path.join(os.path.dirname(grpc_tools.__file__), "_proto")
    if protoc.main(["protoc", f"-I{checkout}", f"-I{known}", f"--python_out={out}", *files]):
        sys.exit("drive.py: protoc failed")
    return out


class Protos:
    """Finds tzrec.protos.* among the generated modules when the checkout has none."""

    def __init__(self, root):
        self.root = root

    def find_spec(self, name, path=None, target=None):
        file = f"{self.root}/{name.replace('.', '/')}.py"
        if name.endswith("_pb2") and os.path.exists(file):
            return importlib.util.spec_from_file_location(name, file)
        return None


def whole(tensor):
    """A tensor of a state dict, also when it is sharded over this one process."""
    if hasattr(tensor, "local_shards"):
        full = torch.empty(tensor.size())
        for shard in tensor.local_shards():
            at = tuple(slice(o, o + n) for o, n in zip(shard.metadata.shard_offsets, shard.metadata.shard_sizes))
            full[at] = shard.tensor
        return full
    return tensor.detach().clone()


def our_checkpoints():
    sys.path.insert(0, os.path.join(HERE, "../../../python"))
    import trainyard_ckpt
    return trainyard_ckpt


class Watch:
    """Stands around two functions of tzrec.main."""

    def __init__(self, main):
        self.train, self.log = main._train_and_evaluate, main._log_train
        main._train_and_evaluate, main._log_train = self.around_train, self.around_log
        self.tc = our_checkpoints()

    def begin(self, directory):
        self.directory, self.losses, self.seconds = directory, {}, 0.0

    def around_train(self, model, *args, **kwargs):
        pairs = (self.tc.as_ours(name, whole(t)) for name, t in model.module.state_dict().items())
        self.tc.save(f"{self.directory}/first", dict(p for p in pairs if p))
        start = time.perf_counter()
        self.train(model, *args, **kwargs)
        self.seconds = time.perf_counter() - start

    def around_log(self, step, losses, *args, **kwargs):
        self.losses[step] = sum(float(v) for v in losses.values())
        return self.log(step, losses, *args, **kwargs)


def evaluation(directory):
    path = f"{directory}/m/train_eval_result_v2.txt"
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        return json.loads(f.read().strip().splitlines()[-1])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Hung(Exception):
    """A worker of the data loader, forked beside threads, sometimes waits for ever."""


def on_alarm(signum, frame):
    raise Hung("no end in sight")


def try_case(main, directory, watch):
    for name in ("m", "first"):
        shutil.rmtree(f"{directory}/{name}", ignore_errors=True)
    watch.begin(directory)
    torch.manual_seed(7)
    signal.alarm(PATIENCE)
    main.train_and_evaluate("c.config")
    return {"losses": [watch.losses[k] for k in sorted(watch.losses)], "metrics": evaluation(directory)}


def run_case(main, dist, watch, directory):
    os.chdir(directory)
    out = {}
    for _ in range(TRIES):
        os.environ["MASTER_PORT"] = str(free_port())
        start = time.perf_counter()
        try:
            out = try_case(main, directory, watch)
        except Exception as e:
            out = {"error": f"{type(e).__name__}: {e}"[:300], "trace": traceback.format_exc()}
        signal.alarm(0)
        if dist.is_initialized():
            dist.destroy_process_group()
        out.update(seconds=watch.seconds, whole=time.perf_counter() - start)
        if not out.get("error", "").startswith("Hung"):
            break
    with open("reference.json", "w") as f:
        json.dump(out, f, indent=1)


def main():
    checkout, work, names = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    sys.meta_path.append(Closed())
    sys.meta_path.append(Protos(generate(checkout, work)))
    sys.path.insert(0, checkout)
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", LOCAL_WORLD_SIZE="1", MASTER_ADDR="127.0.0.1")
    import torch.distributed as dist
    from tzrec import main as reference
    watch = Watch(reference)
    signal.signal(signal.SIGALRM, on_alarm)
    for name in names:
        print(f"== {name}", flush=True)
        run_case(reference, dist, watch, f"{work}/{name}")


main()
