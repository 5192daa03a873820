# What the scripts of the tests share: steps, skips, packages and Python environments. To be sourced.
#
# A script that cannot do a part of its work for want of something on the machine says so with `skip` and goes on. One that
# can do none of it exits with $SKIPPED. scripts/test counts both and lists them at the end.

SKIPPED=77
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

# skip WHAT: WHY
skip() {
  printf 'skipped: %s\n' "$*" >&2
  [ -z "${SPADEWORK_SKIPS:-}" ] || printf '%s\n' "$*" >>"$SPADEWORK_SKIPS"
}

# Skips the whole of a script.
skip_all() {
  skip "$@"
  exit "$SKIPPED"
}

# step COMMAND…: runs it under a heading, and says how long it took. The first that fails ends the script.
passed=0
step() {
  local code=0 began=$SECONDS
  printf '\n== %s\n' "$*"
  "$@" || code=$?
  case $code in
    0)
      passed=$((passed + 1))
      printf '== %s s: %s\n' "$((SECONDS - began))" "$*"
      ;;
    "$SKIPPED") ;;
    *)
      printf '\nfailed: %s (exit code %s)\n' "$*" "$code" >&2
      exit "$code"
      ;;
  esac
}

# background FUNCTION: runs a function of steps in the background; `join` waits for it, and prints what it printed.
background_pid='' background_log=''
background() {
  background_log=$(mktemp)
  # In a group of its own, so that all of it can be ended.
  set -m
  (
    passed=0
    "$1"
    echo "$passed" >"$background_log.passed"
  ) >"$background_log" 2>&1 </dev/null &
  background_pid=$!
  set +m
}

# Fails where a step in the background failed.
join() {
  local code=0
  [ -n "$background_pid" ] || return 0
  wait "$background_pid" || code=$?
  background_pid=''
  cat "$background_log"
  [ "$code" = 0 ] || exit "$code"
  passed=$((passed + $(cat "$background_log.passed")))
}

# For the end of a script, whatever it is: nothing of what ran in the background is left.
end_background() {
  [ -n "$background_log" ] || return 0
  [ -z "$background_pid" ] || { kill -- "-$background_pid" 2>/dev/null || true; cat "$background_log"; }
  rm -f "$background_log" "$background_log.passed"
}

# Whether Debian's packages can be installed: by root, or by sudo where it asks for no password.
can_install() {
  command -v apt-get >/dev/null || return 1
  [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

# install_packages PACKAGE…: false where it cannot be done.
install_packages() {
  can_install || return 1
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  echo "installing $*"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

# The interpreter that tests use, python3 unless PYTHON names another.
python=${PYTHON:-python3}

# python_environment NAME WHAT: sets `venv` to an environment of this interpreter under the target folder, or skips WHAT,
# which is the whole of the script.
python_environment() {
  local version
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
    skip_all "$2: there is no Python ($python)"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    skip_all "$2: needs Python 3.10 or later, and $python is $version"
  # Debian has venv in a package of its own.
  "$python" -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv || true
  "$python" -c 'import ensurepip, venv' 2>/dev/null ||
    skip_all "$2: $python has no module venv (Debian: apt-get install python3-venv)"
  venv=$target/$1-$version
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
}

# python_packages WHAT PIP-ARGUMENT…: installs into `venv`, or skips WHAT, which is the whole of the script.
python_packages() {
  local what=$1
  shift
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" ||
    skip_all "$what: pip cannot install $*"
}

# ship: man pages and completions, by the command that the tests compile, where the wheel and the source distribution take them from. They are
# removed when the script ends, by a trap in the place of any other. Needs scripts/workspace, and the repository's folder.
ship() {
  shipped=$PWD/crates/spadework-py/spadework.data/data/share
  trap remove_shipped EXIT
  remove_shipped
  cargo build --quiet --locked "${tested[@]}" --bin spadework
  "$target/debug/spadework" share "$shipped"
}
remove_shipped() { rm -rf "$shipped"/{man,bash-completion,zsh,fish,powershell}; }

# has_all SHARE SITE: fails where an installed wheel lacks man pages, completions or licenses, in its folders `share` and `site-packages`.
has_all() {
  local file
  for file in "$1"/man/man1/spadework{,-score}.1 "$1/bash-completion/completions/spadework" "$1/zsh/site-functions/_spadework" \
    "$1/fish/vendor_completions.d/spadework.fish" "$1/powershell/spadework.ps1" "$2"/spadework-*.dist-info/licenses/LICENSE-{APACHE,MIT}; do
    [ -s "$file" ] || { echo "the wheel does not install $file" >&2; return 1; }
  done
  # Links of the repository that were not followed would be files, too.
  grep -q 'Apache License' "$2"/spadework-*.dist-info/licenses/LICENSE-APACHE && grep -q 'Permission is hereby granted' "$2"/spadework-*.dist-info/licenses/LICENSE-MIT ||
    { echo "the wheel does not install the texts of the licenses" >&2; return 1; }
}

# alone ENVIRONMENT FOLDER ARGUMENT…: the command of an installed wheel, with nothing else on the path, no compiler above all.
alone() {
  local bin=$1/bin folder=$2
  shift 2
  (cd "$folder" && env -i PATH="$bin" HOME="$folder" spadework "$@" >out 2>err || { cat err; exit 1; })
}
