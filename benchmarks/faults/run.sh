#!/bin/sh
# Sets up an environment of its own for gradwhy and the other tools, scores all of them, and prints the tables of README.md.
# Arguments go to score.py: --tool NAME, --only PREFIX.
set -eu
cd "$(dirname "$0")"
if [ ! -x .venv/bin/python ]; then
    "${PYTHON:-python3}" -m venv .venv
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 'numpy>=1.26'
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -e ../..
.venv/bin/python score.py --write "$@"
