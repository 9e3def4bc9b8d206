# SPDX-License-Identifier: Apache-2.0
"""pai.common.logging: the logger `pai`, whose level PAI_LOG_LEVEL sets.

>>> get_logger("pai.estimator").parent.name, logging.getLevelName(get_log_level())
('pai', 'WARNING')
"""
from __future__ import annotations

import logging
import os
from typing import Dict, Optional

LEVELS = {name.lower(): getattr(logging, name) for name in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")}
_handler: Optional[logging.Handler] = None


def _root() -> logging.Logger:
    """The logger `pai`, with a handler of its own from the first use on."""
    global _handler
    root = logging.getLogger("pai")
    if _handler is None:
        _handler = logging.StreamHandler()
        root.addHandler(_handler)
        root.propagate = False
        root.setLevel(LEVELS.get(os.environ.get("PAI_LOG_LEVEL", "warning").lower(), logging.WARNING))
    return root


def _reset_library_root_logger() -> None:
    global _handler
    if _handler is not None:
        logging.getLogger("pai").removeHandler(_handler)
        logging.getLogger("pai").setLevel(logging.NOTSET)
        _handler = None


def get_log_levels_dict() -> Dict[str, int]:
    return dict(LEVELS)


def get_logger(name: Optional[str] = None) -> logging.Logger:
    root = _root()
    return logging.getLogger(name) if name else root


def get_log_level() -> int:
    return _root().getEffectiveLevel()


def set_log_level(verbosity: int) -> None:
    _root().setLevel(verbosity)


def set_log_level_debug() -> None:
    set_log_level(logging.DEBUG)


def set_log_level_info() -> None:
    set_log_level(logging.INFO)


def set_log_level_warning() -> None:
    set_log_level(logging.WARNING)


def set_log_level_error() -> None:
    set_log_level(logging.ERROR)
