.PHONY: help setup demo serve test test-services test-agents check format audit bench
.DEFAULT_GOAL := help
PY := .venv/bin/python

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: ## Make .venv with the pinned requirements
	@scripts/setup

demo: setup ## Watch a rule travel from one agent to exactly one other
	@$(PY) manage.py demo

serve: setup ## Site and worker in one process, on the demo's data
	@$(PY) manage.py serve

test: setup ## The suite that needs no service, no root and no network
	@$(PY) -m pytest -n 2 tests --ignore=tests/services --ignore=tests/chaos --ignore=tests/agents

test-services: setup ## The whole suite on PostgreSQL and Redis, with real worker processes
	@scripts/test-services

test-agents: setup ## The MCP door with the command lines of real agents; needs npm and, the first time, the network
	@scripts/agent-programs
	@$(PY) -m pytest tests/agents

check: setup ## Linters, types, layers, migrations, deployment checks
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy tikitaka apps config
	@.venv/bin/lint-imports
	@DJANGO_SETTINGS_MODULE=config.settings.test $(PY) manage.py makemigrations --check --dry-run
	@DJANGO_SETTINGS_MODULE=config.settings.test $(PY) manage.py spectacular --validate --fail-on-warn --file /dev/null
	@scripts/check-deploy

format: setup ## Format the code
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

audit: setup ## Known faults of the dependencies and their bill of materials; needs the network
	@scripts/audit

bench: setup ## Print the benchmarks, one JSON line each
	@$(PY) benchmarks/dag.py
	@$(PY) benchmarks/ledger.py
	@$(PY) benchmarks/flush.py
	@$(PY) benchmarks/rest.py
	@$(PY) benchmarks/mcp.py
