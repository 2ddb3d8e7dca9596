# SPDX-License-Identifier: MIT
"""What is run where: the usual seconds of a test, chains of tests that are not run beside each other, and shards.

tests/weights has a row for what takes LEAST seconds or more, measured with three lanes on two processors;
`tests/run --weigh` writes the rows of what it ran anew.
"""
import os
import zlib

WEIGHTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'weights')
LEAST = 3.0
NO_ROW = 1.0  # seconds of what has none
# A time-out is there against hanging: ten times what is usual on a busy machine, where all takes twice as long.
PATIENCE = 20
SHORTEST = 300
SHORTEST_LONG = 900


class Item:
    """What is run as a whole. `go(tally)` runs it. `long`: in its long form. `more`: `make check` has not got it."""

    def __init__(self, group, name, chain, go, long=False, more=False, bundle=None):
        self.group, self.name, self.chain, self.go = group, name, chain, go
        self.long, self.more, self.bundle = long, more, bundle or name
        self.key = name + ' (long)' if long else name  # of its row


def read_weights(path=WEIGHTS):
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        rows = (line.rstrip('\n').split(' ', 1) for line in f if not line.startswith('#'))
        return {name: float(seconds) for seconds, name in rows}


def write_weights(ran, path=WEIGHTS):
    """`ran`: seconds by key. What did not run keeps its row."""
    rows = dict(read_weights(path), **ran)
    with open(path, 'w') as f:
        f.write('# Usual seconds of tests: see tests/plan.py.\n')
        f.writelines('%.0f %s\n' % (rows[key], key) for key in sorted(rows) if rows[key] >= LEAST)


def patience(item, weights, least=0):
    """Seconds until it is taken to hang."""
    least = least or (SHORTEST_LONG if item.long or item.more else SHORTEST)
    return int(max(least, PATIENCE * weights.get(item.key, NO_ROW)))


def weight(items, weights):
    return sum(weights.get(i.key, NO_ROW) for i in items)


def grouped(items, by):
    found = {}
    for i in items:
        found.setdefault(by(i), []).append(i)
    return found


def shards(items, n, weights):
    """N lists. What has a row goes, the longest first, where least is to do; what has none goes where its name says, so
    that a new test moves no other."""
    parts, load = [[] for _ in range(n)], [0.0] * n
    bundles = grouped(items, lambda i: i.bundle)
    heavy = {name for name, some in bundles.items() if any(i.key in weights for i in some)}
    for name in sorted(heavy, key=lambda name: (-weight(bundles[name], weights), name)):
        k = load.index(min(load))
        parts[k] += bundles[name]
        load[k] += weight(bundles[name], weights)
    for name in bundles.keys() - heavy:
        parts[zlib.crc32(name.encode()) % n] += bundles[name]
    order = {i.name: n for n, i in enumerate(items)}
    return [sorted(part, key=lambda i: order[i.name]) for part in parts]


def chains(items, weights):
    """Lists of those that are not run beside each other, the longest first."""
    found = grouped(items, lambda i: (i.group, i.chain)).values()
    return sorted(found, key=lambda some: -weight(some, weights))
