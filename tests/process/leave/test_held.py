# SPDX-License-Identifier: MIT
"""Threads are killed in handlers, with locks: what is behind the locks is not lost, nor are the threads' places."""
import resource
import subprocess

import scripted
from support import ALL, PAIR, start

# Nearly always one of the threads is in here.
BUSY = 'global a probe process("%s").function("busy") { for (i = 0; i < 300; i++) a[$a]++ }\n'

SMALL = 40 << 20  # bytes of session memory


def test_end_of_the_program(ctx):
    """Who has a lock does not come back: `end` does not wait for it."""
    path = ctx.target('held')
    r = scripted.launch(ctx, BUSY % path + 'probe end { println(a[1] > 0) }', path + ' ends')
    assert (r.returncode, r.script) == (7, '1\n'), (r.script, r.stderr)


def test_end_of_a_child(ctx):
    """The others go on."""
    path = ctx.target('held')
    p = start(ctx, path, 'children', stdin=subprocess.PIPE)
    s = scripted.attach(ctx, BUSY % path + '''probe process("%s").function("after") { if (++a[2] == 20) exit() }
        probe end { println(a[1] > 0, " ", a[2]) }''' % path, pid=p.pid)
    p.stdin.write('g')
    p.stdin.flush()
    out, err = scripted.finish(s, sig=None)
    assert out == '1 20\n', (out, err)
    p.stdin.close()
    assert p.wait(timeout=300) == 7


def test_many_children(ctx):
    """Places of threads whose process has ended are others' then: there are some 250 of them where files must be small and each is large."""
    path = ctx.target('held')
    script = '''global a[1000], large, more probe process("%s").function("after") { a[pid()]++; large <<< 1; more <<< 1 }
        probe end { foreach (p in a) n++; if (!n) { print(@hist_linear(large, 0, 4000, 1)); print(@hist_linear(more, 0, 4000, 1)) } println(n > 350) }'''
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    r = scripted.launch(ctx, script % path, path + ' many 400', preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, limit[1])))
    assert (r.returncode, r.script) == (7, '1\n'), (r.script, r.stderr)


test_end_of_the_program.variants = ALL
test_end_of_a_child.variants = test_many_children.variants = PAIR
