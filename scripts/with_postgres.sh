#!/usr/bin/env bash
# Run a command beside a PostgreSQL server of its own: scripts/with_postgres.sh make test
# The server listens on a free loopback port, keeps its data in a temporary folder, and is gone when the command ends.
# Where no PostgreSQL is installed the command runs all the same, and the tests that need one say that they are skipped.
set -euo pipefail

initdb=$(find /usr/lib/postgresql /usr/local/pgsql /opt/homebrew/opt -name initdb -path '*bin*' 2>/dev/null | sort -V | tail -n 1 || true)
[ -n "$initdb" ] || initdb=$(command -v initdb || true)
if [ -z "$initdb" ]; then
  echo "no PostgreSQL found; its tests will be skipped (Debian: apt-get install postgresql)" >&2
  exec "$@"
fi
bin=$(dirname "$initdb")
folder=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
as_owner() { "$@"; }
if [ "$(id -u)" = 0 ]; then # PostgreSQL refuses to run as root
  chown postgres "$folder"
  as_owner() { setpriv --reuid=postgres --regid=postgres --init-groups env HOME="$folder" "$@"; }
fi
stop() {
  (cd / && as_owner "$bin/pg_ctl" -D "$folder/data" -m immediate -s stop) || true
  rm -rf "$folder"
}
trap stop EXIT
(
  cd /
  as_owner "$bin/initdb" -D "$folder/data" -U salesfloor -A trust -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null
  as_owner "$bin/pg_ctl" -D "$folder/data" -s -w -l "$folder/log" \
    -o "-c listen_addresses=127.0.0.1 -p $port -k $folder -c fsync=off -c max_connections=200" start
)
export SALESFLOOR_TEST_POSTGRES="postgresql://salesfloor@127.0.0.1:$port/postgres"
"$@"
