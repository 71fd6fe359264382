"""Keeps calls that may wait from waiting: what is checked is the answer, not the patience."""

import schemathesis

LONGEST_MS = 20


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if isinstance(body, dict):
        wait = body.get("wait_ms")
        # Only what is allowed anyway: a value that must be refused stays as it is.
        if isinstance(wait, int) and not isinstance(wait, bool) and LONGEST_MS < wait <= 30_000:
            body["wait_ms"] = LONGEST_MS
