# Targets: build, test (everything that must pass), lint, kill, soak, bench, fuzz. "make test" is all the set-up a clean clone needs.

LINT_VERSION := v2.15.0
CACHE        := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gantry
# An installed linter of just this version will do.
LINT         := $(or $(shell golangci-lint version --short 2>/dev/null | grep -qx $(LINT_VERSION:v%=%) && command -v golangci-lint),\
                     $(CACHE)/golangci-lint-$(LINT_VERSION)/golangci-lint)
FUZZTIME     ?= 60s
SEEDS        ?= 1000-2000
REVISIONS    ?= 150

.PHONY: build test check lint unit kill soak bench fuzz packages

build:
	go build -trimpath -o gantry ./cmd/gantry

test: packages check lint unit

check:
	go build ./...
	go vet ./...

lint: $(LINT)
	$(LINT) run ./...
	$(LINT) fmt --diff ./...

unit:
	go test -race -timeout 20m ./...

# What "unit" does a few times: imports on both databases, killed at fifty moments each.
kill:
	GANTRY_TEST_KILLS=50 go test -count=1 -timeout 60m -run TestKilledImportsGoOn -v ./internal/gantrytest

# Random histories, more and longer ones than "unit" has: a failure names its seed and the shortest history that fails.
# And big ones: each has as much of one thing as nobody has, and tells what it costs.
soak:
	GANTRY_SEEDS=$(SEEDS) GANTRY_REVISIONS=$(REVISIONS) go test -count=1 -timeout 600m -run TestRandomHistories ./internal/convert
	GANTRY_BIG=1 go test -count=1 -timeout 240m -run TestBigHistories -v ./internal/gantrytest

bench:
	go run ./bench/convert
	go run ./bench/mercurial
	go test -run '^$$' -bench . ./bench/load

# Every fuzz target, one after the other; a plain test run already tries their seeds.
fuzz:
	@for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

# The systems that the tests run against: real ones, so a missing one is installed, never skipped.
packages:
	@./.ci/packages

$(LINT):
	GOBIN=$(dir $@) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
