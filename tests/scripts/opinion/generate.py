# SPDX-License-Identifier: MIT
"""Scripts by the thousand, the same for the same seed: made after a grammar, and half of them damaged."""
import random

NUMBERS = ['0', '1', '2', '7', '0x1f', '017', '1000', '-3']
TEXTS = ['"a"', '"b c"', '"%d"', '"\\n"', '""', '"x" "y"']
GLOBALS = [('g', 'long'), ('h', 'long'), ('t', 'text'), ('a', 'array'), ('b', 'texts'), ('s', 'stat'), ('v', 'stats')]
BINARY = '+ - * / % << >> & | ^ && || == != < > <= >='.split()
SETS = '= += -= *= /= %= <<= >>= &= |= ^='.split()
POINTS = ['begin', 'end', 'error', 'begin(1)', 'end(-2)', 'timer.s(1)', 'timer.ms(10)', 'timer.hz(3)', 'never',
          'begin, end', 'timer.ms(7).randomize(2)', 'begin ?', 'end !, begin', 'timer.{s(1),ms(5)}']
# What replaces a word, or is put between two.
NOISE = ('probe function global private if else for foreach while in limit return delete next break continue try catch long string '
         'begin end x y g a s f $x $1 @1 $# @count @hist_log @sum @cast @var @defined @entry @define @m print printf println 1 0x10 -1 "s" '
         '"%d" "%s" ( ) [ ] { } , ; : ? . + - * / % & | ^ ! ~ < > = ++ -- += <<< << >> == != && || -> =~ !~ %( %? %: %)').split()


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.functions = []
        self.locals = []
        self.in_function = False
        self.loops = 0
        self.walked = []

    def pick(self, items):
        return items[self.r.randrange(len(items))]

    def chance(self, percent):
        return self.r.randrange(100) < percent

    # ---- values ----

    def number(self, depth=0):
        kind = self.r.randrange(14 if depth < 3 else 5)
        if kind < 2:
            return self.pick(NUMBERS)
        if kind == 2:
            return self.pick(['g', 'h'])
        if kind == 3:
            return self.pick(self.locals) if self.locals else 'g'
        if kind == 4:
            return self.pick(['a[%s]' % self.pick(NUMBERS), '@count(s)', '@sum(s)', '@min(v["k"])', '@avg(s)', 'g++', '--h'])
        deeper = lambda: self.number(depth + 1)
        if kind < 9:
            text = '%s %s %s' % (deeper(), self.pick(BINARY), deeper())
            return '(%s)' % text if depth else text
        if kind == 9:
            return '(%s ? %s : %s)' % (deeper(), deeper(), deeper())
        if kind == 10:
            return self.pick(['-', '!', '~', '+']) + '(' + deeper() + ')'
        if kind == 11:
            return '(%s)' % self.pick(['[%s] in a' % deeper(), '[%s] in b' % self.text(depth + 1)]) if self.chance(95) else deeper() + ' in a'
        if kind == 12 and self.functions:
            name, count = self.pick(self.functions)
            return '%s(%s)' % (name, ', '.join(deeper() for _ in range(count)))
        return self.pick(['(%s == %s)' % (self.text(depth + 1), self.text(depth + 1)), '(%s)' % deeper(),
                          '(%s =~ "a+b")' % self.text(depth + 1), 'a[%s]' % deeper()])

    def text(self, depth=0):
        kind = self.r.randrange(7 if depth < 3 else 3)
        if kind < 2:
            return self.pick(TEXTS)
        if kind == 2:
            return 't'
        if kind == 3:
            return 'b[%s]' % self.text(depth + 1)
        if kind == 4:
            return '(%s . %s)' % (self.text(depth + 1), self.text(depth + 1))
        if kind == 5:
            return 'sprintf("%%d %%s", %s, %s)' % (self.number(depth + 1), self.text(depth + 1))
        return 'sprint(%s)' % self.number(depth + 1)

    # ---- statements ----

    def set_array(self, name, key, value):
        return '%s[%s] %s' % (name, key, value) if name not in self.walked or self.chance(4) else 'g++'

    def simple(self):
        kind = self.r.randrange(14)
        if kind == 0:
            name = self.pick(['x', 'y', 'z'])
            value = self.number()
            if name not in self.locals:
                self.locals.append(name)
            return '%s = %s' % (name, value)
        if kind == 1:
            return '%s %s %s' % (self.pick(['g', 'h']), self.pick(SETS), self.number())
        if kind == 2:
            return self.set_array('a', self.number(), '%s %s' % (self.pick(['=', '+=']), self.number()))
        if kind == 3:
            return self.pick(['t = ' + self.text(), 't .= ' + self.text()])
        if kind == 4:
            return self.set_array('b', self.text(), '= ' + self.text())
        if kind == 5:
            return 's <<< ' + self.number()
        if kind == 6:
            return self.set_array('v', self.text(), '<<< ' + self.number())
        if kind == 7:
            return 'printf("%%d %%s\\n", %s, %s)' % (self.number(), self.text())
        if kind == 8:
            return self.pick(['println(%s)' % self.number(), 'print(%s)' % self.text(), 'printd(",", %s, %s)' % (self.number(), self.text()),
                              'println(%s, %s)' % (self.text(), self.number())])
        if kind == 9:
            return self.pick(['delete a', 'delete s', 'delete g'] + (['delete a[%s]' % self.number()] if 'a' not in self.walked else []))
        if kind == 10:
            return self.pick(['g++', 'h--', self.set_array('a', '1', '++')])
        if kind == 11:
            return 'print(@hist_log(%s))' % self.pick(['s', 's', 'v["k"]'])
        if kind == 12:
            return 'return ' + self.number() if self.in_function else 'next'
        return self.pick(['break', 'continue']) if self.loops else ';'

    def statement(self, depth):
        kind = self.r.randrange(10 if depth < 3 else 4)
        if kind < 5:
            return self.simple() + self.pick([';', '', '\n', ' '])
        if kind == 5:
            rest = ' else ' + self.statement(depth + 1) if self.chance(40) else ''
            return 'if (%s) %s%s' % (self.number(), self.block(depth + 1), rest)
        if kind == 6:
            return self.block(depth + 1)
        if kind == 7:
            return 'try %s catch %s%s' % (self.block(depth + 1), self.pick(['', '(m) ']), self.block(depth + 1))
        self.loops += 1
        if kind == 8:
            out = self.pick(['while (%s) ' % self.number(), 'for (i = 0; i < %s; i++) ' % self.number(), 'for (;;) '])
            out += self.block(depth + 1)
        else:
            name, keys = self.pick([('a', 'k'), ('b', 'l'), ('v', 'l')])
            self.walked.append(name)
            tail = self.pick(['', '+', '-', ' limit 3', '- limit %s' % self.number()])
            out = 'foreach (%s in %s%s) %s' % (keys, name, tail, self.block(depth + 1))
            self.walked.pop()
        self.loops -= 1
        return out

    def block(self, depth=0):
        return '{\n' + '\n'.join(self.statement(depth) for _ in range(1 + self.r.randrange(3))) + '\n}'

    # ---- a script ----

    def body(self, params=()):
        self.locals = list(params)
        return self.block()

    def good(self):
        parts = ['global g = 1, h', 'global t = "t"', 'global a, b, v', 'global s']
        for n in range(self.r.randrange(3)):
            params = ['p', 'q'][:self.r.randrange(3)]
            self.in_function = True
            typed = [p + self.pick(['', ':long']) for p in params]
            parts.append('function f%d%s (%s) %s' % (n, self.pick(['', ':long']), ', '.join(typed), self.body(params)[:-1] + 'return 1\n}'))
            self.in_function = False
            self.functions.append(('f%d' % n, len(params)))
        for _ in range(1 + self.r.randrange(2)):
            parts.append('probe %s %s' % (self.pick(POINTS), self.body()))
        # Each global has a type, and is read.
        parts.append('probe end { a[1] = g + h; b["k"] = t; v["k"] <<< 1; s <<< 1; println(a[1], b["k"], t, @count(s), @count(v["k"])) }')
        return '\n'.join(parts) + '\n'

    def damaged(self, text):
        words = text.replace('\n', ' \n ').split(' ')
        for _ in range(1 + self.r.randrange(2)):
            at = self.r.randrange(len(words))
            kind = self.r.randrange(4)
            if kind == 0:
                del words[at]
            elif kind == 1:
                words.insert(at, self.pick(NOISE))
            elif kind == 2:
                words[at] = self.pick(NOISE)
            else:
                other = self.r.randrange(len(words))
                words[at], words[other] = words[other], words[at]
        return ' '.join(words)


def script(seed):
    maker = Maker(seed)
    text = maker.good()
    return maker.damaged(text) if seed % 2 else text
