#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainyard checkpoints in Python: the module trainyard/_ckpt.py, which is a file of its own, under the name that scripts have.

    import trainyard_ckpt as tc
    c = tc.Checkpoint('experiments/din')

    trainyard_ckpt.py list CKPT
"""
import importlib.util
import os
import sys

_path = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'trainyard', '_ckpt.py')
_spec = importlib.util.spec_from_file_location(__name__, _path)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
sys.modules[__name__] = _module

if __name__ == '__main__':
    _module.main()
