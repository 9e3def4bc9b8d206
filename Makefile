# SPDX-License-Identifier: Apache-2.0
# The outer build: each target makes sure that its Debian packages are there, then calls
# CMake, ctest or a script of tools/. `make` alone lists the targets.

PREFIX ?= /usr/local
DESTDIR ?=
# Seconds per fuzz target.
SECONDS_EACH ?= 60
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help build quickstart test interop goldens lint install deb cuda test-cuda test-cuda-sanitize wheel test-python fuzz bench-data bench-engine bench-compat bench-jobs bench-ranks chaos chaos-ranks bench-save bench-memory bench-init bench-quality bench-python bench-serve bench-tune bench-zoo clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

build: ## the program as users get it: build/release/trainyard
	@tools/deps build
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)

quickstart: build ## build, then a guided tour
	@tools/deps tour
	@tools/quickstart build/release/trainyard

test: ## build with warnings as errors and run every test
	@tools/deps build test
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS)
	@ctest --preset dev -j $(JOBS)

.PHONY: web web-test web-shots
web: web/node_modules ## bundle the console: web/dist, which is committed
	@cd web && npm run --silent check && npm run --silent build

web/node_modules: web/package-lock.json
	@tools/deps web-build
	@cd web && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch web/node_modules

web-test: build web/node_modules ## drive the console in a browser
	@tools/deps web
	@node web/test/importance.mjs
	@node web/test/parts.mjs
	@node web/test/run.mjs build/release/trainyard

.PHONY: bench-web
bench-web: build web/node_modules ## measure the console in a browser (QUICK=1: a tenth of the data)
	@tools/deps web
	@node bench/web/run.mjs build/release/trainyard

web-shots: build web/node_modules ## the same, and the pictures of docs/console.md
	@tools/deps web
	@node web/test/run.mjs build/release/trainyard --shots docs/images

.PHONY: cluster-test
cluster-test: ## jobs on a real Slurm with four nodes, and a real Kubernetes (TRAINYARD_KUBE=DIR, its programs), started for it on this machine
	@tools/deps build test cluster
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS)
	@ctest --preset dev -C cluster -L cluster

interop: ## compare with other implementations (downloads them into build/)
	@tools/deps build interop
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS)
	@tools/interop build/dev

goldens: ## rebuild tests/golden with PyTorch (the tests only read the files)
	@tools/deps goldens
	@tools/goldens

lint: web/node_modules ## formatting, layers, shell scripts, stale reference pages
	@tools/deps build lint
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target trainyard
	@tools/lint build/dev/trainyard

install: build ## copy the program to $(PREFIX)
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX) --strip

deb: build ## a Debian package in build/release
	@tools/deps deb
	@cd build/release && cpack -G DEB
	@ls build/release/*.deb

cuda: ## the program and its plug-in for NVIDIA cards: build/cuda (needs no card)
	@tools/deps build cuda
	@home=$$(tools/cuda-toolkit build/cuda-toolkit) && cmake --preset cuda -DTY_CUDA_HOME=$$home
	@cmake --build --preset cuda -j $(JOBS) --target trainyard trainyard_cuda model_test_golden cuda_test_lookup

test-cuda: cuda ## the goldens on the card; without one, that the program says so
	@tests/cuda/run build/cuda

test-cuda-sanitize: cuda ## kernels under compute-sanitizer; needs a card
	@cmake --build --preset cuda --target engine_step >/dev/null
	@tests/cuda/sanitize build/cuda

wheel: build ## the Python package with the program in it: build/wheel
	@tools/deps wheel
	@tools/wheel build/release/trainyard

test-python: build ## the wheel, installed and used; types and style of the package
	@tools/deps wheel
	@tests/python/run build/release/trainyard

.PHONY: test-python-rootfs
test-python-rootfs: build ## the wheel in bare systems of Debian 12 and a newer one; runs the notebooks there (needs root)
	@tools/deps wheel rootfs
	@tests/python/rootfs build/release/trainyard

.PHONY: test-python-versions
test-python-versions: build ## the wheel with every Python from 3.9 on that is here
	@tools/deps wheel
	@tests/python/versions build/release/trainyard

fuzz: ## run each fuzz target for SECONDS_EACH seconds
	@tools/deps build fuzz
	@cmake --preset fuzz
	@cmake --build --preset fuzz -j $(JOBS)
	@tools/fuzz build/fuzz $(SECONDS_EACH)

bench-data: build ## measure the readers and writers of data files
	@tools/deps interop
	@tools/bench build/release csv data features

.PHONY: bench-gpu
bench-gpu: ## measure the training step on an NVIDIA card beside PyTorch's
	@bench/gpu/run

.PHONY: bench-gpu-quality
bench-gpu-quality: cuda ## compare AUC of models trained on an NVIDIA card and on the CPU (QUALITY_DATA=DIR)
	@for name in frappe census ml1m likes; do python3 bench/quality/prepare.py "$${QUALITY_DATA:-../shared/data}" build/quality $$name; done
	@python3 bench/gpu/quality.py build/cuda/trainyard build/quality

bench-tune: build ## measure the tuners beside Optuna
	@tools/bench build/release tune

bench-engine: build ## measure training steps beside PyTorch (QUICK=1: briefly)
	@tools/bench build/release engine

bench-ranks: build ## measure one, two ranks and two threads on the same training
	@tools/bench build/release ranks

bench-save: build ## what checkpoints cost a run
	@tools/bench build/release save

bench-compat: build ## train the configs of TorchEasyRec on generated data
	@bench/compat/run build/release

.PHONY: bench-paddlerec
bench-paddlerec: build ## run the configs of PaddleRec 1.8.5 on their own data (CHECKOUT=DIR)
	@bench/paddlerec/run build/release $(CHECKOUT)

.PHONY: bench-ps
bench-ps: build ## measure parameter servers beside one process (PS_ROWS, PS_REPEATS)
	@tools/bench build/release ps

.PHONY: bench-torcheasyrec
bench-torcheasyrec: build ## compare 88 configs and speed with TorchEasyRec (CHECKOUT=DIR PYTHON=ITS_PYTHON)
	@python3 bench/compat/against/compare.py build/release/trainyard "$(CHECKOUT)" "$(PYTHON)" $(CASES)

bench-jobs: build ## measure the store and the queue of jobs
	@tools/deps test
	@tools/bench build/release jobs

chaos: build ## kill everything at random under 200 jobs, on both stores
	@tools/deps test
	@CHAOS_JOBS=200 CHAOS_SECONDS=600 TRAINYARD=$(CURDIR)/build/release/trainyard tests/it/chaos.sh

chaos-ranks: build ## kill a random rank of a training 50 times (RANKS_KILLS)
	@RANKS_KILLS=$${RANKS_KILLS:-50} TRAINYARD=$(CURDIR)/build/release/trainyard tests/it/ranks_kill.sh

bench-memory: build ## measure what an embedding table takes beside its rows
	@tools/bench build/release memory

bench-init: build ## compare what `init` writes with LightGBM on real data (INIT_DATA=DIR)
	@tools/bench build/release init

bench-quality: build ## compare AUC with PyTorch on real data (QUALITY_DATA=DIR)
	@tools/bench build/release quality

bench-serve: build ## measure the scoring server with wrk
	@tools/deps bench
	@tools/bench build/release serve

bench-python: build ## measure the Python package: scoring, features as tensors
	@tools/deps wheel
	@tools/bench build/release python

bench-zoo: build ## measure the step of every model beside PyTorch (QUICK=1: briefly)
	@tools/bench build/release zoo

clean: ## remove everything that was built
	@rm -rf build
