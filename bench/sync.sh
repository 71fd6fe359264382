#!/bin/sh
# Measures one UPDATE of 100,000 rows with the trigger of `preset = "siper"`, as a multiple of the same UPDATE without it, and
# the time of a check and a resync over as many keys. Needs psql, `turno` in the PATH, and an empty PostgreSQL database in
# TURNO_DATABASE.
set -eu
rows=${ROWS:-100000}
here=$(cd "$(dirname "$0")/.." && pwd)
config=$(mktemp)
trap 'rm -f "$config"' EXIT
printf '[[sync.source]]\npreset = "siper"\n' > "$config"
export TURNO_CONFIG="$config"

sql() { psql -qAt -v ON_ERROR_STOP=1 "$TURNO_DATABASE" "$@"; }

# Prints the fastest of three runs in milliseconds. Cleans up the rows of the previous run first.
timed() {
    for _ in 1 2 3; do
        sql -c 'vacuum siper.usuarios' -c 'truncate turno.intake, turno.sync_mark'
        printf '%s\n' "set session_replication_role = $1;" '\timing on' "$2;" | sql | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'
    done | sort -n | head -1
}

sql -f "$here/docs/guides/sync-siper.sql"
turno sync install
sql -c "set session_replication_role = replica" -c "insert into siper.usuarios
    (idper, nombre, apellido, hashpass, algoritmo_pass, principal)
    select n, 'Nombre ' || n, 'Apellido ' || n, 'h', 'PG-SHA256', true from generate_series(1, $rows) n" \
    -c 'vacuum analyze siper.usuarios'
without=$(timed replica "update siper.usuarios set nombre = nombre || '.'")
unwatched=$(timed origin "update siper.usuarios set telefono = '1'")
watched=$(timed origin "update siper.usuarios set nombre = nombre || '.'")
sql -c 'truncate turno.intake, turno.sync_mark'
awk -v w="$without" -v u="$unwatched" -v m="$watched" 'BEGIN {
    printf "without a trigger %d ms; nobody watches the column: %.1f times; every row is marked: %.1f times\n", w, u / w, m / w }'

walk() {
    began=$(date +%s)
    turno sync "$@" > /dev/null 2>&1 || true
    echo "turno sync $*: $(($(date +%s) - began)) s"
}
walk check
walk resync --all
walk check
