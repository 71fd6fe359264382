#!/usr/bin/env python3
"""A chat bot with nothing but Python: python3 bot.py [COUNT]

Answers so many conversations and ends; without a number it goes on.
"""
import json
import os
import sys
import time
import urllib.error
import urllib.request

QUEUE = os.environ.get("TURNO_URL", "http://127.0.0.1:7171") + "/v1/queues/bot"
ME = f"bot-py-{os.getpid()}"


def api(what, body):
    headers = {"Authorization": f"Bearer {os.environ['TURNO_TOKEN']}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{QUEUE}/{what}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def claim():
    """Waits up to 20 s for a person who has stopped writing. If the server is away, asks again."""
    try:
        return api("claim", {"instance": ME, "wait_ms": 20_000})["deliveries"]
    except urllib.error.HTTPError as error:
        if error.code < 500 and error.code != 429:
            raise
    except OSError:
        pass
    time.sleep(1)
    return []


class Poison(Exception):
    """A message that nobody can answer."""

    def __init__(self, item):
        super().__init__("a message without a text")
        self.item = item


def answer(delivery):
    texts = []
    try:
        for item in delivery["items"]:
            if not item["payload"].get("text"):
                raise Poison(item["id"])
            texts.append(item["payload"]["text"])
    finally:
        if texts:
            # Here it would call WhatsApp, with delivery["fence"], so that a bot that comes late can be refused.
            print(f"{delivery['key']}: {' | '.join(texts)}", flush=True)


def work(delivery):
    named = {"delivery": delivery["delivery"], "fence": delivery["fence"]}
    try:
        answer(delivery)
    except Poison as poison:
        # Those before it are answered, it fails for good, those behind it come again.
        api("fail", {"deliveries": [{**named, "error": str(poison), "item": poison.item, "final": True}]})
    except Exception as error:
        # Tried again later, as the queue's policy says; the error is kept with the messages.
        api("fail", {"deliveries": [{**named, "error": repr(error)}]})
    else:
        api("ack", {"deliveries": [named]})


left = int(sys.argv[1]) if len(sys.argv) > 1 else -1
while left != 0:
    for delivery in claim():
        work(delivery)
        left -= 1
