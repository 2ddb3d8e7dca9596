#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stack that a handler needs below its own frame, by gcc's call graph: no
function of the runtime may need more than script.h says.

usage: stack.py CC FLAGS..."""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIME = os.path.join(HERE, "..", "..", "runtime")
# Who is meant where the code calls through a pointer of its own.
INDIRECT = ["collect", "lines_add"]
# The home's functions (view->ops) come on top; this much is theirs.
HOME = 200
# No target goes there.
RUNNERS = "once_read"


def read_graph(folder):
    size, calls = {}, {}
    for path in glob.glob(folder + "/*.ci"):
        for line in open(path):
            if m := re.match(r'node: \{ title: "([^"]*)" label: "[^"]*?(\d+) bytes', line):
                size[m[1]] = int(m[2])
            elif m := re.match(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"', line):
                calls.setdefault(m[1], set()).add(m[2])
    return size, calls


def main():
    limits = {}
    for line in open(os.path.join(RUNTIME, "script.h")):
        if m := re.match(r"#define (TL_STACK_\w+)\s+(\d+)", line):
            limits[m[1]] = int(m[2])
    header = open(os.path.join(RUNTIME, "script.h")).read()
    named = {}
    for which, names in re.findall(r"(TL_STACK_[A-Z]+):([^.]*)\.", header):
        named.update((name, which) for name in re.findall(r"\btl_\w+", names))
    with tempfile.TemporaryDirectory() as out:
        for src in glob.glob(RUNTIME + "/*.c") + [RUNTIME + "/machine/x86_64.c"]:
            obj = os.path.join(out, os.path.basename(src)[:-2] + ".o")
            done = subprocess.run(
                sys.argv[1:] + ["-fcallgraph-info=su", "-c", src, "-o", obj], cwd=out)
            if done.returncode:
                print("not ok runtime_stack: cannot compile", src)
                return 1
        size, calls = read_graph(out)
    short = {}
    for name in size:
        short.setdefault(name.split(":")[-1], name)
    indirect = [short[n] for n in INDIRECT]

    def need(name, path):
        if name in path:
            return 0
        deep = 0
        for to in calls.get(name, ()):
            if to.endswith(":" + RUNNERS):
                continue
            if to == "__indirect_call":
                kids = indirect if re.search(r"format\.c|hist\.c", name) else []
                deep = max([deep, HOME * (not kids)] + [need(k, path | {name}) + 8 for k in kids])
            else:
                deep = max(deep, need(to, path | {name}) + 8)
        return size.get(name, 0) + deep

    exports = re.findall(r"TL_EXPORT\((tl_\w+)\)", open(os.path.join(RUNTIME, "exports.def")).read())
    bad = 0
    worst = {}
    for name in exports:
        limit = named.get(name, "TL_STACK_CALL")
        n = need(short[name], frozenset()) + 8
        worst[limit] = max(worst.get(limit, (0, "")), (n, name))
        if n > limits[limit]:
            print(f"not ok runtime_stack_{name}: {n} bytes, {limit} is {limits[limit]}")
            bad = 1
    print("# deepest:", worst)
    if not bad:
        print("ok runtime_stack_within_limits")
    return bad


sys.exit(main())
