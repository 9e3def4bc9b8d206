#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every backend promises, of pods, in a stand-in cluster; `make cluster-test` has a real one.
. "$(dirname "$0")/contract_lib.sh"
. "$(dirname "$0")/kubernetes_lib.sh"

keeper() { pgrep -f "^bwrap .*/$1/" | head -1; } # what the stand-in runs a pod by
contract
