# `make` alone says what there is to make.

target := $(or $(CARGO_TARGET_DIR),target)
# Built with all tests: for a package alone cargo would build much once more, with fewer features.
matrix := $(target)/debug/cpuledger-vm
not_run := $(abspath $(target))/tests-not-run

# Packages of which `make test` runs the tests from outside, too. Of the whole workspace, so that cargo builds nothing twice with other features.
quick := export frame model net proc program recording report service tidy view
quick_tests := $(basename $(notdir $(wildcard $(foreach name,$(quick),crates/cpuledger-$(name)/tests/*.rs tests/$(name)/tests/*.rs))))

SOAK_MINUTES ?= 10
FUZZ_SECONDS ?= 300
SEMVER_BASE ?= main

# What `make install` installs, and where: scripts/install says what each means.
BINARY ?= $(target)/release/cpuledger
export PREFIX LIBDIR SYSCONFDIR DESTDIR

.PHONY: help setup build all install uninstall run check record test test-all test-clients test-engines test-bindings fuzz semver soak soak-service vm kernel kernel-check kernel-debug kernel-selftests kernel-configs kernel-locks kernel-deb bench bench-quick check-fresh-roots dist check-packages c-library install-c uninstall-c wheel

help:
	@echo "make <target>, where target is one of:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1 - \2/p' Makefile

setup: ## install the Debian packages that building needs, if any is missing
	@scripts/install-packages build
	@scripts/check-rust

build: setup ## build the core: target/release/cpuledger, and ptop, its other name
	cargo build --release --locked --package cpuledger-cli
	@scripts/split-debug $(target)/release/cpuledger
	@ln -sf cpuledger $(target)/release/ptop

all: build ## build the core and the programs of further commands: cpuledger-export, with Arrow and Parquet; cpuledger-net, with HTTP
	cargo build --release --locked --package cpuledger-export --package cpuledger-net
	@scripts/split-debug $(target)/release/cpuledger-export
	@scripts/split-debug $(target)/release/cpuledger-net

install: ## install what is built with pages, completions and service below PREFIX=/usr/local, in DESTDIR= (as root)
	@scripts/install $(BINARY)

uninstall: ## remove what `make install` has installed
	@scripts/install --uninstall $(BINARY)

run: build ## build, then show two intervals of one second
	$(target)/release/cpuledger top --batch --iterations 2 --delay 1

check: ## format, lints and unit tests, without root: the quick loop while you write
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet
	cargo test --workspace --lib --bins --locked --quiet

record: ## write tests/recorded anew: what the commands print of a machine that is always the same
	CPULEDGER_RECORD=1 cargo test --package cpuledger --package cpuledger-cli --lib --locked --quiet recorded

test: setup ## what a laptop can run without root in a few minutes; says what it left out
	@rm -f $(not_run)
	cargo fmt --all --check
	CPULEDGER_TESTS_NOT_RUN=$(not_run) cargo test --workspace --lib --bins $(addprefix --test ,$(quick_tests)) --locked --no-fail-fast -- --skip _root
	@scripts/tests-not-run $(not_run)
	@echo "left out, and run by \`make test-all\` as root: tests whose names end in _root; tests of the packages cpuledger, cpuledger-cli and"
	@echo "others from outside; shellcheck; cargo-deny; the second build that must compile nothing; the kernel matrix; kernel-check"

test-all: ## all tests and checks of this machine, the kernel matrix too (as root; installs what they need)
	@scripts/install-packages build test
	@scripts/check-rust rustfmt
	shellcheck .ci/run $$(grep -rl '^#!/bin/sh' scripts packaging)
	cargo fmt --all --check
	@rm -f $(not_run)
	CPULEDGER_TESTS_NOT_RUN=$(not_run) scripts/run-tests --workspace
	scripts/check-noop-build
	scripts/check-dependencies
	-@scripts/install-packages vm
	$(matrix) --if-possible --machine two-cpus --short
	scripts/kernel check --if-possible $(target)/kernel
	@scripts/tests-not-run $(not_run)

test-clients: test-engines test-bindings ## what other programs make of the books (as root; over 1,200 MB below target/, and Go)

test-engines: ## exports and fleets with DuckDB, ClickHouse and Spark: what computes for minutes
	@scripts/install-packages build test clients
	@rm -f $(not_run)-engines
	CPULEDGER_TEST_CLIENTS=1 CPULEDGER_TESTS_NOT_RUN=$(not_run)-engines scripts/run-tests --workspace --test clients --test fleet
	@scripts/tests-not-run $(not_run)-engines

test-bindings: ## the clients in Go and Python, a push to a real collector, MCP, Podman, object stores, the page and the pictures in browsers (as root)
	@scripts/install-packages build test clients
	@rm -f $(not_run)
	cargo build --workspace --bin cpuledger-net --locked
	CPULEDGER_TEST_CLIENTS=1 CPULEDGER_TESTS_NOT_RUN=$(not_run) scripts/run-tests --workspace --test store --test push_collector_root --test mcp_root --test go_client_root --test python_root --test names_podman_root --test web_browser_root --test screen_picture
	@scripts/tests-not-run $(not_run)

fuzz: ## try each parser on any bytes for FUZZ_SECONDS, 300 if not stated
	@scripts/install-packages build
	scripts/fuzz --seconds $(FUZZ_SECONDS)

semver: ## compare the public items of the frame crate with those of SEMVER_BASE (needs cargo-semver-checks)
	cargo semver-checks -p cpuledger-model --baseline-rev $(SEMVER_BASE)

soak: ## storms, killed readers, attaching without end, for SOAK_MINUTES, 10 if not stated (as root)
	@scripts/install-packages build test
	cargo build --release --locked --package cpuledger-cli --package cpuledger-load --package cpuledger-soak
	$(target)/release/cpuledger-soak --minutes $(SOAK_MINUTES)

soak-service: ## three hostile users and a storm of forks against a service in 256 MiB, for SOAK_MINUTES, 10 if not stated (as root)
	@scripts/install-packages build test
	cargo build --release --locked --package cpuledger-cli --package cpuledger-export --package cpuledger-load --package cpuledger-soak
	$(target)/release/cpuledger-soak --service --minutes $(SOAK_MINUTES)

vm: ## run the privileged tests on the kernels of distributions, under emulation (writes docs/kernels.md)
	@scripts/install-packages build test vm
	cargo test --workspace --quiet --locked --no-run
	$(matrix) --write $(VM)

kernel: ## build, boot, test and measure Linux 6.12 without and with kernel/series (needs a network; writes docs/kernel-series.md)
	@scripts/install-packages kernel
	scripts/kernel build $(target)/kernel

kernel-check: ## apply each patch of each series of kernel/ to its source, and run checkpatch.pl on it
	scripts/kernel check $(target)/kernel

kernel-debug: ## put load on a kernel with kernel/series that checks its locks and memory, for KERNEL_LOAD_SECONDS, 600 if not stated
	@scripts/install-packages kernel
	scripts/kernel debug $(target)/kernel $(KERNEL_LOAD_SECONDS)

kernel-selftests: ## run the kernel's own tests without and with kernel/series, and compare (writes docs/kernel-selftests.md)
	@scripts/install-packages kernel selftests
	scripts/kernel selftests $(target)/kernel

kernel-configs: ## build what each patch of kernel/series touches in ten configurations: without taskstats, for one CPU, 32 bits, real time, arm64...
	@scripts/install-packages kernel
	scripts/kernel configs $(target)/kernel

kernel-deb: ## build Debian packages of Linux 6.12 with kernel/series, for virtual machines, and boot the kernel in one
	@scripts/install-packages kernel
	scripts/kernel deb $(target)/kernel

kernel-locks: ## count what the locks do on a kernel with kernel/series, with 64 CPUs too, and have a hypervisor take time (writes docs/kernel-locks.md)
	@scripts/install-packages kernel
	scripts/kernel locks $(target)/kernel

bench: ## measure beside procps, htop, atop and pidstat (as root, quiet machine, under 25 minutes)
	@scripts/install-packages build bench
	cargo build --release --locked --workspace
	$(target)/release/cpuledger-bench all
	@echo "to put these tables into docs/costs.md: $(target)/release/cpuledger-bench readme"

bench-quick: ## the same with few rounds, under 3 minutes
	@scripts/install-packages build bench
	cargo build --release --locked --workspace
	$(target)/release/cpuledger-bench all --quick

check-fresh-roots: ## build in a new Debian 12 and a new Debian 13 (as root)
	scripts/check-fresh-root bookworm
	scripts/check-fresh-root trixie

dist: ## make what is released in dist/: packages, static programs, an image, manifests, checksums (needs no root)
	@scripts/install-packages build dist
	@scripts/check-rust
	scripts/dist

check-packages: ## install what `make dist` has made in new Debian roots, boot one, upgrade, remove, purge (as root)
	@scripts/install-packages vm check-packages
	scripts/check-packages

c-library: setup ## build libcpuledger and libcpuledger-ledger for C, shared and static: target/release/c
	scripts/c-library

install-c: ## install libcpuledger with headers, pages and examples below PREFIX=/usr/local, in DESTDIR= (as root; LIBDIR= is lib)
	@PACKAGES="libcpuledger0 libcpuledger-dev" scripts/install $(BINARY)

uninstall-c: ## remove what `make install-c` has installed
	@PACKAGES="libcpuledger0 libcpuledger-dev" scripts/install --uninstall $(BINARY)

wheel: setup ## build the wheel of the Python package into dist/: one for every Python from 3.9 on
	scripts/wheel dist
