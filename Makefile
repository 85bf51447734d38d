# Targets: build, test (everything that must pass), lint, bench, fuzz. "make test" is all the set-up a clean clone needs.

LINT_VERSION := v2.15.0
CACHE        := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gantry
LINT         := $(CACHE)/golangci-lint-$(LINT_VERSION)/golangci-lint
FUZZTIME     ?= 60s

.PHONY: build test check lint unit bench fuzz packages

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

bench:
	go run ./bench/convert

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
