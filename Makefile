BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup check test demo bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST)

setup: ## create .venv with everything needed (under a second when nothing changed)
	@scripts/setup

check: setup ## lint, format, types, layers and house limits
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(BIN)/pytest -q tests/house

test: setup ## the whole suite, Spark included
	$(BIN)/pytest --durations=15 $(ARGS)

demo: setup ## a guided run on generated data
	$(BIN)/whenabouts demo

bench: setup ## run the benchmarks
	$(BIN)/python -m benchmarks.run

clean: ## remove caches and build results; the environment stays
	rm -rf dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache benchmarks/data
	rm -rf spark-warehouse metastore_db derby.log
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
