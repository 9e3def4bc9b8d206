# SPDX-License-Identifier: Apache-2.0
"""nni, as Trainyard offers it, for programs that are started with this directory in PYTHONPATH. A real nni goes first."""
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_real = importlib.machinery.PathFinder.find_spec("nni", [p for p in sys.path if os.path.realpath(p or ".") != _here])
if _real is not None and _real.loader is not None and _real.origin is not None:  # else a mere directory
    sys.path[:] = [p for p in sys.path if os.path.realpath(p or ".") != _here]
    _module = importlib.util.module_from_spec(_real)
    sys.modules[__name__] = _module
    _real.loader.exec_module(_module)
else:
    from trainyard.compat import nni as _offered
    del sys.modules[__name__]
    _offered.install_here()
