# Installs the tools for the scripts here once, into a cache folder outside the repository, and
# builds the programs. Sourced from the root of the repository: `source tests/install.sh`

# Makes a failure inside of $(…) end the script, too.
shopt -s inherit_errexit

if [[ -n ${ZIGGURAT_CACHE_DIR:-} ]]; then
  cache=$ZIGGURAT_CACHE_DIR
elif [[ $EUID == 0 ]]; then
  cache=/var/cache/ziggurat
else
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat
fi

say() {
  printf '%s\n' "$*" >&2
}

# Installs packages of Debian or Ubuntu, if root runs this there. One script at a time, and in this
# runlevel an installation starts no services.
install_debian() (
  if [[ $EUID != 0 ]] || ! command -v apt-get >/dev/null; then
    say "not installed: $* (Debian and Ubuntu: apt-get install $*)"
    return 1
  fi
  mkdir -p "$cache"
  exec 8>"$cache/debian.lock"
  flock 8
  apt-get update -qq >&2
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >&2
)

# A virtual environment, also on Debian, where root may have to install the package for it.
venv() {
  python3 -m venv --clear "$1" >&2 && return
  install_debian python3-venv
  python3 -m venv --clear "$1" >&2
}

# Installs the packages of a requirements file into `venv` of a folder.
install_python() {
  venv "$1/venv"
  "$1/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$2"
}

# Installs a package and its lock file into `node_modules` of a folder. Install scripts are not
# needed: the packages are prebuilt.
install_javascript() {
  cp "$2" "$3" "$1"
  (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
}

# Prints the folder in which a function has succeeded once with the content of these files. One at a
# time across all scripts. `installed NAME FUNCTION FILE…`
installed() (
  name=$1 install=$2
  shift 2
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9
  folder=$cache/$name-$(cat "$@" | sha256sum | cut -c -16)
  if [[ ! -e $folder/complete ]]; then
    say "installing $name into $folder"
    rm -rf "$folder"
    mkdir -p "$folder"
    "$install" "$folder" "$@" >&2
    touch "$folder/complete"
  fi
  printf '%s\n' "$folder"
)

# Installs PostgreSQL 14 to 18. The packages hold no links, and their scripts are not run.
install_servers() {
  install_javascript "$@"
  python3 - "$1"/node_modules/postgresql-* <<'PYTHON'
import json, os, sys

for package in sys.argv[1:]:
    with open(f"{package}/native/pg-symlinks.json") as file:
        links = json.load(file)
    for link in links:
        source, target = (os.path.join(package, link[end]) for end in ["source", "target"])
        if not os.path.lexists(target):
            os.symlink(os.path.relpath(source, os.path.dirname(target)), target)
PYTHON
  # The servers run as another user than root.
  chmod -R a+rX "$1"
  chmod a+x "$1"/node_modules/postgresql-*/native/bin/*
}

# Sets `binaries` to the folders of these versions of PostgreSQL, or of other binaries.
servers() {
  local version folder files=(tests/dba/package.json tests/dba/package-lock.json)
  binaries=()
  for version; do
    if [[ $version == */* ]]; then
      binaries+=("$version")
      continue
    fi
    folder=${folder:-$(installed servers install_servers "${files[@]}")}
    binaries+=("$folder/node_modules/postgresql-$version/native/bin")
  done
}

# Prints the path of Chromium, which root on Debian installs if there is none.
find_chromium() {
  command -v chromium || command -v chromium-browser || command -v google-chrome && return
  install_debian chromium
  command -v chromium
}

# Prints the path of the library that moves the clock of a program, which root on Debian installs.
find_faketime() {
  local name='/usr/lib/*/faketime/libfaketimeMT.so.1'
  compgen -G "$name" && return
  install_debian libfaketime
  compgen -G "$name"
}

# Builds the programs, or what is named, and sets `target` to the target folder. Debug builds are of the
# same selection in all scripts: another one has other features, which would rebuild most dependencies.
build() {
  cargo build --locked --quiet --example database "${@:---bins}"
  target=$(cargo metadata --locked --no-deps --offline --format-version 1 |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
}
