# `make` alone says what there is to make.

target := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help setup build run test check-fresh-roots

help:
	@echo "make <target>, where target is one of:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1 - \2/p' Makefile

setup: ## install the Debian packages that building needs, if any is missing
	@scripts/install-packages build
	@scripts/check-rust

build: setup ## build target/release/cpuledger, and ptop, its other name
	cargo build --release --locked --package cpuledger-cli
	@ln -sf cpuledger $(target)/release/ptop

run: build ## build, then show two intervals of one second
	$(target)/release/cpuledger top --batch --iterations 2 --delay 1

test: ## all checks and tests (best as root; installs what they need)
	@scripts/install-packages build test
	@scripts/check-rust rustfmt clippy
	shellcheck .ci/run $$(grep -l '^#!/bin/sh' scripts/*)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	scripts/check-dependencies
	cargo test --workspace --locked --no-fail-fast
	scripts/check-noop-build

check-fresh-roots: ## build in a new Debian 12 and a new Debian 13 (as root)
	scripts/check-fresh-root bookworm
	scripts/check-fresh-root trixie
