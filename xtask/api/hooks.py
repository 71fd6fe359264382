"""Hooks of schemathesis: shorten waiting, protect the callers, count the statuses, and refuse server errors.

`TURNO_API_STATUSES` names the file for the counts: a line `STATUS COUNT` per status. `TURNO_API_CALLERS` lists the ids of
the callers' accounts and tokens, separated by commas.
"""

import atexit
import collections
import os
import threading

import schemathesis

LONGEST_MS = 20
# A server under load says so, and promises to change nothing.
DOCUMENTED = ("overloaded",)

CALLERS = frozenset(os.environ.get("TURNO_API_CALLERS", "").split(","))

counts = collections.Counter()
lock = threading.Lock()


@schemathesis.hook
def before_call(context, case, kwargs):
    # The tool reuses ids from answers. A caller that removes its own account or token would get only 401 afterwards.
    if case.path_parameters and case.path_parameters.get("id") in CALLERS:
        case.path_parameters["id"] = "eva"
    # A form sends an empty filter, which means no filter. The type of a boolean parameter cannot express that.
    if case.query and case.query.get("locked") == "":
        case.query["locked"] = "perhaps"
    body = case.body
    if isinstance(body, dict):
        wait = body.get("wait_ms")
        # Only valid values: a value that must be refused stays unchanged.
        if isinstance(wait, int) and not isinstance(wait, bool) and LONGEST_MS < wait <= 30_000:
            body["wait_ms"] = LONGEST_MS


@schemathesis.hook
def after_call(context, case, response):
    # 503 with another code is counted as 500, because only an overload is a documented answer here.
    status = response.status_code
    with lock:
        counts[500 if status == 503 and not is_documented(response) else status] += 1


@schemathesis.check
def no_server_error(context, response, case):
    if response.status_code >= 500 and not is_documented(response):
        raise AssertionError(f"server error {response.status_code}")


def is_documented(response):
    try:
        return response.status_code == 503 and response.json()["code"] in DOCUMENTED
    except (ValueError, KeyError, TypeError):
        return False


@atexit.register
def write_counts():
    path = os.environ.get("TURNO_API_STATUSES")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{status} {count}\n" for status, count in sorted(counts.items()))
