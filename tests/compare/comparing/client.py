"""A client on a program's pipes that hides nothing: every message is kept as it came.

Both eras give the same kind of record, so that they can be compared with each other: what the server said in the middle of
the request, one entry for each message in the order of arrival, and the answer.
"""

import json
import queue
import subprocess
import threading
import time

SESSION, STATELESS = "session", "stateless"
REVISIONS = {SESSION: "2025-11-25", STATELESS: "2026-07-28"}
CAPABILITIES = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}
CLIENT = {"name": "compare", "version": "1.0.0"}
TOKEN = "token"
PREFIX = "io.modelcontextprotocol/"

# The servers ask for different things; each finds its own.
FORM = {"colour": "teal", "value": "teal", "username": "ann", "email": "ann@example.org"}

ANSWERS = {
    "elicitation/create": {"action": "accept", "content": FORM},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "a fine word"},
        "model": "m",
        "stopReason": "endTurn",
    },
    "roots/list": {"roots": [{"uri": "file:///home/ann", "name": "home"}]},
    "ping": {},
}


class NoAnswer(Exception):
    """The server did not answer in time, or left."""


class Client:
    def __init__(self, command, era, cwd=None, env=None, patience=60):
        self.era, self.patience, self.next_id = era, patience, 0
        pipe = subprocess.PIPE
        self.program = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, bufsize=1
        )
        self.messages = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.program.stdout:
            try:
                self.messages.put(json.loads(line))
            except ValueError:
                self.messages.put({"method": "not JSON", "params": line})
        self.messages.put(None)

    def close(self):
        """Ends the program as a client does: by closing its input."""
        try:
            self.program.stdin.close()
            self.program.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.program.kill()
            self.program.wait()

    def _send(self, message):
        try:
            self.program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            self.program.stdin.flush()
        except OSError as problem:
            raise NoAnswer(f"cannot write: {problem}") from problem

    def _next(self, method, deadline):
        try:
            message = self.messages.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise NoAnswer(f"no answer to {method} within {self.patience} s") from None
        if message is None:
            raise NoAnswer(f"the server left instead of answering {method}")
        return message

    def begin(self):
        """The handshake, and its record."""
        if self.era == STATELESS:
            return self.ask("server/discover", {})
        params = {"protocolVersion": REVISIONS[SESSION], "capabilities": CAPABILITIES, "clientInfo": CLIENT}
        record = self.ask("initialize", params)
        self._send({"method": "notifications/initialized"})
        return record

    def ask(self, method, params):
        """Sends a request, answers what the server asks meanwhile, and returns the record."""
        said = []
        answer = self._round(method, params, said)
        # A stateless server asks by ending the request; the client answers by repeating it.
        while isinstance(answer.get("result"), dict) and answer["result"].get("resultType") == "input_required":
            result = answer["result"]
            answers = {}
            for key, question in result.get("inputRequests", {}).items():
                said.append({"question": question["method"], "params": question.get("params")})
                answers[key] = ANSWERS.get(question["method"], {})
            more = {"inputResponses": answers}
            if "requestState" in result:
                more["requestState"] = result["requestState"]
            answer = self._round(method, {**params, **more}, said)
        return {"said": said, **answer}

    def _round(self, method, params, said):
        self.next_id += 1
        request = self.next_id
        self._send({"id": request, "method": method, "params": {**params, **self._meta(method, params)}})
        deadline = time.monotonic() + self.patience
        while True:
            message = self._next(method, deadline)
            if message.get("id") == request and "method" not in message:
                return {kind: message[kind] for kind in ("result", "error") if kind in message}
            said.extend(self._heard(message))

    def _heard(self, message):
        method = message.get("method", "")
        # A list that changes while servers start says nothing about a request.
        if method.endswith("/list_changed"):
            return []
        if "id" not in message:
            return [{"notification": method, "params": message.get("params")}]
        if method in ANSWERS:
            self._send({"id": message["id"], "result": ANSWERS[method]})
        else:
            self._send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
        return [] if method == "ping" else [{"question": method, "params": message.get("params")}]

    def _meta(self, method, params):
        meta = {}
        if method == "tools/call":
            meta["progressToken"] = TOKEN
        if self.era == STATELESS:
            meta[f"{PREFIX}protocolVersion"] = REVISIONS[STATELESS]
            meta[f"{PREFIX}clientInfo"] = CLIENT
            meta[f"{PREFIX}clientCapabilities"] = CAPABILITIES
            meta[f"{PREFIX}logLevel"] = "debug"
        return {"_meta": meta} if meta else {}
