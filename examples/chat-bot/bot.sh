#!/usr/bin/env bash
# A chat bot with curl and jq: ./bot.sh [COUNT]
# Answers so many conversations and ends; without a number it goes on.
set -euo pipefail
queue="${TURNO_URL:-http://127.0.0.1:7171}/v1/queues/bot"
me="bot-sh-$$"

api() { curl -fsS -H "Authorization: Bearer $TURNO_TOKEN" --json "$2" "$queue/$1"; }

left="${1:--1}"
while [ "$left" -ne 0 ]; do
  # Waits up to 20 s for a person who has stopped writing. If the server is away, asks again.
  got=$(api claim "{\"instance\":\"$me\",\"wait_ms\":20000}" | jq -c '.deliveries[0] // empty') || { sleep 1; continue; }
  [ -n "$got" ] || continue
  named=$(jq -c '{delivery, fence}' <<< "$got")
  # A message without a text is poison: those before it are answered, it fails for good, those behind it come again.
  poison=$(jq -r 'first(.items[] | select((.payload.text // "") == "") | .id) // ""' <<< "$got")
  said=$(jq -r --arg poison "$poison" \
    '[.items[].id] as $ids | .items[:($ids | index($poison) // length)] | map(.payload.text) | join(" | ")' <<< "$got")

  # Here it would call WhatsApp, with the fence, so that a bot that comes late can be refused.
  [ -z "$said" ] || echo "$(jq -r .key <<< "$got"): $said"

  if [ -z "$poison" ]; then
    api ack "$(jq -c '{deliveries: [.]}' <<< "$named")" > /dev/null
  else
    api fail "$(jq -c --arg item "$poison" \
      '{deliveries: [. + {error: "a message without a text", item: $item, final: true}]}' <<< "$named")" > /dev/null
  fi
  left=$((left - 1))
done
