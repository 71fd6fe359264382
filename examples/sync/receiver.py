#!/usr/bin/env python3
"""A module that receives changes: MODULE_SECRET=… python3 receiver.py; GET / shows what it knows."""
import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["MODULE_SECRET"]
KEY = base64.b64decode(SECRET[6:]) if SECRET.startswith("whsec_") else SECRET.encode()
users = {}  # by key: the newest fence and the data; keep both in your database, changed in one transaction


def is_genuine(headers, body):
    sent = headers.get("webhook-timestamp", "0")
    signed = f"{headers.get('webhook-id')}.{sent}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split()
    return abs(time.time() - int(sent)) < 300 and any(hmac.compare_digest(expected, one) for one in given)


class Module(BaseHTTPRequestHandler):
    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.answer(self.take(body) if is_genuine(self.headers, body) else 401)

    def take(self, body):
        change = json.loads(body)
        if change["fence"] < users.get(change["key"], {"fence": 0})["fence"]:
            return 409  # late: something newer has arrived
        users[change["key"]] = {"fence": change["fence"], "data": change["data"]}  # no data: deactivated
        print(change["action"], change["key"], change["revision"], flush=True)
        return 204

    def do_GET(self):
        self.answer(200, json.dumps({key: user["data"] for key, user in users.items()}))

    def answer(self, status, body=""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Module)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
