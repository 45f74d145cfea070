"""An https host with the documents of clients: `/NAME.json` is the document of NAME.

Prints its address. The argument is a file, which gets its certificate.
"""

import datetime
import http.server
import json
import ssl
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST = "localhost"
# Each of them at any port.
REDIRECTS = ["http://localhost/callback", "http://localhost/oauth/callback"]
REDIRECTS += ["http://127.0.0.1/oauth/callback"]


def write_certificate(file, key_file):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.DNSName(HOST)])
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key_file.write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))


class Documents(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        document = {
            "client_id": f"{self.server.address}{self.path}",
            "client_name": f"{Path(self.path).stem} by document",
            "redirect_uris": REDIRECTS,
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        }
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    certificate = Path(sys.argv[1])
    key = certificate.with_suffix(".key")
    write_certificate(certificate, key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Documents) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.address = f"https://{HOST}:{server.server_port}"
        print(server.address, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
