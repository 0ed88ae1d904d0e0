"""A hostile member: it has the job's key and speaks the roll call's protocol, not as `train`."""

import json
import re

from process import wait_until
from test_groups import in_groups
from training import GUARD_SECONDS

MEMORY_KIB = 150 << 10

# Joins as algo-2, waits for the ranks, then calls again and again and reads no answer.
DEAF = """
import ctypes, json, os, socket, struct, sys, time
ssl = ctypes.CDLL("libssl.so.3")
for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
    getattr(ssl, name).restype = ctypes.c_void_p
text = ctypes.POINTER(ctypes.c_char)
@ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p, ctypes.c_char_p, text, ctypes.c_uint, text,
                  ctypes.c_uint)
def prove(session, hint, identity, identity_max, key, key_max):
    ctypes.memmove(identity, b"e2e/algo-2\\0", 11)
    ctypes.memmove(key, bytes.fromhex(os.environ["KEY"]), 32)
    return 32
context = ctypes.c_void_p(ssl.SSL_CTX_new(ctypes.c_void_p(ssl.TLS_client_method())))
ssl.SSL_CTX_set_ciphersuites(context, b"TLS_AES_128_GCM_SHA256")
ssl.SSL_CTX_set_psk_client_callback(context, prove)
def knock(port):
    while True:
        try:
            return socket.create_connection(("algo-1", port))
        except OSError:
            if session:
                say(4, {})
            time.sleep(0.1)
session = None
line = knock(9730)
session = ctypes.c_void_p(ssl.SSL_new(context))
ssl.SSL_set_fd(session, line.fileno())
assert ssl.SSL_connect(session) == 1
def say(kind, payload):
    payload = json.dumps(payload).encode()
    frame = struct.pack("<IB", len(payload), kind) + payload
    return ssl.SSL_write(session, frame, len(frame)) == len(frame)
say(1, {"version": 1, "muster": "0", "host": "algo-2"})
knock(7777)
said = 0
while said < 400 and say(30, {"name": "x" * 1000000, "digest": "d"}):
    said += 1
print("said", said, flush=True)
line.recv(1)  # Until the leader has ended it.
"""

RANK = """
import signal, socket
server = socket.create_server(("", 7777))
print("ready", flush=True)
signal.pause()
"""


def test_a_member_that_never_reads_neither_fills_the_leader_nor_keeps_the_job(training):
    only_first = {"sagemaker_distribution_instance_groups": json.dumps(["data"])}
    job = in_groups(training(3, 1, RANK, only_first))
    job.start(job.hosts[0], job.hosts[2])
    hostile = job.hosts[1].start(["python3", "-c", DEAF], env={"KEY": job.key})
    leader = job.train_pid("algo-1")
    peak = 0

    def over() -> bool:
        nonlocal peak
        try:
            with open(f"/proc/{leader}/status") as status:
                peak = max([peak, *map(int, re.findall(r"VmHWM:\s+(\d+)", status.read()))])
        except OSError:
            pass  # Ended.
        return not job.leader.running()

    wait_until("the job to end", over, GUARD_SECONDS)
    assert set(job.wait().values()) == {1}, job.story()
    assert "ready" in job.leader.text, job.story()
    assert 0 < peak < MEMORY_KIB, f"{peak} KiB"
    for name in ("algo-1", "algo-3"):
        assert "algo-2: lost: its session ended: the other side is not reading" in job.failure(name)
    hostile.end()
    assert int(re.search(r"said (\d+)", hostile.text)[1]) < 100, hostile.text
