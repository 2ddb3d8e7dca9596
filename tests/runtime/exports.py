#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every function that script.h and what it includes declare extern stands in exports.def, and no other one."""
import glob
import os
import re
import sys

RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime")
FOR_COMPILERS = {"memcpy", "memmove", "memset", "memcmp"}


def declared(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.M | re.S)
    flat, depth = "", 0
    for c in text:
        depth += c == "{"
        if not depth:
            flat += c
        if c == "}":
            depth -= 1
            flat += ";" if not depth else ""
    for part in flat.split(";"):
        part = " ".join(part.split())
        if part.startswith("static") or "(*" in part:
            continue
        if m := re.match(r"[\w *]*?\b(tl_\w+) ?\([^()]*\)$", part):
            yield m[1]


def main():
    want = set(FOR_COMPILERS)
    for path in glob.glob(RUNTIME + "/script.h") + glob.glob(RUNTIME + "/script/*.h"):
        with open(path) as f:
            want |= set(declared(f.read()))
    with open(os.path.join(RUNTIME, "exports.def")) as f:
        have = set(re.findall(r"TL_EXPORT\((\w+)\)", f.read()))
    if len(want) > 60 and want == have:
        print("ok exports_are_what_script_h_declares")
        return 0
    print("not ok exports_are_what_script_h_declares: missing", sorted(want - have), "extra", sorted(have - want))
    return 1


sys.exit(main())
