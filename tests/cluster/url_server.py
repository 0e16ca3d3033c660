#!/usr/bin/env python3
"""Serves the files of a directory to urls_test, like a web server and like S3 (path style, one bucket `bucket`).

    url_server.py DIRECTORY [CERTIFICATE KEY]      prints its port

Paths: /data/FILE knows ranges and ETags; /plain/FILE knows neither; /changing/FILE has another ETag in each answer;
/flaky/FILE fails twice, then breaks off once, then works; /moved/FILE redirects; /bucket/... needs a signature of
Signature Version 4, which is computed here anew.
"""
import datetime
import hashlib
import hmac
import http.server
import os
import ssl
import sys
import threading
import urllib.parse
from xml.sax.saxutils import escape

KEY_ID, SECRET, REGION = "TESTKEYID", "canary/secret+key", "eu-test-1"
served = {}  # requests per path
lock = threading.Lock()


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


def signature(handler, path, query):
    """Returns the signature that the request must have, or "" where it has none."""
    head = handler.headers.get("Authorization", "")
    if not head.startswith("AWS4-HMAC-SHA256 "):
        return ""
    fields = dict(part.strip().split("=", 1) for part in head.split(" ", 1)[1].split(","))
    key_id, *scope = fields["Credential"].split("/")
    date = handler.headers["x-amz-date"]
    age = datetime.datetime.utcnow() - datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ")
    if key_id != KEY_ID or scope != [date[:8], REGION, "s3", "aws4_request"] or abs(age.total_seconds()) > 900:
        return ""
    names = fields["SignedHeaders"].split(";")
    if "host" not in names or ("range" in handler.headers and "range" not in names):
        return ""
    canonical = "\n".join(
        ["GET", quote(path, "/"), "&".join(sorted(quote(n) + "=" + quote(v) for n, v in query))]
        + [n + ":" + " ".join(handler.headers[n].split()) for n in names]
        + ["", ";".join(names), handler.headers["x-amz-content-sha256"]])
    key = ("AWS4" + SECRET).encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", date, "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()])
    wanted = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return wanted if hmac.compare_digest(wanted, fields["Signature"]) else ""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(parts.path)
        query = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
        with lock:
            number = served[path] = served.get(path, 0) + 1
        kind, _, name = path[1:].partition("/")
        if kind == "bucket":
            if not signature(self, path, query):
                return self.answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
            if dict(query).get("list-type") == "2":
                return self.listing(dict(query))
        if kind == "moved":
            return self.answer(302, headers=[("Location", "/data/" + name)])
        if kind == "flaky" and number <= 2:
            return self.answer(503, b"busy")
        try:
            with open(os.path.join(sys.argv[1], name), "rb") as file:
                data = file.read()
        except OSError:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        if kind == "plain":
            return self.answer(200, data)
        etag = hashlib.md5(data).hexdigest() + (str(number) if kind == "changing" else "")
        headers = [("ETag", '"%s"' % etag), ("Accept-Ranges", "bytes")]
        wanted = self.headers.get("Range", "")
        if not wanted.startswith("bytes="):
            return self.answer(200, data, headers)
        first, last = (int(n) for n in wanted[6:].split("-"))
        if first >= len(data):
            return self.answer(416, headers=[("Content-Range", "bytes */%d" % len(data))])
        last = min(last, len(data) - 1)
        headers.append(("Content-Range", "bytes %d-%d/%d" % (first, last, len(data))))
        body = data[first:last + 1]
        if kind == "flaky" and number == 4:
            self.send_response(206)
            for header in headers + [("Content-Length", str(len(body)))]:
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(body[:len(body) // 2])
            self.close_connection = True
            return None
        return self.answer(206, body, headers)

    def listing(self, query):
        """Pages of two objects."""
        keys = sorted(os.path.relpath(os.path.join(at, name), sys.argv[1])
                      for at, _, names in os.walk(sys.argv[1]) for name in names)
        keys = [key for key in keys if key.startswith(query.get("prefix", ""))]
        begin = int(query.get("continuation-token", "0"))
        more = begin + 2 < len(keys)
        xml = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType>'
        xml += "<IsTruncated>%s</IsTruncated>" % ("true" if more else "false")
        if more:
            xml += "<NextContinuationToken>%d</NextContinuationToken>" % (begin + 2)
        for key in keys[begin:begin + 2]:
            with open(os.path.join(sys.argv[1], key), "rb") as file:
                data = file.read()
            xml += "<Contents><Key>%s</Key><Size>%d</Size><ETag>&quot;%s&quot;</ETag></Contents>" % (
                escape(quote(key, "/")), len(data), hashlib.md5(data).hexdigest())
        self.answer(200, (xml + "</ListBucketResult>").encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
