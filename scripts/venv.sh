# Sourced by the scripts that make a virtual environment: which Python they take, and how they install.

usable() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; }

# Print the Python to use: $PYTHON, or the first one on the PATH that will do. The arguments are the caller's own command.
find_python() {
  local name names=(python3 python3.14 python3.13 python3.12 python3.11 python)
  if [ -n "${PYTHON:-}" ]; then names=("$PYTHON"); fi
  for name in "${names[@]}"; do
    if command -v "$name" >/dev/null && usable "$name"; then command -v "$name"; return; fi
  done
  echo "error: no Python from 3.11 to 3.14 was found${PYTHON:+ at $PYTHON}" >&2
  echo "  next:  install one, or name it: PYTHON=/path/to/python3.12 $*" >&2
  return 2
}

# make_venv VENV REQUIREMENTS COMMAND...: make VENV if it is not there, or is of another Python, and install the pinned
# packages with their hashes. COMMAND is what to type again if no Python is found.
make_venv() {
  local venv=$1 requirements=$2 python
  shift 2
  if [ -d "$venv" ] && ! usable "$venv/bin/python"; then rm -rf "$venv"; fi
  if [ ! -d "$venv" ]; then
    python=$(find_python "$@") || return
    echo "setting up $venv with $("$python" --version) (once; this takes a minute or two)" >&2
    if command -v uv >/dev/null; then uv venv -q --python "$python" "$venv"; else "$python" -m venv "$venv"; fi
  fi
  install_into "$venv" --require-hashes -r "$requirements"
}

# install_into VENV ARGUMENTS...: `pip install`, by uv if it is there and made the environment.
install_into() {
  local venv=$1
  shift
  if [ -x "$venv/bin/pip" ]; then
    "$venv/bin/python" -m pip --disable-pip-version-check install -q "$@"
  else
    VIRTUAL_ENV="$PWD/$venv" uv pip install -q "$@"
  fi
}
