#!/usr/bin/env bash
# A chat bot with curl: ./bot.sh [COUNT]
# Answers so many conversations and ends; without a number it goes on. JSON is taken apart by Python's standard library.
set -euo pipefail
queue="${TURNO_URL:-http://127.0.0.1:7171}/v1/queues/bot"
me="bot-sh-$$"

api() { curl -sS --fail-with-body -H "Authorization: Bearer $TURNO_TOKEN" --json "$2" "$queue/$1"; }

# Of what was claimed, on a line each: how it is settled, with which body, for whom, and what is to be answered.
# A message without a text is poison: those before it are answered, it fails for good, those behind it come again.
apart='
import json, sys
for got in json.load(sys.stdin)["deliveries"]:
    end, said, texts = "ack", {"delivery": got["delivery"], "fence": got["fence"]}, []
    for item in got["items"]:
        if not item["payload"].get("text"):
            end = "fail"
            said.update(error="a message without a text", item=item["id"], final=True)
            break
        texts.append(item["payload"]["text"])
    print(end, json.dumps({"deliveries": [said]}), got["key"], " | ".join(texts).replace("\n", " "), sep="\n")
'

left="${1:--1}"
while [ "$left" -ne 0 ]; do
  # Waits up to 20 s for a person who has stopped writing. If the server is away, asks again.
  got=$(api claim "{\"instance\":\"$me\",\"wait_ms\":20000}" | python3 -c "$apart") || { sleep 1; continue; }
  [ -n "$got" ] || continue
  { read -r end; read -r body; read -r who; read -r said || true; } <<< "$got"

  # Here it would call WhatsApp, with the fence, so that a bot that comes late can be refused.
  [ -z "$said" ] || echo "$who: $said"

  api "$end" "$body" > /dev/null
  left=$((left - 1))
done
