# SPDX-License-Identifier: MIT
"""What a hit takes of the stack that the thread is on, as docs/limits.md says it."""
import re

from scripted import launch
from support import PAIR

CALLS = 50
# of the thread's own stack, with what the first hit takes; handlers that need more than 1 KiB have a stack of their own
OWN, PRIVATE = 1408, 640
SMALL = ('next', 'n++', 'n <<< long_arg(1)', 'm[long_arg(1)]++', 'printf("%d %x\\n", long_arg(1), 5)', 'if (tid()) n++',
         'm[long_arg(1)] = gettimeofday_ns()')
LARGE = ('t[execname(), pid()]++', 'println(execname(), pp())', 'print_ubacktrace()', 's = s . sprintf("%d", long_arg(1))')


def unharmed(ctx, room, handlers, point='function("leaf")'):
    path = ctx.target('room')
    for handler in handlers:
        kept = ''.join(', ' + name for name in 'nmts' if re.search(r'\b%s( |\[|\+)' % name, handler))
        script = 'global hits%s\nprobe process.%s { hits++ }\nprobe process.%s { %s }\n' % (kept, point, point, handler)
        r = launch(ctx, script + 'probe end { printf("hits %d\\n", hits) }', '%s %d' % (path, room))
        assert (r.returncode, r.stdout) == (22, '%d\n' % (CALLS * (CALLS + 1) // 2)), (handler, room, r.returncode, r.stderr)
        assert 'hits %d\n' % CALLS in r.script, (handler, r.script)


def test_on_the_threads_own(ctx):
    unharmed(ctx, OWN, SMALL)
    unharmed(ctx, OWN, ('n++', 'm[long_arg(1)]++'), 'function("leaf").return')


def test_on_a_private_one(ctx):
    unharmed(ctx, PRIVATE, LARGE)


test_on_the_threads_own.variants = test_on_a_private_one.variants = PAIR
