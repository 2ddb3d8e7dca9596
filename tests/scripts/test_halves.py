# SPDX-License-Identifier: MIT
"""Handlers of a grammar, the same for the same seed, by three ways: with a quick half, without one (a text among the locals), and
as Python computes them. All must leave the same elements in the same order, and as many errors.

`tests/scripts/test_halves.py SEED` prints a script, `FROM TO` tries more of them.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

from test_values import built

HANDLERS, HITS = 16, 150
EDGES = [0, 1, 2, 3, 5, 64, -1, -2, 255, 2 ** 31 - 1, -2 ** 31, 2 ** 32 - 1, 2 ** 63 - 1, -2 ** 63]
LOCALS, NUMBERS = 'xyz', ('$a', '$b', '$c', 'long_arg(1)', 'int_arg(2)', '$c')
OPTIONS = ['-DMAXERRORS=1000000', '-DRINGSIZE=1048576', '-DMAXSTRINGLEN=128']


class Failed(Exception):
    pass


class Next(Exception):
    pass


def signed(n):
    return (n + 2 ** 63) % 2 ** 64 - 2 ** 63


def divided(a, b):
    if not b:
        raise Failed()
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


BINARY = {
    '+': lambda a, b: a + b, '-': lambda a, b: a - b, '*': lambda a, b: a * b, '&': lambda a, b: a & b, '|': lambda a, b: a | b,
    '^': lambda a, b: a ^ b, '<': lambda a, b: a < b, '<=': lambda a, b: a <= b, '==': lambda a, b: a == b, '!=': lambda a, b: a != b,
    '>': lambda a, b: a > b, '>=': lambda a, b: a >= b, '/': divided, '%': lambda a, b: a - b * divided(a, b),
}
# By constants: what is negative or too much is told apart in runs and by the compiler, as in SystemTap.
SHIFTS = {'<<': lambda a, n: a << n, '>>': lambda a, n: a >> n, '>>>': lambda a, n: a % 2 ** 64 >> n}
UNARY = {'-': lambda a: -a, '~': lambda a: ~a, '!': lambda a: not a}


class State:
    """What one handler's global and its locals are."""
    def __init__(self, room, wraps):
        self.room, self.wraps = room, wraps
        self.elements, self.errors = {}, 0
        self.locals, self.given = [], []

    def put(self, key, value):
        if key not in self.elements and len(self.elements) >= self.room:
            if not self.wraps:
                raise Failed()
            del self.elements[next(iter(self.elements))]
        self.elements[key] = value
        return value

    def sample(self, key, value):
        if key not in self.elements:
            self.put(key, [])
        self.elements[key].append(value)
        return value

    def hit(self, run, numbers):
        a, b, c = numbers
        self.locals, self.given = [a, b, c], [a, b, c, a, b, c]
        try:
            run(self)
        except Next:
            pass
        except Failed:
            self.errors += 1


class Maker:
    """Each method makes a piece: its text, in which the global is G, and what it does to a State.

    A quick half finds no element behind a change, so that mostly none is asked for there."""
    def __init__(self, r, kind):
        self.r, self.kind = r, kind
        self.changed = False
        self.ops = [op for op in BINARY if op not in '/%' or r.random() < 0.1]

    def chance(self, percent):
        return self.r.random() * 100 < percent

    def leaf(self):
        r = self.r
        n = r.randrange(3)
        if n == 0:
            value = r.choice(EDGES)
            return '(%d)' % value if value > -2 ** 63 else '(-%d-1)' % (2 ** 63 - 1), lambda s: value
        if n == 1 or self.changed:
            n = r.randrange(3)
            return LOCALS[n], lambda s: s.locals[n]
        n = r.randrange(6)
        return NUMBERS[n], lambda s: s.given[n]

    def key(self, depth):
        if self.kind in ('number', 'stat'):
            return '', lambda s: 0
        text, run = self.value(depth + 1)
        if self.chance(20):
            return '[%s]' % text, run
        mask = self.r.choice([1, 3, 15])
        return '[%s & %d]' % (text, mask), lambda s: run(s) & mask

    def is_global(self):
        return self.kind in ('array', 'number') and (not self.changed or self.chance(5)) and self.chance(75)

    def place(self, depth):
        """Its text, its key (of a local: its number), how it is read and written."""
        if self.is_global():
            text, key = self.key(depth)
            return 'G' + text, key, lambda s, k: s.elements.get(k, 0), State.put
        n = self.r.randrange(3)

        def put(s, k, v):
            s.locals[n] = v
            return v
        return LOCALS[n], lambda s: n, lambda s, k: s.locals[n], put

    def change(self, depth):
        text, key, get, put = self.place(depth)
        if self.chance(35):
            by, first = self.r.choice([1, -1]), self.chance(50)
            sign = '++' if by > 0 else '--'
            out = (sign + text if first else text + sign), lambda s: self.stepped(s, key, get, put, by, first)
        else:
            op = self.r.choice([None, *(o for o in self.ops if o[0] not in '<>=!'), *SHIFTS])
            value, n = self.value(depth + 1), self.r.randrange(1, 63)
            if op == '>>>':
                op = None
            if op in SHIFTS:
                out = '%s %s= %d' % (text, op, n), lambda s: self.combined(s, key, get, put, SHIFTS[op], lambda s: n)
            elif op:
                out = '%s %s= %s' % (text, op, value[0]), lambda s: self.combined(s, key, get, put, BINARY[op], value[1])
            else:
                out = '%s = %s' % (text, value[0]), lambda s: put(s, *(key(s), value[1](s)))
        self.changed |= text[0] == 'G'
        return out

    @staticmethod
    def stepped(s, key, get, put, by, first):
        k = key(s)
        old = get(s, k)
        new = put(s, k, signed(old + by))
        return new if first else old

    @staticmethod
    def combined(s, key, get, put, op, value):
        """The right side is computed before the left one is read."""
        k, v = key(s), value(s)
        return put(s, k, signed(op(get(s, k), v)))

    def value(self, depth=0):
        r = self.r
        n = r.randrange(12)
        if depth > 3 or n < 3:
            return self.leaf()
        if n < 6:
            op, (a, run_a), (b, run_b) = r.choice(self.ops), self.value(depth + 1), self.value(depth + 1)
            return '(%s %s %s)' % (a, op, b), lambda s: signed(int(BINARY[op](run_a(s), run_b(s))))
        if n == 6:
            op, (a, run_a), by = r.choice(list(SHIFTS)), self.value(depth + 1), r.randrange(1, 63)
            return '(%s %s %d)' % (a, op, by), lambda s: signed(SHIFTS[op](run_a(s), by))
        if n == 7:
            op, (a, run_a) = r.choice(list(UNARY)), self.value(depth + 1)
            return '(%s(%s))' % (op, a), lambda s: signed(int(UNARY[op](run_a(s))))
        if n == 8:
            (a, run_a), (b, run_b) = self.value(depth + 1), self.value(depth + 1)
            return r.choice([('(%s && %s)' % (a, b), lambda s: int(bool(run_a(s) and run_b(s)))),
                             ('(%s || %s)' % (a, b), lambda s: int(bool(run_a(s) or run_b(s))))])
        if n == 9:
            (c, run_c), (a, run_a), (b, run_b) = [self.value(depth + 1) for _ in range(3)]
            return '(%s ? %s : %s)' % (c, a, b), lambda s: run_a(s) if run_c(s) else run_b(s)
        if n == 10:
            text, run = self.change(depth)
            return '(%s)' % text, run
        text, key, get, _ = self.place(depth)
        return text, lambda s: get(s, key(s))

    def sample(self):
        (key, run_key), (value, run) = self.key(1), self.value(1)
        self.changed = True
        return 'G%s <<< %s' % (key, value), lambda s: State.sample(s, *(run_key(s), run(s)))

    def statement(self, depth):
        n = self.r.randrange(10)
        if n < 2 and depth < 2:
            cond, run = self.value(1)
            before = self.changed
            yes, run_yes = self.block(depth + 1)
            after, self.changed = self.changed, before
            no, run_no = self.block(depth + 1)
            self.changed |= after
            return 'if (%s) { %s } else { %s }' % (cond, yes, no), lambda s: run_yes(s) if run(s) else run_no(s)
        if n == 2 and depth:
            return 'next', self.leave
        if n < 8 and self.kind.startswith('stat') and (not self.changed or self.kind == 'stat'):
            return self.sample()
        return self.change(1)

    @staticmethod
    def leave(s):
        raise Next()

    def block(self, depth=0):
        parts = [self.statement(depth) for _ in range(self.r.randrange(1, 4))]
        return '; '.join(text for text, _ in parts), lambda s: [run(s) for _, run in parts]


def numbers(r):
    return (r.choice([r.randrange(8), r.choice(EDGES), signed(r.getrandbits(64))]),
            r.choice([r.randrange(8), r.choice([-1, 2 ** 31 - 1, -2 ** 31]), r.getrandbits(32) - 2 ** 31]), r.randrange(256))


def shown(name, kind):
    """A statement that prints what has become of a global, as Python shows it."""
    if kind == 'number':
        return 'println("%s ", %s)' % (name, name)
    element = name if kind == 'stat' else name + '[k]'
    body = 'print(" ", k, ":", %s)' % element
    if kind.startswith('stat'):
        body = ('print(" ", k, ":", @count(E), ":", @sum(E)); if (@count(E)) { print(":", @min(E), ":", @max(E), ":", @avg(E)) '
                'println(); print(@hist_linear(E, -50, 100, 10)) } ').replace('E', element)
    return 'print("%s"); %s; println()' % (name, 'k = 0; ' + body if kind == 'stat' else 'foreach (k in %s) { %s }' % (name, body))


def wanted(kind, state):
    if kind == 'number':
        return ' %d' % state.elements.get(0, 0)
    of = lambda v: str(v)
    if kind.startswith('stat'):
        of = lambda v: ':'.join(str(n) for n in (len(v), signed(sum(v)), min(v), max(v), signed(
            divided(signed(sum(v)), len(v))))) if v else '0:0'
    elements = state.elements if kind != 'stat' else {0: state.elements.get(0, [])}
    return ''.join(' %d:%s' % (k, of(v)) for k, v in elements.items())


def made(seed):
    """The script, its input, and of each handler its text, its kind and its State at the end."""
    r = random.Random(seed)
    given = [numbers(r) for _ in range(HITS)]
    names, probes, ends, handlers = [], [], [], []
    for n in range(HANDLERS):
        kind = r.choice(['array', 'array', 'array', 'number', 'stats', 'stats', 'stat'])
        room, wraps = r.choice([(None, False), (None, False), (r.randrange(1, 9), True), (r.randrange(1, 9), False)])
        text = ''
        while 'G' not in text or len(text) < 20:
            text, run = Maker(r, kind).block()
        if kind in ('number', 'stat'):
            room = None
        state = State(room or 2048, wraps)
        for three in given:
            state.hit(run, three)
        handlers.append((text, kind, state))
        for name in ('q%d' % n, 'w%d' % n):
            names.append(name + ('%s[%d]' % ('%' if wraps else '', room) if room else ''))
            begin = 's = ""; ' if name[0] == 'w' else ''
            probes.append('probe process.function("given") { %sx = $a; y = $b; z = $c; %s }' % (begin, text.replace('G', name)))
            typed = {'array': '[0] += 0', 'number': ' += 0', 'stats': '[0] <<< 0', 'stat': ' <<< 0'}[kind]
            probes.append('probe never { %s%s }' % (name, typed))
            ends.append(shown(name, kind))
    script = 'global %s\n%s\nprobe end, error {\n%s\n}\n' % (', '.join(names), '\n'.join(probes), '\n'.join(ends))
    return script, ''.join('%d %d %d\n' % three for three in given), handlers


def check(trapless, program, folder, seed):
    """How many of the handlers had a quick half."""
    script, given, handlers = made(seed)
    with open(os.path.join(folder, 'given'), 'w') as f:
        f.write(given)
    command = [trapless, *OPTIONS, '-e', script, '-c', '%s < %s' % (program, f.name)]
    p = subprocess.run(command, capture_output=True, text=True, timeout=300)
    errors = sum(2 * state.errors for _, _, state in handlers)
    assert p.returncode == (errors > 0), ('seed', seed, p.returncode, p.stderr[-2000:])
    assert p.stderr.count('ERROR:') == errors, (seed, errors, p.stderr[-2000:])
    left = dict(re.findall(r'^([qw]\d+)(.*(?:\n(?![qw]\d).*)*)', p.stdout, re.M))
    for n, (text, kind, state) in enumerate(handlers):
        quick, whole = (left[form % n].rstrip('\n') for form in ('q%d', 'w%d'))
        assert quick == whole, 'seed %d: %s\n%s\nnot\n%s' % (seed, text, quick, whole)
        numbers_only = ''.join(re.findall(r' -?\d+:[-:\d]+(?=\s|$)', quick)) if kind.startswith('stat') else quick
        assert numbers_only == wanted(kind, state), 'seed %d: %s\n%s\nnot\n%s' % (seed, text, quick, wanted(kind, state))
    c = subprocess.run([*command, '-p3'], capture_output=True, text=True, timeout=300)
    return c.stdout.count('_whole(struct')


def test_quick_halves_do_what_whole_handlers_do(ctx):
    program = built(ctx, 'numbers.c', 'gcc', '-O2')
    first = ctx.seed(0)
    seeds = range(first, first + (6 if ctx.long else 1))
    quick = sum(check(ctx.bin('trapless'), program, ctx.tmp, seed) for seed in seeds)
    assert 2 * quick >= HANDLERS * len(seeds), quick


if __name__ == '__main__':
    if len(sys.argv) == 2:
        print(made(int(sys.argv[1]))[0], end='')
    else:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(root, 'tests', 'scripts', 'values', 'numbers.c')
            subprocess.run(['gcc', '-g', '-O2', '-o', folder + '/numbers', source], check=True)
            for seed in range(int(sys.argv[1]), int(sys.argv[2])):
                print(seed, check(os.path.join(root, 'bin', 'trapless'), folder + '/numbers', folder, seed), flush=True)
