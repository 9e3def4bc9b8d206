#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hook.py FOLDER - a receiver of webhooks on a free port of 127.0.0.1.

Writes its port to FOLDER/port and every request as a line of JSON to FOLDER/requests. The
path says how it answers: /ok, /flaky (503 until FOLDER/well exists), /gone (404),
/to/STATUS/URL (a redirect), /say/TEXT (200 with that text), /slow (never)."""
import http.server
import json
import os
import sys
import time
import urllib.parse

folder = sys.argv[1]


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0))).decode()
        with open(os.path.join(folder, 'requests'), 'a', encoding='utf-8') as f:
            f.write(json.dumps({'path': self.path, 'headers': dict(self.headers), 'body': body}) + '\n')
        status, to, answer = 200, None, b''
        if self.path.startswith('/flaky'):
            status = 200 if os.path.exists(os.path.join(folder, 'well')) else 503
        elif self.path.startswith('/gone'):
            status = 404
        elif self.path.startswith('/to/'):
            _, _, number, to = self.path.split('/', 3)
            status = int(number)
        elif self.path.startswith('/say/'):
            answer = urllib.parse.unquote(self.path[5:].split('?')[0]).encode()
        elif self.path.startswith('/slow'):
            time.sleep(60)
        self.send_response(status)
        if to:
            self.send_header('Location', to)
        self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hook)
with open(os.path.join(folder, 'port.new'), 'w', encoding='utf-8') as out:
    out.write(str(server.server_port))
os.rename(os.path.join(folder, 'port.new'), os.path.join(folder, 'port'))
server.serve_forever()
