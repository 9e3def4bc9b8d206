# SPDX-License-Identifier: Apache-2.0
"""Names of other packages, for scripts that import them: pai and nni. Nothing is replaced that is installed."""
