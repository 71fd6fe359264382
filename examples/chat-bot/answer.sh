#!/bin/sh
# Answers one conversation; `turno queue work bot -- ./answer.sh` does the rest.
# The delivery is on stdin as JSON, and its parts are in TURNO_KEY, TURNO_FENCE, TURNO_ATTEMPT.
said=$(python3 -c '
import json, sys
print(" | ".join(item["payload"]["text"] for item in json.load(sys.stdin)["items"]))
') || exit 1
echo "$TURNO_KEY: $said"
