# scry: build, install and test. `make help` lists the targets.
CC = gcc
CLANG ?= clang-14
CLANG_TIDY ?= clang-tidy-14
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)

VERSION := 0.1.0
prefix ?= /usr/local

# B: everything built.  SAN: sanitizer flags, empty for the plain build.  O: the objects of this build.
# X: its executables: build/scry and build/unit, or build/asan/scry and build/asan/unit with SAN.
B := build
SAN ?=
O := $(B)/$(if $(SAN),asan,obj)
X := $(if $(SAN),$(O),$(B))

# Debian 12 packages, the only place that names them: to build; to check; to check fully
DEPS := make gcc libc6-dev clang-14 bpftool libbpf-dev libelf-dev zlib1g-dev libzstd-dev \
	libxxhash-dev libprotobuf-c-dev protobuf-c-compiler protobuf-compiler libcap-ng-dev \
	libjansson-dev uthash-dev
DEPS_RUN := python3
DEPS_CHECK := $(DEPS_RUN) binutils libcriterion-dev clang-format-14 clang-tidy-14 shellcheck \
	strace debootstrap ca-certificates mandoc libclang-rt-14-dev
DEPS_FULL := chromium-headless-shell
DEPS_PEERS := python3-pip strace

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
	-Wvla -Wundef -Wwrite-strings -fno-common
INC := -Iuser -I. -I$(B) -I$(B)/gen
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(SAN) -D_GNU_SOURCE -DSCRY_VERSION='"$(VERSION)"' $(INC)
LIBS := -lbpf -lelf -lz -lzstd -lxxhash -lprotobuf-c -lcap-ng -ljansson

BPF_ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(shell uname -m)))
BPF_FLAGS := -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -D__TARGET_ARCH_$(BPF_ARCH) \
	-Ivmlinux -I.

BPF_SRC := $(wildcard bpf/*.bpf.c)
SKEL := $(BPF_SRC:bpf/%.bpf.c=$(B)/%.skel.h)
PROTO := $(wildcard user/*/*.proto)
PROTO_C := $(PROTO:user/%.proto=$(B)/gen/%.pb-c.c)
# files that are in the executable as they are, as lists of bytes for #include
EMBED := $(wildcard user/output/*.html user/output/*.js)
EMBED_H := $(EMBED:user/%=$(B)/gen/%.h)
LIB_SRC := $(filter-out user/cli/main.c,$(wildcard user/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o) $(PROTO_C:$(B)/%.c=$(O)/%.o)
UNIT_SRC := $(wildcard tests/unit/*/*.c tests/bpf/*.c tests/support/*.c)

all: $(X)/scry ## build build/scry

# --- BPF programs, skeletons, generated sources ---
$(B)/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_FLAGS) -MMD -MP -MF $(B)/$*.bpf.d -MT $@ -c $< -o $@

$(B)/%.skel.h: $(B)/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: user/%.proto
	@mkdir -p $(@D)
	protoc-c -Iuser --c_out=$(B)/gen $<

$(EMBED_H): $(B)/gen/%.h: user/%
	@mkdir -p $(@D)
	od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g' > $@

# --- objects, the library of everything but main(), the executables ---
$(O)/gen/%.o: $(B)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -w -MMD -MP -c $< -o $@

$(O)/%.o: %.c | $(SKEL) $(PROTO_C) $(EMBED_H)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# the list of its members: a file that went or got another name leaves it, too
$(O)/libscry.list: FORCE
	@mkdir -p $(@D)
	@echo '$(LIB_OBJ)' | cmp -s - $@ || echo '$(LIB_OBJ)' > $@

$(O)/libscry.a: $(LIB_OBJ) $(O)/libscry.list
	@rm -f $@
	ar rcs $@ $(LIB_OBJ)

$(X)/scry: $(O)/user/cli/main.o $(O)/libscry.a
	$(CC) $(CFLAGS) $(SAN) $^ $(LIBS) -o $@

$(X)/unit: $(UNIT_SRC:%.c=$(O)/%.o) $(O)/libscry.a
	$(CC) $(CFLAGS) $(SAN) $^ $(LIBS) -lcriterion -o $@

# makes recordings for tests of exports
$(X)/fake-recording: $(O)/tests/tools/fake-recording.o $(O)/tests/support/fakeprofile.o $(O)/libscry.a
	$(CC) $(CFLAGS) $(SAN) $^ $(LIBS) -o $@

# --- install, run ---
# $(call apt,PACKAGES): install those that are missing; nothing is asked of the network if none is. Three times, a mirror may
# be busy
define apt
@need=; for p in $(1); do \
	dpkg-query -W -f '$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || need="$$need $$p"; \
done; \
for pause in 5 20 0; do \
	[ -n "$$need" ] || break; \
	apt-get -o DPkg::Lock::Timeout=300 update -q && DEBIAN_FRONTEND=noninteractive \
		apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $$need && break; \
	[ $$pause != 0 ] && sleep $$pause; \
done
endef

deps: ## install what building needs (Debian 12, as root)
	$(call apt,$(DEPS))

deps-run: deps
	$(call apt,$(DEPS_RUN))

deps-check: deps ## install what the tests need too, and the interpreters they run on
	$(call apt,$(DEPS_CHECK))
	tests/tools/setup-interpreters
	tests/tools/setup-viewers

deps-full: deps-check deps-peers
	$(call apt,$(DEPS_FULL))

deps-peers: deps-run # the profilers that benchmarks measure beside scry
	$(call apt,$(DEPS_PEERS))
	tests/tools/setup-peers

install: all ## install below $(DESTDIR)$(prefix)
	install -D -m 0755 $(B)/scry $(DESTDIR)$(prefix)/bin/scry
	install -D -m 0644 docs/scry.1 $(DESTDIR)$(prefix)/share/man/man1/scry.1
	install -D -m 0644 docs/scry.bash $(DESTDIR)$(prefix)/share/bash-completion/completions/scry

run: deps-run ## build, start a small Python workload, profile the whole machine for five seconds
	@$(MAKE) --no-print-directory all
	@tests/live/demo

# --- checks; each one alone, or all of them: make check ---
check: deps-check ## build, lint, unit tests (also under ASan and UBSan), live tests
	@tests/tools/check lint unit asan live

check-full: deps-full ## the heavy ones
	@tests/tools/check live-full

unit: $(X)/unit ## unit tests
	$(X)/unit $(UNIT_FLAGS)

asan: ## unit tests under ASan and UBSan; a leak found at exit fails too
	@$(MAKE) --no-print-directory SAN='-fsanitize=address,undefined -fno-sanitize-recover=all' \
		$(B)/asan/unit
	@tests/tools/no-leak $(B)/asan/unit $(UNIT_FLAGS)

# a fuzzer per file of tests/fuzz that has an entry point, over decoders of bytes that a target or a file controls
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(shell grep -ls LLVMFuzzerTestOneInput tests/fuzz/*.c))
FUZZ_FLAGS := -g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all
FUZZ_LIB := $(patsubst %.c,$(B)/fuzz/obj/%.o,tests/fuzz/layouts.c $(wildcard user/base/*.c) \
	$(addprefix user/python/,layout.c layout_table.c debug_offsets.c linetable.c unicode.c code.c) \
	$(addprefix user/remote/,batch.c mem.c snapshot.c) $(wildcard user/symbol/*.c) \
	$(wildcard user/profile/*.c user/output/*.c)) $(PROTO_C:$(B)/%.c=$(B)/fuzz/obj/%.o)
FUZZ_LIBS := -lxxhash -lzstd -lz -lprotobuf-c

$(B)/fuzz/obj/gen/%.o: $(B)/gen/%.c
	@mkdir -p $(@D)
	$(CLANG) -std=gnu11 -w -I$(B)/gen $(FUZZ_FLAGS) -MMD -MP -c $< -o $@

$(B)/fuzz/obj/%.o: %.c | $(PROTO_C) $(EMBED_H)
	@mkdir -p $(@D)
	$(CLANG) -std=gnu11 $(WARN) -D_GNU_SOURCE -Iuser -Itests -I$(B)/gen $(FUZZ_FLAGS) -MMD -MP -c $< -o $@

$(B)/fuzz/%: $(B)/fuzz/obj/tests/fuzz/%.o $(FUZZ_LIB)
	$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer $^ $(FUZZ_LIBS) -o $@

fuzz: $(FUZZ) ## fuzz the decoders: make fuzz SECONDS_EACH=30
	tests/fuzz/run $(FUZZ)

live: all $(B)/fake-recording $(B)/bench-engine ## live tests against real interpreters, as root: make live K=flip
	tests/live/run $(if $(K),-k $(K))

live-full: all $(B)/fake-recording $(B)/bench-engine
	tests/live/run --full $(if $(K),-k $(K))

soak: all ## a million walks by each way of reading stacks: make soak K=leaf WALKS=100000
	SCRY_WALKS=$(WALKS) tests/live/run --soak $(if $(K),-k $(K))

$(B)/bench-empty: $(O)/tests/bench/empty.o $(O)/libscry.a
	$(CC) $(CFLAGS) $(SAN) $^ $(LIBS) -o $@

$(B)/bench-engine: $(O)/tests/bench/engine.o $(O)/tests/bench/tick.o $(O)/libscry.a
	$(CC) $(CFLAGS) $(SAN) $^ $(LIBS) -o $@

bench: all $(B)/bench-empty deps-peers ## measure what scry costs, beside py-spy; see README
	tests/bench/run

bench-engine: all $(B)/bench-engine deps-peers ## measure wall mode beside CPython's own profiler, py-spy, austin
	tests/bench/run-engine

# --- lint: the rules of the code, one script each; see tests/lint/run ---
LINT_SRC := $(LIB_SRC) $(wildcard user/cli/main.c) $(UNIT_SRC)
TIDY := $(LINT_SRC:%.c=$(O)/%.tidy) $(BPF_SRC:bpf/%.bpf.c=$(B)/%.bpf.tidy)

lint: all ## layers, headers, symbols, forbidden words, format, sizes
	@$(MAKE) -s $(UNIT_SRC:%.c=$(O)/%.o)
	@CC='$(CC)' CLANG='$(CLANG)' OBJ='$(O)' BPF_FLAGS='$(BPF_FLAGS)' MAKE='$(MAKE)' \
		HEADER_FLAGS='-std=gnu11 $(WARN) -D_GNU_SOURCE $(INC)' tests/lint/run

tidy: $(TIDY)

# the object stands for the headers it was made from
$(O)/%.tidy: %.c $(O)/%.o .clang-tidy
	@$(CLANG_TIDY) --quiet $< -- $(filter-out -W%,$(ALL_CFLAGS)) > $@.log 2>&1 || \
		tests/lint/judge-tidy $@.log
	@touch $@

$(B)/%.bpf.tidy: bpf/%.bpf.c $(B)/%.bpf.o .clang-tidy
	@$(CLANG_TIDY) --quiet $< -- $(filter-out -W%,$(BPF_FLAGS)) > $@.log 2>&1 || \
		tests/lint/judge-tidy $@.log
	@touch $@

clean: ## remove what was built (interpreters installed for tests stay in their cache)
	rm -rf $(B)

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

FORCE:

.PHONY: FORCE all deps deps-run deps-check deps-full deps-peers install run check check-full unit asan fuzz live live-full soak \
	bench bench-engine lint tidy clean help
.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
