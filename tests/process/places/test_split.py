# SPDX-License-Identifier: MIT
"""Functions that are entered amid their instructions: on the next piece of a split stack, by __morestack."""
import re
import subprocess

from scripted import launch, number
from support import PAIR

ROUNDS = 100
OURS = ('deep', 'padded', 'thread', '__morestack', '__morestack_non_split')


def target(ctx, cc='gcc'):
    return ctx.target('split', cc=cc, cflags=('-O2', '-g', '-fsplit-stack', '-pthread'))


def launched(ctx, path, script):
    bare = ctx.run([path, str(ROUNDS)])
    assert bare.returncode == 14, bare
    r = launch(ctx, script, '%s %d' % (path, ROUNDS))
    assert (r.stdout, r.returncode) == (bare.stdout, 14), (r.returncode, r.stdout, r.stderr)
    return r, int(re.match(r'calls (\d+) ', bare.stdout).group(1))


def returns(ctx, cc):
    r, calls = launched(ctx, target(ctx, cc), '''
global entered, returned, wrong, all
probe process.function("deep") { entered++ }
probe process.function("deep").return { returned++; if ($return != @entry($n)) wrong++ }
probe process.function("*") { all++ }
probe process.function("*").return { all++ }
probe end { printf("entered %d returned %d wrong %d\\n", entered, returned, all < entered + returned ? -1 : wrong) }
''')
    assert r.script == 'entered %d returned %d wrong 0\n' % (calls, calls), (r.script, calls, r.stderr)
    assert number(r.stderr, 'hits missed') == 0, r.stderr


def test_returns(ctx):
    """Each call returns once, where __morestack does: what returns to that has no call of its own."""
    returns(ctx, 'gcc')


def test_clang_returns(ctx):
    returns(ctx, 'clang')


test_clang_returns.long = True


def test_every_instruction(ctx):
    """What is not code that somebody proves is refused; the program does what it does alone."""
    path, name, places = target(ctx), None, []
    listing = subprocess.run(['objdump', '-d', '--no-show-raw-insn', path], stdout=subprocess.PIPE, text=True, check=True)
    for line in listing.stdout.splitlines():
        begins, insn = re.match(r'[0-9a-f]+ <(.*)>:', line), re.match(r' +([0-9a-f]+):', line)
        name = begins.group(1) if begins else name
        if insn and name in OURS:
            places.append(insn.group(1))
    points = ''.join('probe process("%s").statement(0x%s)? { n++ }\n' % (path, p) for p in places)
    r, calls = launched(ctx, path, 'global n\n' + points + 'probe end { println(n) }')
    assert int(r.script) > 20 * calls, (r.script, calls, r.stderr)
    assert 0 <= number(r.stderr, 'probes refused') < 10, r.stderr


test_returns.variants = test_every_instruction.variants = PAIR
