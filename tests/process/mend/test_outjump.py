# SPDX-License-Identifier: MIT
"""siglongjmp out of a signal that interrupted a handler: the next hits of that thread are seen."""
import scripted
from support import ALL, FILTERED, PAIR, attach, hits, start, tap

ROUNDS, CALLS, JUMPS = 20, 100, 1500
SOURCE = tap.COUNT + '''
int wait(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	while (!*(volatile int *)regs->di)
		;
	return 0;
}
'''


def seen(ctx, *how):
    """How often plain() was seen."""
    path = ctx.target('outjump')
    m = tap.Module(SOURCE, ctx.tmp)
    m.shard_size = 64
    m.format('hits %d\n')
    image = m.image(path, program=True)
    symbols = tap.elf_symbols(open(path, 'rb').read())
    for function, handler in (('work', 'wait'), ('plain', 'hit')):
        value, size, _ = symbols[function]
        m.probe(tap.SITE, handler, image, value, point=function, func=function, parts=[(value, size)])
    m.probe(tap.END, 'fin', point='end')
    p = start(ctx, path, ROUNDS, *how)
    s = attach(ctx, m.write(), p.pid)
    out, _ = p.communicate('g', timeout=300)
    assert (p.returncode, out) == (7, 'left %d\n' % ROUNDS), (p.returncode, out)
    got, err = s.communicate(timeout=300)
    assert s.returncode == 0, err
    return hits(got)


def test_free(ctx):
    assert seen(ctx) == ROUNDS * CALLS


def test_jailed(ctx):
    """It must not ask the kernel where it stands: the guardian does, by a call of its own in that thread."""
    assert seen(ctx, 'jailed') == ROUNDS * CALLS


def test_jailed_later(ctx):
    """... or, where it may not even make one, by the frames of signals on that thread's stack."""
    assert seen(ctx, 'later') == ROUNDS * CALLS


def test_alternate(ctx):
    """A signal's own stack may lie above: hits on it are inside the handler all the same, and missed."""
    assert seen(ctx, 'free', 'alternate') == ROUNDS * CALLS


def test_alternate_jailed_later(ctx):
    assert seen(ctx, 'later', 'alternate') == ROUNDS * CALLS


def test_often(ctx):
    """A signal meets the system call by which a hit behind the jump asks where it stands: it is stepped over, too."""
    path = ctx.target('outjump')
    p = start(ctx, path, JUMPS, 'often')
    s = scripted.attach(ctx, 'global n probe process("%s").function("plain") { n++ } probe end { println(n > %d) }' % (path, JUMPS),
                        pid=p.pid)
    out, _ = p.communicate('g', timeout=300)
    assert (p.returncode, out) == (7, 'left %d\n' % JUMPS), (p.returncode, out)
    said, err = scripted.finish(s, sig=None)
    assert said == '1\n', (said, err)


test_free.variants = test_jailed.variants = test_alternate.variants = PAIR
test_jailed.root_only = FILTERED
test_jailed_later.variants = test_alternate_jailed_later.variants = ALL
