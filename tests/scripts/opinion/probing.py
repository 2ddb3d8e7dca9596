# SPDX-License-Identifier: MIT
"""Scripts by the thousand that probe a real program (probed.c): places, variables with types, aliases; half of them with mistakes."""
import random

FUNCTIONS = ['take', 'give', 'nothing', 'twice', 'inlined', 'main']
VARIABLES = {'take': ['n', 'it', 's', 'c', 'local', 'wide'], 'give': ['small', 'real', 'whole', 'raw'], 'nothing': [], 'twice': ['x'],
             'inlined': ['a', 'at', 'sum'], 'main': ['argc', 'argv', 'it', 'p']}
GLOBALS = ['counter', 'hidden_counter', 'first', 'table']
POINTERS = {'it', 'at', 'first', 'whole'}  # structures, or pointers to them
MEMBERS = ['n', 'big', 'name', 'text', 'next', 'in', 'many', 'color', 'word', 'real', 'hidden', 'call']
WRONG = ['nope', 'takes', 'ite', 'x1', 'main2']
# What stap's expansions call.
STUBS = '''function tid:long () { return 1 }
function user_string_quoted:string (a:long) { return "" }
function user_string2_quoted:string (a:long, b:string) { return "" }
function user_string:string (a:long) { return "" }
function user_mode:long () { return 1 }
'''
TYPES = ['struct item', 'item_t', 'struct inner', 'union word', 'item', 'int', 'struct nope', 'long']


class Maker:
    def __init__(self, seed, path):
        self.r = random.Random(seed)
        self.path = path
        self.wrong = 12 if seed % 2 else 0

    def pick(self, items):
        return items[self.r.randrange(len(items))]

    def chance(self, percent):
        return self.r.randrange(100) < percent

    def name(self, right):
        return self.pick(WRONG) if self.chance(self.wrong) else self.pick(right)

    # ---- places ----

    def point(self):
        """(text, function whose variables are seen, whether it is a return)"""
        process = 'process("%s")' % self.path
        kind = self.r.randrange(13)
        f = self.name(FUNCTIONS)
        if kind < 4:
            end = self.pick(['', '', '.call', '.inline', '.exported'] + (['.callee("twice")', '.label("again")'] if f == 'take' else []))
            at = self.pick(['', '', '', '@probed.c', '@*.c', '@nope.c' if self.wrong else ''])
            return '%s.function("%s%s")%s' % (process, f, at, end), f, False
        if kind < 6:
            return '%s.function("%s").return' % (process, f), f, True
        if kind == 6:
            return '%s.function("%s")' % (process, self.pick(['t*', '*', 'ta?e', 'n[o]*', 'z*' if self.wrong else 'g*'])), None, False
        if kind == 7:
            line = self.pick([':%d' % self.pick([54, 57, 62, 63, 72, 77, 84, 90, 1, 4000]), '+%d' % self.r.randrange(8), ':*', ':60-70', ''])
            return '%s.statement("%s@probed.c%s")%s' % (process, f, line, self.pick(['', '', '.nearest'])), f, False
        if kind == 8:
            mark = self.name(['taken', 'given', '*'])
            return '%s.%smark("%s")' % (process, self.pick(['', '', 'provider("probed").', 'provider("x").' if self.wrong else '']), mark), mark, False
        if kind == 9:
            return '%s.plt%s' % (process, self.pick(['', '("malloc")', '("strlen")', '("fre*")', '("nope")' if self.wrong else '("free")'])), None, False
        if kind == 10:
            return '%s.library("libc.so.6").function("%s")' % (process, self.pick(['malloc', 'free', 'nope_at_all' if self.wrong else 'calloc'])), None, False
        if kind == 11:
            return process + self.pick(['.begin', '.end', '.thread.begin', '.syscall', '.insn', '.nope' if self.wrong else '.syscall.return']), None, False
        return self.pick(['begin', 'end', 'timer.s(1)', 'nope' if self.wrong else 'error']), None, False

    # ---- values ----

    def variable(self, f):
        if f in ('taken', 'given', '*'):
            return '$' + self.name(['arg1', 'arg2', 'arg1', '$name'] if f == 'taken' else ['arg1'])
        if self.chance(15) or not VARIABLES.get(f):
            return '$' + self.name(GLOBALS) if self.chance(60) else '@var("%s")' % (self.name(GLOBALS) + self.pick(['', '@probed.c']))
        return '$' + self.name(VARIABLES[f])

    def deeper(self, v):
        name = v.strip('$@()"').replace('var("', '').split('@')[0]
        if name in POINTERS:
            m = self.name(MEMBERS)
            v += '->' + m
            if m == 'next':
                return v + '->' + self.name(MEMBERS)
            if m == 'in':
                return v + '->' + self.name(['s', 'bit'])
            if m == 'many':
                return v + '[%s]->%s' % (self.pick(['0', '2', 'g', '9']), self.name(['s', 'bit']))
            if m == 'word':
                return v + '->' + self.name(['number', 'bytes'])
            if m == 'text':
                return v + self.pick(['', '[1]', '[g]'])
            return v
        if name in ('wide', 'table', 'argv', 's'):
            return v + '[%s]' % self.pick(['0', '1', 'g'])
        return v + (self.pick(['->n', '[0]']) if self.chance(self.wrong) else '')

    def value(self, f, returns):
        kind = self.r.randrange(10)
        v = self.deeper(self.variable(f))
        if kind < 4:
            return v
        if kind == 4:
            return '@defined(%s) ? 1 : 0' % v
        if kind == 5:
            return '@cast(%s, "%s"%s)->%s' % (self.variable(f), self.name(TYPES[:4] if not self.wrong else TYPES), self.pick(['', ', "%s"' % self.path]),
                                            self.name(MEMBERS + ['s', 'bit', 'number']) if self.wrong else self.pick(['n', 'big', 's', 'number']))
        if kind == 6:
            return '&' + v
        if kind == 7 and returns:
            return self.pick(['$return', '$return->s', '@entry(%s)' % v, '@entry(gettimeofday())' if self.wrong else '@entry(%s)' % v])
        if kind == 8:
            return '%s + 1' % v
        return v

    def text(self, f, returns):
        if self.chance(60):
            names = ['$$vars', '$$parms', '$$locals', '$$vars$', '$$parms$$'] + (['$$return', '$$return$'] if returns else [])
            return self.pick(names + (['$$return', '$$nope'] if self.wrong else []))
        return self.variable(f) + self.pick(['$', '$$'])

    def statement(self, f, returns):
        kind = self.r.randrange(9)
        if kind < 4:
            return 'println(%s)' % self.value(f, returns)
        if kind == 4:
            return 'g = %s' % self.value(f, returns)
        if kind == 5:
            return 'a[%s]++' % self.value(f, returns)
        if kind == 6:
            return 's <<< %s' % self.value(f, returns)
        if kind == 7:
            return 'println(%s)' % self.text(f, returns)
        return self.pick(['if (%s) g++' % self.value(f, returns), 'g++', '%s = 1' % self.variable(f) if self.chance(self.wrong) else 'g--'])

    def script(self):
        parts = ['global g, a, s']
        points, f, returns = self.point()
        if self.chance(15):
            parts.append('probe al.%s = %s%s { v = g }' % (self.pick(['x', 'y']), points, self.pick(['', '', '?', '!'])))
            points = self.pick(['al.x', 'al.*', 'al.{x,y}' if self.wrong else 'al.*', 'al.y'])
        elif self.chance(15):
            second, other, _ = self.point()
            points += self.pick([', ', '?, ', '!, ']) + second
            f = f if f == other else None
        body = '\n'.join(self.statement(f, returns) for _ in range(1 + self.r.randrange(3)))
        parts.append('probe %s {\n%s\n}' % (points, body))
        parts.append('probe end { g++; a[g] = 1; s <<< g; println(g, @count(s)) }')
        return '\n'.join(parts) + '\n'


def script(seed, path):
    return Maker(seed, path).script()
