# What the scripts here need of others, installed once into a cache folder outside the repository,
# and the programs they try. Sourced from the root of the repository: `source tests/install.sh`

# A failure inside of $(…) ends the script, too.
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

# A virtual environment, on Debian too, where root may have to install what makes them.
venv() {
  python3 -m venv --clear "$1" >&2 && return
  if [[ $EUID != 0 ]] || ! command -v apt-get >/dev/null; then
    say 'python3 cannot make virtual environments (Debian and Ubuntu: apt-get install python3-venv)'
    return 1
  fi
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >&2
  python3 -m venv --clear "$1" >&2
}

# Into `venv` of a folder, what a list of requirements names.
install_python() {
  venv "$1/venv"
  "$1/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$2"
}

# Into `node_modules` of a folder, what a package and its lock file name. What one of the packages
# does when it is installed is not needed: they come built.
install_javascript() {
  cp "$2" "$3" "$1"
  (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
}

# Prints the folder in which a function has once succeeded with the content of these files.
# One at a time, whichever script it is for. `installed NAME FUNCTION FILE…`
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

# Builds the programs, and sets `target` to where they are. The same selection for every script:
# another one has other features, and is another build of most dependencies.
build() {
  cargo build --locked --quiet --bins --example database
  target=$(cargo metadata --locked --no-deps --offline --format-version 1 |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
}
