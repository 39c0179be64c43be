#!/usr/bin/env python3
"""Verifies an export or an archive: python3 verify_export.py FILE [checkpoints.jsonl]

Written from audit.md beside it; needs only Python 3.10 and ed25519.py. With a kept copy of checkpoints.jsonl it
compares the keys and the history too. Exit code 0: everything agrees. Otherwise it names the first line that does not.
"""
import json, re, sys
from hashlib import sha256
from ed25519 import is_signed

def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
def check(holds, reason):
    if not holds:
        sys.exit(f"line {number}: {reason}")
def check_signature(purpose, signed):
    key = bytes.fromhex(signed["public_key"])
    body = {name: value for name, value in signed.items() if name not in ("kid", "public_key", "signature")}
    text = b"quadrivium audit %s 1\n" % purpose + canonical(body)
    check(signed["kid"] == sha256(key).hexdigest()[:16], "kid is not that of the key")
    check(is_signed(key, text, bytes.fromhex(signed["signature"])), "the signature is wrong")
    check(not keys or key in keys, "no kept checkpoint has this key")
def root(edge, node=b""):
    for left in reversed(edge):
        node = sha256(b"\1" + left + node).digest() if node else left
    return node.hex()

sys.excepthook = lambda _, error, __: print(f"line {number}: cannot be read: {error!r}", file=sys.stderr)
kept, keys, kept_keys, size, number = {}, set(), set(), 0, 0
for number, line in enumerate(open(sys.argv[2], "rb") if sys.argv[2:] else [], 1):
    if line.endswith(b"}\n"):  # a process that was killed leaves half a line
        check_signature(b"checkpoint", checkpoint := json.loads(line))
        place = checkpoint["tenant"], checkpoint["size"]
        check(kept.setdefault(place, checkpoint["root"]) == checkpoint["root"], "contradicts an earlier checkpoint")
        kept_keys.add(bytes.fromhex(checkpoint["public_key"]))
digest, end, keys = sha256(), None, kept_keys
EVENT = re.compile(rb'{"sequence":(\d+),"event_hash":"([0-9a-f]{64})","record":(.*)}\n')
for number, line in enumerate(open(sys.argv[1], "rb"), 1):
    check(end is None, "follows the last line")
    event = EVENT.fullmatch(line)
    value = {} if event else json.loads(line)
    check(event or canonical(value) + b"\n" == line, "is not in canonical form")
    if number == 1:
        check(value["quad_audit"] in ("export", "archive") and value["format"] == 1, "is no header")
        tenant, edge, last_hash, previous = value["tenant"], [], None, None
        if anchor := value["anchor"]:
            start, edge = anchor["checkpoint"], [bytes.fromhex(node) for node in anchor["frontier"]]
            size, last_hash, previous = start["size"], start["event_hash"], start["previous"]
            check_signature(b"checkpoint", start)
            check((start["tenant"], start["root"]) == (tenant, root(edge)), "the anchor is damaged")
            check(len(edge) == size.bit_count(), "the anchor is damaged")
    elif event:
        record, last = json.loads(event[3]), last_hash
        last_hash, node, bit = event[2].decode(), sha256(b"\0" + bytes.fromhex(event[2].decode())).digest(), 1
        check(sha256(event[3]).hexdigest() == last_hash, "the event was changed")
        check((int(event[1]), record["prev_event_hash"]) == (size + 1, last), "events are missing before it")
        check(record["tenant_id"] == tenant, "the event belongs to another tenant")
        while size & bit:
            node, bit = sha256(b"\1" + edge.pop() + node).digest(), bit << 1
        edge.append(node)
        size += 1
    elif checkpoint := value.get("checkpoint"):
        check((checkpoint["tenant"], checkpoint["size"]) == (tenant, size), "the checkpoint is in the wrong place")
        check((checkpoint["root"], checkpoint["event_hash"]) == (root(edge), last_hash), "the events have another root")
        check(checkpoint["previous"] == previous, "a checkpoint is missing before it")
        check_signature(b"checkpoint", checkpoint)
        previous = sha256(canonical(checkpoint)).hexdigest()
    else:
        end = value["end"]
        check((end["sequence"], end["event_hash"]) == (size, last_hash), "events are missing before it")
        check(end["file_sha256"] == digest.hexdigest(), "the file was changed")
        check_signature(b"export", end)
    if (event or number == 1) and (tenant, size) in kept:
        check(kept[tenant, size] == root(edge), "a kept checkpoint has another root")
    digest.update(line)
check(end is not None, "the file ends without its last line")
check(all(last <= size for owner, last in kept if owner == tenant), "kept checkpoints cover more events")
print(f"ok: {tenant}, up to event {size}, hash {last_hash}; keys {'' if keys else 'not '}compared")
