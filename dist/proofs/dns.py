"""A DNS server for one name, which is this machine. `dns.py NAME` ends once the server is there."""
import os
import socket
import struct
import sys

name = sys.argv[1]
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
if os.fork():
    sys.exit()
while True:
    question, client = server.recvfrom(512)
    labels, place = [], 12
    while question[place]:
        labels.append(question[place + 1 : place + 1 + question[place]].decode())
        place += 1 + question[place]
    kind = struct.unpack("!H", question[place + 1 : place + 3])[0]
    is_known = ".".join(labels).lower() == name
    answers = [struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton("127.0.0.1")] if kind == 1 and is_known else []
    flags = 0x8180 if is_known else 0x8183
    header = question[:2] + struct.pack("!HHHHH", flags, 1, len(answers), 0, 0)
    server.sendto(header + question[12 : place + 5] + b"".join(answers), client)
