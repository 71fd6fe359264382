#!/usr/bin/env python3
"""An inbox consumer for as many instances as you like: python3 scheduler.py NAME [--until-empty]

Claims free records, calls a web service with the fence, and settles each delivery. Knows no other instance. TURNO_URL may
name several servers, separated by spaces: if one does not answer, the next one is asked.
"""
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request

SERVERS = os.environ.get("TURNO_URL", "http://127.0.0.1:7171").split()
ME = sys.argv[1]
UNTIL_EMPTY = "--until-empty" in sys.argv


def api(path, body=None):
    """Asks the servers in turn until one answers. Repeating is safe: a repeated settlement gets the same answer."""
    headers = {"Authorization": f"Bearer {os.environ['TURNO_TOKEN']}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    while True:
        try:
            request = urllib.request.Request(f"{SERVERS[0]}/v1/queues/presentations{path}", data, headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                raise
        except OSError:
            pass
        SERVERS.append(SERVERS.pop(0))
        time.sleep(0.2)


def process(record, attempt, fence):
    """The web service. It gets the fence along, and refuses a smaller one than it has seen for the same record."""
    if record.get("fails") and attempt == 1:
        raise RuntimeError("503 from the web service")


def keep(named, done):
    """Says that we are still at it, until we are not."""
    while not done.wait(timeout=1):
        api("/heartbeat", {"deliveries": [named]})


def work(delivery):
    named = {"delivery": delivery["delivery"], "fence": delivery["fence"]}
    item, done = delivery["items"][0], threading.Event()
    threading.Thread(target=keep, args=(named, done), daemon=True).start()
    try:
        process(item["payload"], delivery["attempt"], delivery["fence"])
        how = api("/ack", {"deliveries": [named]})
    except RuntimeError as error:
        # Unprocessed again, with its error; tried again as the policy says, by the next free instance.
        how = api("/fail", {"deliveries": [{**named, "error": str(error), "retry_in_ms": 100}]})
    finally:
        done.set()
    print(f"{ME}: {item['id']} {how['results'][0]['outcome']}, attempt {delivery['attempt']}", flush=True)


def nothing_left():
    counts = api("")["counts"]
    return counts["pending"] + counts["in_process"] + counts["error"] == 0


while not (UNTIL_EMPTY and nothing_left()):
    for delivery in api("/claim", {"instance": ME, "max": 5, "wait_ms": 1_000})["deliveries"]:
        work(delivery)
