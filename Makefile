# Holdfast. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

FAULT ?= kill-peer partition
RAM   ?= 128M
TIME  ?= 30s
SOAK  ?= 10m
SEEDS ?= 10000
BREAK ?= holdfast/kernel.boot

# Flags of `make mutants`: -all for every level, -run for some of them.
MUTANTS ?=

# How many inputs `make test` gives each fuzz target, beside its seeds.
FUZZED := 500

# Flags of `make bench`: -record appends the figures to the history, -part measures some of them.
BENCH ?=

# How many faults run at the same time, 2 to 8: each has two machines that mostly wait.
PARALLEL ?= $(shell n=$$(nproc); echo $$((n < 2 ? 2 : n > 8 ? 8 : n)))

# The faults of `make test`: those of the decision record, and short ones of clocks and networks;
# and before them `none`, of which every step is done again on the host.
TESTED := kill-peer partition no-peer wrong-authority no-route restart quick

# How many pairs that are killed in the middle of a commit run at the same time: they do little but
# wait, most of it for the failure window and for the quarantine.
WAITING ?= $(shell echo $$((2 * $(PARALLEL))))

# Set, the image can be profiled over HTTP, by a node whose environment has debug.pprof=1.
PPROF ?=
comma := ,

OUT   := build
IMAGE := $(OUT)/holdfast.elf

# The race detector needs a C compiler; without one the same tests run without it.
RACE := $(if $(shell command -v gcc),-race)

# Packages without a goroutine: the race detector has nothing to find there.
PURE := ./mesh/... ./nvram/... ./kernel/node/tape ./qemu/capture ./internal/golden \
	./internal/imagebuild/... ./internal/tidy ./rig/judge/... ./rig/lab/trace ./rig/provision \
	./rig/replay/... ./rig/report ./rig/report/page/... ./rig/report/timeline ./rig/report/trace \
	./rig/selftest ./rig/stats

# Packages whose tests boot a kernel: run once, not under the race detector.
BOOT := ./board/... ./kernel ./kernel/image/... ./kernel/stdtest/... ./internal/debug \
	./internal/soakkernel

# Packages that are the guest's alone, or have assembly: vetted for its processor too.
GUEST := ./kernel ./kernel/sys ./kernel/image ./kernel/internal/... ./board/mmio ./board/core ./board/timer \
	./board/at24c/internal/guest ./board/ds1338/internal/guest \
	./board/wdog/internal/guest ./internal/bench/guest ./internal/guest/...

.PHONY: help image rig-bin qemu-installed mkimage-installed flash qemu gdb-installed gdb rig \
	test report-test test-host test-fuzz test-boot test-rig stdtest bench \
	faults sweep search search-long soak failovers soak-kernel mutants fuzz clean

help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  Variables: FAULT='$(FAULT)' or all, RAM=$(RAM), PARALLEL=$(PARALLEL), TIME=$(TIME) a fuzz target, SOAK=$(SOAK), SEEDS=$(SEEDS)"

image: ## build the kernel image, build/holdfast.elf
	@mkdir -p $(OUT)
	go run ./internal/imagebuild/cmd -tags nethttpomithttp2$(if $(PPROF),$(comma)pprof) -o $(IMAGE) \
	  ./kernel/image

rig-bin: ## build the host command, bin/rig
	@mkdir -p bin
	go build -o bin/rig ./rig

# install is a recipe: the Debian package $(2) is installed where the command $(1) is missing.
define install
@command -v $(1) >/dev/null || { \
  install='apt-get install -y --no-install-recommends $(2)'; \
  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$install; \
  else \
    echo "$(1) is missing. As root: $$install" >&2; exit 3; \
  fi; }
endef

qemu-installed:
	$(call install,qemu-system-arm,qemu-system-arm)

mkimage-installed:
	$(call install,mkimage,u-boot-tools)

flash: image ## what the board boots: build/holdfast.imx, and build/holdfast.img for a whole SD card
	go run ./internal/flash -o $(OUT) $(IMAGE)

qemu: qemu-installed image rig-bin ## boot one node on QEMU's user network, console here
	bin/rig boot --image $(IMAGE) --ram $(RAM)

gdb-installed:
	$(call install,gdb-multiarch,gdb-multiarch)

gdb: qemu-installed gdb-installed ## one node under gdb, stopped where the kernel begins
	@go run ./internal/debug -break $(BREAK)

rig: qemu-installed image rig-bin ## boot two nodes, inject each FAULT, print the verdict
	@bin/rig run --image $(IMAGE) --ram $(RAM) --parallel $(PARALLEL) $(addprefix --fault ,$(FAULT))

test: test-host test-fuzz test-boot test-rig ## every test: host, fuzz targets, boot in QEMU, the rig's faults

report-test: ## click through the rig's report in a headless Chromium, installed if need be
	$(call install,chromium,chromium)
	HOLDFAST_REQUIRE_CHROMIUM=1 go test -count=1 -run ThePage ./rig/report/...

test-host: qemu-installed
	go vet ./...
	GOOS=linux GOARCH=arm GOARM=7 go vet $(GUEST)
	go test -vet=off $(PURE)
	go test -vet=off $(RACE) $$(go list ./... | grep -v -x -F -f <(go list $(BOOT) $(PURE)))

test-fuzz:
	go run ./internal/fuzzall -count $(FUZZED)

test-boot: qemu-installed mkimage-installed
	HOLDFAST_REQUIRE_QEMU=1 HOLDFAST_REQUIRE_MKIMAGE=1 go test $(BOOT)
	go run ./kernel/stdtest sync context

test-rig: qemu-installed image rig-bin
	bin/rig run --image $(IMAGE) --quiet --fault none --record-steps
	bin/rig replay --into-sim runs/latest
	bin/rig run --image $(IMAGE) --parallel $(PARALLEL) --quiet $(addprefix --fault ,$(TESTED))
	bin/rig soak --image $(IMAGE) --parallel $(WAITING) --fault kill-mid-commit -n 2

faults: qemu-installed image rig-bin ## every fault of the rig, those that take minutes too
	bin/rig run --image $(IMAGE) --parallel $(PARALLEL) --quiet --fault every

stdtest: qemu-installed ## the standard library's own tests on the bare machine
	go run ./kernel/stdtest

bench: qemu-installed ## figures in exact instructions, beside the peer's and those of before
	go run ./internal/bench $(BENCH)

sweep: ## every trouble of the network over real TCP in virtual time: who could commit, and when
	@go test -count=1 -timeout 1h -v -run TwoHomes ./kernel/node -args -sweep

search: ## every schedule of a small mesh, second by second: no state may hold two homes
	go run ./internal/searchall

search-long: ## the schedules of search that take long to go through, for as many seconds as there is memory for
	go run ./internal/searchall -long -memory 18

soak: ## simulated worlds with every trouble, on every core, for SOAK
	go run ./internal/soak -time $(SOAK)

failovers: ## SEEDS short worlds in which homes are lost while commits flow: what was acknowledged is kept
	go run ./internal/soak -failovers -from 1 -worlds $(SEEDS) -time 24h

mutants: ## every rule of the protocol broken on purpose: which level of the tests notices
	go run ./internal/mutants $(MUTANTS)

soak-kernel: qemu-installed ## a kernel loaded from all sides, every byte compared, for SOAK
	go run ./internal/soakkernel -time $(SOAK)

fuzz: ## every fuzz target for TIME each
	go run ./internal/fuzzall -time $(TIME)

clean: ## remove what was built and the runs
	rm -rf bin $(OUT) runs
