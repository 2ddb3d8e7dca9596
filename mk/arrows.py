# SPDX-License-Identifier: MIT
"""Which files need each other: by the names that their objects define and need, as `nm` tells, and by #include.

Inline functions of headers have no name in an object, and count by the #include. An object belongs to the source whose
path its own ends with (build/lib/engine/core/probe/place.o to engine/core/probe/place.c). Where a name is defined more than once,
the nearest folder is meant."""
import collections
import os
import re
import subprocess

CODE = ('.c', '.S', '.cc')
# what ties objects of one version together, and what compilers call unasked
NO_CALL = re.compile(r'tl_runtime_abi_\d+$|mem(cpy|set|move|cmp)$')


def sources_of(room):
    """Files of git below a room that are there: sources and headers."""
    names = subprocess.run(['git', 'ls-files', room], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return [n for n in names if n.endswith(CODE + ('.h',)) and os.path.exists(n)]


def objects_below(folders):
    for folder in folders:
        for where, _, names in os.walk(folder):
            for name in names:
                if name.endswith('.o'):
                    yield os.path.join(where, name)


def objects_of(files, folders):
    """source -> its objects."""
    stems = {os.path.splitext(f)[0]: f for f in files if f.endswith(CODE)}
    found = collections.defaultdict(list)
    for path in objects_below(folders):
        parts = path[:-len('.o')].split('/')
        for i in range(len(parts)):
            if '/'.join(parts[i:]) in stems:
                found[stems['/'.join(parts[i:])]].append(path)
                break
    return found


def names_of(objects):
    """What objects define for others, and what they need of others."""
    defined, needed = set(), set()
    out = subprocess.run(['nm', '-g', *objects], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in out.splitlines():
        m = re.match(r'[0-9a-f]*\s+([A-Za-z])\s+(\S+)$', line)
        if m:
            kind, name = m.groups()
            (needed if kind in 'Uwv' else defined).add(name.removeprefix('__real_'))
    return defined, needed - defined


def nearest(file, others):
    def shared(other):
        return len(os.path.commonprefix([file.split('/'), other.split('/')]))
    return max(sorted(others), key=shared)


def call_arrows(files, objects):
    """(from, to) -> names."""
    arrows = collections.defaultdict(set)
    names = {f: names_of(objects[f]) for f in files if objects.get(f)}
    where = collections.defaultdict(list)
    for file, (defined, _) in names.items():
        for name in defined:
            if not NO_CALL.match(name):
                where[name].append(file)
    for file, (_, needed) in names.items():
        for name in needed & where.keys():
            arrows[file, nearest(file, where[name])].add(name)
    return arrows


def include_arrows(files):
    known, arrows = set(files), collections.defaultdict(set)
    for file in files:
        with open(file, errors='replace') as text:
            for name in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', text.read(), re.M):
                for base in (os.path.dirname(file), 'include', '.'):
                    to = os.path.normpath(os.path.join(base, name))
                    if to in known:
                        arrows[file, to].add('#include')
                        break
    return arrows


def circles(nodes, arrows):
    """Strongly connected components of more than one node, the largest first (Tarjan, without recursion)."""
    after = collections.defaultdict(list)
    for a, b in arrows:
        after[a].append(b)
    index, low, stack, on, found = {}, {}, [], set(), []
    for root in nodes:
        if root in index:
            continue
        work = [(root, None)]
        while work:
            node, rest = work.pop()
            if rest is None:
                index[node] = low[node] = len(index)
                stack.append(node)
                on.add(node)
                rest = iter(after[node])
            for to in rest:
                if to not in index:
                    work += [(node, rest), (to, None)]
                    break
                if to in on:
                    low[node] = min(low[node], index[to])
            else:
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(sorted(stack[at:]))
                    on -= set(stack[at:])
                    del stack[at:]
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
    return sorted((c for c in found if len(c) > 1), key=lambda c: (-len(c), c))


