#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/script-compat.md from compat.txt and the tapset: compat.py [--check]"""
import collections
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, 'tests', 'scripts', 'compat.txt')
PAGE = os.path.join(ROOT, 'docs', 'script-compat.md')
HEAD = '''<!-- SPDX-License-Identifier: MIT -->
<!-- Made by tests/scripts/compat.py from tests/scripts/compat.txt and tapset/: `make fix` writes it anew. -->
# What of SystemTap's language is there

Every feature of the language, with the test that shows it, or with the tag by which it is refused
([diagnostics.md](diagnostics.md)) and the reason. Tests are files of `tests/`. `make lint` holds this page against its
sources, and `tests/scripts/test_compat.py` what it says against the compiler: what is called supported is accepted, what is
refused gives its tag.
'''
Row = collections.namedtuple('Row', 'section feature meaning tests tries refusals why most')
MISSING = ('NOT_BUILT', 'POINT_KERNEL', 'MACRO_UNKNOWN', 'USAGE')  # other tags say how a feature is not to be used
ACCEPTED = ('ok', 'guru', 'option')
REASONS = {'POINT_KERNEL': 'of kernels this is not there yet'}


def rows(text):
    """What is wrong in the table's form raises ValueError."""
    section, found = '', []
    for n, line in enumerate(text.splitlines(), 1):
        if line.startswith('== ') and ' -- ' in line:
            raise ValueError('compat.txt:%d: a heading, or a feature? It cannot begin with ==' % n)
        if line.startswith('== '):
            section = line[3:]
        elif line.startswith('\t'):
            key, colon, value = line[1:].partition(': ')
            if not colon or not found:
                raise ValueError('compat.txt:%d: KEY: VALUE belongs here' % n)
            add(found[-1], key, value)
        elif line and not line.startswith('#'):
            feature, dash, meaning = line.partition(' -- ')
            if not dash:
                raise ValueError('compat.txt:%d: FEATURE -- MEANING belongs here' % n)
            found.append(Row(section, feature, meaning, [], [], [], [], []))
    return found


def add(row, key, value):
    if key == 'test':
        row.tests.append(value)
    elif key == 'why':
        row.why.append(value)
    elif key == 'most':
        row.most.extend(value.split())
    elif key in ACCEPTED:
        row.tries.append((key, value))
    else:
        row.refusals.append((key, value))


def state(row):
    if not any(tag in MISSING for tag, _ in row.refusals):
        return 'yes'
    return 'in parts' if row.tests else 'no'


def reasons(row):
    return row.why or sorted({REASONS[tag] for tag, _ in row.refusals if tag in REASONS})


def features(table):
    return [row for row in table if not row.most]


def used(table):
    """The functions that are used most, each with its file or its tag."""
    home = {name: 'tapset/' + path for path, names in library() for name in names}
    refused = {m: '`%s`' % tag for row in table for tag, script in row.refusals for m in re.findall(r'(\w+)\(', script)}
    return [(name, home.get(name) or refused.get(name)) for row in table for name in row.most]


def mistakes(table):
    """Tests that are not there, rows that nothing proves."""
    for name, where in used(table):
        if not where:
            yield '%s(): neither in tapset/ nor refused by a row' % name
    for row in features(table):
        if bool(row.tests) != bool(row.tries) and not row.refusals or not row.tries and not row.refusals:
            yield '%s: a test and a line to try, or a refusal' % row.feature
        if row.refusals and not reasons(row):
            yield '%s: why is it refused?' % row.feature
        for test in row.tests:
            path, _, function = test.partition(':')
            path = os.path.join(ROOT, 'tests', path)
            if not os.path.exists(path) or function and not re.search(r'^def %s\(' % function, open(path).read(), re.M):
                yield '%s: there is no test %s' % (row.feature, test)


def cell(text):
    return text.replace('|', '\\|')


def code(text):
    return '`%s`' % cell(text)


def line(row):
    tags = sorted({tag for tag, _ in row.refusals})
    shown = ['[%s](../tests/%s)' % (t.replace('scripts/', '').replace('_', '\\_'), t.partition(':')[0]) for t in row.tests]
    shown += ['`%s`: %s' % (tag, ', '.join(code(s) for t, s in row.refusals if t == tag)) for tag in tags]
    reason = ''.join('; ' + cell(w) for w in reasons(row))
    return '| %s | %s | %s%s | %s |' % (code(row.feature), cell(row.meaning), state(row), reason, '<br>'.join(shown))


def library():
    """Of each file of the tapset its functions that are meant for scripts."""
    for path in sorted(glob.glob(os.path.join(ROOT, 'tapset', '*.stp'))):
        names = sorted(set(re.findall(r'^function ([a-zA-Z]\w*)', open(path).read(), re.M)))
        if names:
            yield os.path.basename(path), names


def page(table):
    out = [HEAD]
    count = collections.Counter(state(r) for r in features(table))
    out.append('Of %d rows %d are supported, %d in parts, %d not.' % (count.total(), count['yes'], count['in parts'], count['no']))
    for section in dict.fromkeys(r.section for r in features(table)):
        out += ['\n## %s\n' % section, '| feature | in SystemTap | here | shown by |', '|---|---|---|---|']
        out += [line(r) for r in table if r.section == section]
    out += ["\n## Functions that SystemTap's own examples use most\n", '| function | here |', '|---|---|']
    out += ['| `%s` | %s |' % (name, where.replace('_', '\\_') if '`' not in where else where) for name, where in used(table)]
    out += ['\n## Functions of the library\n', '| file of tapset/ | functions |', '|---|---|']
    out += ['| %s | %s |' % (name.replace('_', '\\_'), ', '.join(code(f) for f in names)) for name, names in library()]
    return '\n'.join(out) + '\n'


def main(check):
    table = rows(open(TABLE).read())
    wrong = list(mistakes(table))
    text = page(table)
    if check and (not os.path.exists(PAGE) or open(PAGE).read() != text):
        wrong.append('docs/script-compat.md is stale: make fix')
    if not check and not wrong:
        open(PAGE, 'w').write(text)
    return '\n'.join(wrong)


if __name__ == '__main__':
    sys.exit(main('--check' in sys.argv[1:]) or 0)
