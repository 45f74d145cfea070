#!/usr/bin/env bash
# Makes the passwords once, in the volumes of those that use them.
set -euo pipefail

umask 077
secrets=${1:-/secrets}
random() {
  head -c 24 /dev/urandom | base64 | tr '+/' '-_'
}

if [[ ! -e $secrets/administrator/password ]]; then
  random >"$secrets/administrator/password"
fi
for role in reader librarian; do
  if [[ ! -e $secrets/$role/pgpass ]]; then
    password=$(random)
    # For the scripts of the database, and for the server in its image.
    printf '%s\n' "$password" >"$secrets/administrator/$role"
    printf 'database:5432:*:%s:%s\n' "$role" "$password" >"$secrets/$role/pgpass"
    chown -R 65532:65532 "$secrets/$role"
  fi
done
# PostgreSQL runs its scripts as this user of its image.
chown -R postgres "$secrets/administrator"
