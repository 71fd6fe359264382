#!/bin/sh
# Measures the memory of a server on SQLite with a million queued items and 100,000 live leases, filled over HTTP: idle,
# after each step, and 15 s and 40 s later. Needs curl, and `turno` in the PATH.
set -eu
items=${ITEMS:-1000000}
leases=${LEASES:-100000}
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
export TURNO_DATABASE="sqlite:$folder/turno.db" TURNO_LOG_LEVEL=error
turno user add eva --role admin 2> /dev/null
token=$(turno token create --user eva)
turno serve --listen 127.0.0.1:0 > "$folder/out" &
server=$!
until url=$(sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' "$folder/out") && [ -n "$url" ]; do sleep 0.1; done
TURNO_TOKEN="$token" turno queue put load --kind inbox --server "$url" > /dev/null

# Prints the resident memory and its anonymous part. The rest is the mapped program file.
print_memory() {
    awk -v what="$1" '/^VmRSS/ { all = $2 } /^RssAnon/ { own = $2 }
        END { printf "%-22s %5.1f MB, %5.1f of its own\n", what, all / 1024, own / 1024 }' "/proc/$server/status"
}
post() { curl -sSf -o "$folder/answer" -H "Authorization: Bearer $token" --json "@$folder/body" "$url$1"; }

print_memory idle
seq 1000 | awk 'BEGIN { printf "[" } { printf "%s{\"payload\":{\"n\":%d}}", (NR > 1 ? "," : ""), $1 } END { printf "]" }' \
    > "$folder/body"
for _ in $(seq $((items / 1000))); do post /v1/queues/load/items; done
print_memory "after the items"
for page in $(seq $((leases / 1000))); do
    seq $((page * 1000 - 999)) $((page * 1000)) | awk 'BEGIN { printf "{\"leases\":[" }
        { printf "%s{\"resource\":\"r:%d\",\"ttl_ms\":3600000}", (NR > 1 ? "," : ""), $1 } END { printf "]}" }' > "$folder/body"
    post /v1/leases/claim
done
print_memory "after the leases"
sleep 15
print_memory "15 s later"
sleep 25
print_memory "40 s later"
