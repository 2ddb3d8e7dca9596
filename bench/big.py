# SPDX-License-Identifier: MIT
"""The parts of programs with much debug information, for bench/start and bench/memory."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, 'build', 'bench')
SOURCE = os.path.join(ROOT, 'bench', 'big.cc')


def newer(path, *sources):
    return os.path.exists(path) and all(os.path.getmtime(path) >= os.path.getmtime(s) for s in sources)


def compile_units(objects):
    """big.cc to each of these files, by the number that it gets; two at a time."""
    todo = sorted(objects.items())
    for pair in (todo[n:n + 2] for n in range(0, len(todo), 2)):
        running = [subprocess.Popen(['g++', '-std=gnu++17', '-O1', '-g', '-DUNIT=%d' % n, '-c', '-o', to, SOURCE]) for n, to in pair]
        if any([p.wait() for p in running]):
            sys.exit('bench: cannot compile ' + SOURCE)


def dwarf_size(path, least):
    out = subprocess.run(['size', '-A', path], stdout=subprocess.PIPE, text=True, check=True).stdout
    size = sum(int(n) for n in re.findall(r'^\.debug_\w+ +(\d+)', out, re.M))
    if size < least:
        sys.exit('bench: %s has only %d bytes of DWARF: it needs more units' % (path, size))
    return size
