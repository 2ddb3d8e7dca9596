# SPDX-License-Identifier: MIT
"""Handlers that read pages which another thread of the program serves, and share globals with that one's."""
import re

from scripted import launch, number
from support import PAIR

ROUNDS = 20
SUM = ROUNDS * (ROUNDS - 1) // 2
SERVE = 'global seen, sum probe process("{0}").function("serve") { seen["serve"]++ } '
LOOK = 'probe process("{0}").function("look") { %s } probe end { printf("%%d %%d %%d\\n", seen["serve"], seen["served"], sum) }'
# What is read in the statement that first uses a global, as a key, in a condition, in statements before it.
READS = ('sum += $page->number; seen["served"]++', 'sum += seen["look", $page->number] + $page->number; seen["served"]++',
         'if ($page->number >= 0) { seen["served"]++; sum += $page->number }',
         'if ($page->number < 0) next; seen["served"]++; sum += $page->number',
         'name = user_string(&$page->name); seen[name]++; sum += $page->number',
         'n = @cast($page, "struct page")->number; seen["served"]++; sum += n')


def script(path, read):
    two = 'seen["look"' in read
    text = (SERVE + LOOK % read).replace('{0}', path)
    return text.replace('seen["serve"]', 'seen["serve", 0]').replace('seen["served"]', 'seen["served", 0]') if two else text


def test_served_pages(ctx):
    """The server of a page does not wait for the lock of who waits for the page: no hit is left out."""
    path = ctx.target('served', cflags=('-g', '-O1'))
    if ctx.run([path, '1']).returncode == 77:
        ctx.skip('the kernel forbids userfaultfd')
    for read in READS:
        r = launch(ctx, script(path, read), '%s %d' % (path, ROUNDS))
        assert r.stdout == '%d %d\n' % (ROUNDS, ROUNDS), (read, r)
        assert r.script == '%d %d %d\n' % (ROUNDS, ROUNDS, SUM), (read, r)
        assert number(r.stderr, 'handlers skipped') == 0, (read, r)


def order(ctx, path, read):
    """Where the handler of `look` reads memory, and where it takes its locks."""
    c = ctx.run([ctx.bin('trapless'), '-p3', '-e', script(path, read)]).stdout
    body = next(f for f in re.split(r'^}$', c, flags=re.M) if 'tl_load(' in f and 'tl_run_lock' in f)
    return body.index('tl_load('), body.index('tl_run_lock')


def test_what_threads_share(ctx):
    """A static variable is read under the lock, so that a later handler sees what the one before has seen, or later values."""
    path = ctx.target('served', cflags=('-g', '-O1'))
    load, lock = order(ctx, path, 'sum += @var("looked"); seen["served"]++')
    assert lock < load
    load, lock = order(ctx, path, 'sum += $page->number; seen["served"]++')
    assert load < lock


test_served_pages.variants = PAIR
test_what_threads_share.once = 'nothing is probed'
