"""Verifies Ed25519 signatures (RFC 8032) in plain Python: some milliseconds each. Used by verify_export.py."""
from hashlib import sha512

P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
def add(a, b):
    m, n = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return (n - m) * (d - c) % P, (d + c) * (n + m) % P, (d - c) * (d + c) % P, (n - m) * (n + m) % P
def multiply(factor, point, result=(0, 1, 1, 0)):
    while factor:
        result = add(result, point) if factor & 1 else result
        point, factor = add(point, point), factor >> 1
    return result
def decode_point(data):
    y, sign = int.from_bytes(data, "little") & 2**255 - 1, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    x = x if x & 1 == sign else P - x
    return (x, y, 1, x * y % P) if (x * x - square) % P == 0 and y < P else None
BASE = decode_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
def is_signed(key, text, signature):
    point, s = decode_point(key), int.from_bytes(signature[32:], "little")
    h = int.from_bytes(sha512(signature[:32] + key + text).digest(), "little") % ORDER
    if point is None or s >= ORDER or len(signature) != 64:
        return False
    x, y, z, _ = add(multiply(s, BASE), multiply(h, (P - point[0], point[1], 1, P - point[3])))
    x, y = x * pow(z, -1, P) % P, y * pow(z, -1, P) % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]
