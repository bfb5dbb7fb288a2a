"""Prints vectors.txt: scores and homes by an implementation that shares nothing with the Go one.

    python3 vectors.py > vectors.txt
"""
import hashlib


def score(obj, node):
    return hashlib.blake2s(b"holdfast/home\0" + obj + node).digest()


objects = [hashlib.blake2s(b"holdfast/object\0lab-%d" % i).digest() for i in range(8)]
nodes = [hashlib.blake2s(bytes([i]) * 32, digest_size=16, key=b"holdfast").digest()
         for i in range(5)]
print("# Made by vectors.py. score OBJECT NODE SCORE; home OBJECT HOME NODE... with 1 to 5 nodes.")
for o in objects[:3]:
    for n in nodes[:3]:
        print("score", o.hex(), n.hex(), score(o, n).hex())
for o in objects:
    for count in range(1, len(nodes) + 1):
        best = max(nodes[:count], key=lambda n: (score(o, n), n))
        print("home", o.hex(), best.hex(), *(n.hex() for n in nodes[:count]))
