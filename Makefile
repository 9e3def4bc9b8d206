# SPDX-License-Identifier: Apache-2.0
# The outer build: each target makes sure that its Debian packages are there, then calls
# CMake, ctest or a script of tools/. `make` alone lists the targets.

PREFIX ?= /usr/local
DESTDIR ?=
# Seconds per fuzz target.
SECONDS_EACH ?= 60
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help build test interop install deb fuzz clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

build: ## the program as users get it: build/release/trainyard
	@tools/deps build
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)

test: ## build with warnings as errors and run every test
	@tools/deps build test
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS)
	@ctest --preset dev -j $(JOBS)

interop: build ## compare with other implementations (downloads them into build/)
	@tools/deps interop
	@tools/interop build/release/trainyard

install: build ## copy the program to $(PREFIX)
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX) --strip

deb: build ## a Debian package in build/release
	@tools/deps deb
	@cd build/release && cpack -G DEB
	@ls build/release/*.deb

fuzz: ## run each fuzz target for SECONDS_EACH seconds
	@tools/deps build fuzz
	@cmake --preset fuzz
	@cmake --build --preset fuzz -j $(JOBS)
	@tools/fuzz build/fuzz $(SECONDS_EACH)

clean: ## remove everything that was built
	@rm -rf build
