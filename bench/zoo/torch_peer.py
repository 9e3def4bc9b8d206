# SPDX-License-Identifier: Apache-2.0
"""torch_peer.py MODEL BATCH [THREADS] [SECONDS]: steps of the models of cases.py in PyTorch, written for speed: one
merged table with sparse gradients, products of all pairs at once, no loop over fields. As bench/engine/torch_peer.py.
The models are in peer_*.py, by family.
"""
import peer_crosses  # noqa: F401
import peer_fields  # noqa: F401
import peer_history  # noqa: F401
import peer_match  # noqa: F401
import peer_tasks  # noqa: F401
from peer import MODELS, main

if __name__ == "__main__":
    main(MODELS)
