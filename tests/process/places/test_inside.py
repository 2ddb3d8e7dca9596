# SPDX-License-Identifier: MIT
"""Places inside functions: labels, callees, lists of lines; what stands at a line of the file."""
import re

import scripted
import support


def builds(ctx):
    for cc in 'gcc', 'clang':
        yield ctx.target('calls', cc=cc)
        yield ctx.target('calls', ('-O2', '-g', '-fno-pie'), cc, ('-no-pie',))


def line_of(ctx, text):
    source = open(ctx.root + '/tests/targets/calls.c').read().splitlines()
    return next(n for n, line in enumerate(source, 1) if text in line)


CALLEES = '''global n, s, r
probe process.function("first").callee("*") { n[ppfunc()]++ }
probe process.function("first").callee("leaf") { s += $on_stack }
probe process.function("second").callee("leaf").return { r[@entry($on_stack)]++ }
probe process.function("second").callees.call { n["2".ppfunc()]++ }
probe process.function("fir*").callees.inline { n["inline"]++ }
probe end { foreach (k+ in n) println(k, " ", n[k]) println(s) foreach (j in r) println(j, " ", r[j]) }'''
CALLEES_SEEN = '''\
2last 9
2leaf 9
copied 9
inline 9
last 6
leaf 12
723
90 9
'''


def test_callees(ctx):
    """Only calls from there count; a call at the end is a jump."""
    for path in builds(ctx):
        r = scripted.launch(ctx, CALLEES, path + ' 9')
        assert r.script == CALLEES_SEEN, (path, r.script, r.stderr)


DEPTHS = '''global n
function path() {
    p = pp() from = ""
    while (p =~ "callee..([a-z]+)") { from .= " " . matched(1) p = substr(p, strpos(p, matched(0)) + 9, 4096) }
    return from
}
probe process.function("one").callees(3) { n[path()]++ }
probe process.function("other").callees(2).return { n["back" . path()]++ }
probe end { foreach (k+ in n) println(k, " ", n[k]) }'''
DEPTHS_SEEN = '''\
 leaves 5
 leaves jumped 5
 leaves jumped deep 5
 plain 5
 plain copied 5
 plain copied deep 5
 plain deep 5
 sized 5
 sized deep 5
 sized plain 5
 sized plain copied 5
 sized plain deep 5
back deep 10
back leaves 10
back plain 10
back plain deep 10
back sized 10
back sized deep 10
back sized plain 10
'''
# By clang's account a copy's calls are those of the function that holds it.
DEPTHS_BY = {'gcc': {}, 'clang': {' plain copied deep 5\n': '', ' plain deep 5\n': ' plain deep 10\n',
                                  'back plain deep 10\n': 'back plain deep 20\n'}}


def test_callees_of_callees(ctx):
    """Only where the whole way was taken, which frames on the stack tell."""
    for cc in 'gcc', 'clang':
        path, seen = ctx.target('depths', cc=cc), DEPTHS_SEEN
        for a, b in DEPTHS_BY[cc].items():
            seen = seen.replace(a, b)
        r = scripted.launch(ctx, DEPTHS, path + ' 5')
        assert r.script == seen, (path, r.script, r.stderr)


def test_labels(ctx):
    script = '''probe process.function("fi*").label("o?d") { n++ if (n == 1) println(pp()) }
        global n  probe process.function("first@calls.c").label("odd") { n++ } probe end { println(n) }'''
    for path in builds(ctx):
        r = scripted.launch(ctx, script, path + ' 9')
        point, count = r.script.splitlines()
        assert re.fullmatch(r'process\(".*"\).function\("first@.*calls.c:%d"\).label\("odd"\)' %
                            line_of(ctx, 'odd:'), point) and count == '6', (path, r.script, r.stderr)


def test_lines_relative_to_each_function(ctx):
    """Of several functions, each from where it begins; those that have no code there are left out."""
    path = ctx.target('calls')

    def listed(point):
        r = ctx.run([ctx.bin('trapless'), '-l', 'process("%s").statement("%s")' % (path, point)])
        return set(r.stdout.split('\n')) - {''}
    each = listed('first@calls.c+2'), listed('last@calls.c+1')
    assert all(each), each
    assert each[0] <= listed('*@calls.c+2') and each[0] <= listed('fi*@calls.c+2') and not each[1] & listed('fi*@calls.c+1')
    assert each[1] <= listed('*@calls.c+1') and not listed('*@calls.c+9999')


def test_labels_by_their_lines(ctx):
    """As they are listed; the line of a function's beginning is no label's."""
    path, line = ctx.target('calls'), line_of(ctx, 'odd:')
    listed = ctx.run([ctx.bin('trapless'), '-l', 'process("%s").function("first").label("*")' % path]).stdout
    assert 'calls.c:%d").label("odd")\n' % line in listed, listed
    for point in [listed.strip()] + ['process("%s").function("first@calls.c:%s").label("odd")' % (path, lines)
                                     for lines in (line, '%d-%d' % (line - 1, line), '*')]:
        r = ctx.run([ctx.bin('trapless'), '-l', point])
        assert (r.returncode, r.stdout) == (0, listed), (point, r.stdout, r.stderr)
    r = ctx.run([ctx.bin('trapless'), '-l', 'process("%s").function("first@calls.c:%d").label("odd")' % (path, line - 1)])
    assert r.returncode == 1 and 'label `odd` is not in that line, but in %d' % line in r.stderr, r.stderr


def test_lines(ctx):
    """Several of them, ranges, the nearest of each; and the function that has code for a line."""
    one, two = line_of(ctx, 'goto odd'), line_of(ctx, 'return n * 3')
    for path in builds(ctx):
        points = {'function("*@calls.c:%d")' % two: 'last', 'function("*@calls.c:%d-%d")' % (one - 3, one): 'first',
                  'statement("last@calls.c:%d,%d")' % (two, one): 'last',
                  'statement("*@calls.c:%d,%d").nearest' % (two + 1, two): 'last'}
        for point, function in points.items():
            r = ctx.run([ctx.bin('trapless'), '-l', 'process("%s").%s' % (path, point)])
            found = set(re.findall(r'(?:function|statement)\("(\w+)[@"]', r.stdout))
            assert function in found and found <= {function, 'copied', 'main'}, (point, r.stdout, r.stderr)


for _f in (test_lines_relative_to_each_function, test_labels, test_labels_by_their_lines, test_lines):
    _f.variants = support.PAIR
