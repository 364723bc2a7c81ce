"""An external agent that sends endless requests, connections and garbage."""

import json
import os
import socket
import threading
import urllib.error
import urllib.request

PORT = int(os.environ["ANTHROPIC_BASE_URL"].rpartition(":")[2])
open_connections = []
for _ in range(300):
    open_connections.append(socket.create_connection(("127.0.0.1", PORT)))
for connection in open_connections:
    connection.send(b"\xff" * 100)
    connection.close()
refused = []


def ask():
    body = json.dumps({"messages": [{"role": "user", "content": "more"}]}).encode()
    for _ in range(10):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/v1/chat/completions", body).read()
        except (urllib.error.HTTPError, OSError) as error:
            refused.append(getattr(error, "code", 0))


threads = [threading.Thread(target=ask) for _ in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
