# SPDX-License-Identifier: MIT
"""system(): what it starts is the module's, whatever a target writes into its ring."""
import os
import subprocess

from scripted import launch, number
from support import ALL, runner, start, wait_until

SLEEPERS = 70  # of which 64 are started
ONCE = 'probe process.function("work") { if (!n++) { print("before\\n"); system(%s) } } global n'


def session(ctx, *args):
    p = ctx.run([ctx.bin('trapless')] + [str(a) for a in args], timeout=300, cwd=ctx.tmp)
    assert p.returncode == 0, p
    return p


def test_output_in_order(ctx):
    p = session(ctx, '-e', '''probe begin { println("one"); system("echo two " . @1 . "; exit 3"); println("x"); exit() }
        probe end { system("echo last") }''', 'three')
    lines = p.stdout.splitlines()
    assert sorted(lines) == ['last', 'one', 'two three', 'x'] and lines[0] == 'one', p
    assert p.stderr == '', p


def test_from_a_handler(ctx):
    r = launch(ctx, ONCE % '"echo behind; id -u; echo said >&2"', ctx.target('count') + ' 1 1000')
    assert r.returncode == 7 and 'said\n' in r.stderr, r
    words = lambda: open(os.path.join(ctx.tmp, 'script.out')).read().split()
    wait_until(lambda: len(words()) >= 3, lambda: str(words()))  # nobody waits for its end
    out = words()
    assert out == ['before', 'behind', str(os.getuid() if ctx.user is None else ctx.user)], out


test_from_a_handler.variants = ALL


def test_what_it_inherits(ctx):
    """Nothing of ours: neither open files nor signals that are blocked or ignored."""
    p = session(ctx, '-e', 'probe begin { system("ls /proc/self/fd; grep -E \\"Sig(Blk|Ign)\\" /proc/self/status"); exit() }')
    plain = ctx.run(['sh', '-c', 'ls /proc/self/fd; grep -E "Sig(Blk|Ign)" /proc/self/status'])
    assert p.stdout == plain.stdout, (p.stdout, plain.stdout)


def test_records_stay_apart(ctx):
    session(ctx, '-p4', '-m', 'm', '-e', 'probe begin { system("echo told"); exit() }')
    p = ctx.start([runner(ctx), 'm.tap', '--raw', '-o', 'raw'], cwd=ctx.tmp, stderr=subprocess.PIPE)
    out, err = p.communicate(timeout=300)
    assert p.returncode == 0 and (out, err) == ('', 'told\n'), (out, err)
    assert b'told' not in open(os.path.join(ctx.tmp, 'raw'), 'rb').read().split(b'echo told', 1)[1]


def test_as_many_as_there_is_room_for(ctx):
    script = 'probe begin { for (i = 0; i < %d; i++) system("echo $$; exec sleep 600 >&- 2>&-"); exit() }' % SLEEPERS
    p = session(ctx, '-e', script)
    sleepers = [int(pid) for pid in p.stdout.split()]
    for pid in sleepers:
        os.kill(pid, 15)
    assert len(sleepers) == 64 and number(p.stderr, 'commands not started') == SLEEPERS - 64, p


def test_numbers_that_no_command_has(ctx):
    """As a target could write them."""
    p = session(ctx, '-g', '-e', 'probe begin { system("echo one"); %{ tl_command(run, 1); tl_command(run, 65535); %} exit() }')
    assert p.stdout == 'one\n' and number(p.stderr, 'damaged records') == 2, p


def test_attached(ctx):
    target = start(ctx, ctx.target('count'), 1)
    p = session(ctx, '-x', target.pid, '-e', ONCE % '"echo done"' + ' probe timer.ms(50) { if (n) exit() }')
    assert p.stdout == 'before\ndone\n', p
    target.terminate()
    target.communicate(timeout=300)


MADE = 'probe process.function("work") { if (!n++) { print("before\\n"); system(sprintf("echo made %d", n)) } } global n'


def test_texts_of_handlers(ctx):
    """What handlers make while they run: in the target, and in the session's own process, whatever becomes of the target."""
    r = launch(ctx, MADE + ' probe begin { system(sprintf("echo begins %d", n)) } probe end { for (i = 0; i < 3; i++) system("echo ends" . sprint(i)) }',
               ctx.target('count') + ' 1 1000')
    assert r.returncode == 7 and number(r.stderr, 'commands not started') == number(r.stderr, 'commands refused') == 0, r
    lines = lambda: open(os.path.join(ctx.tmp, 'script.out')).read().splitlines()
    wait_until(lambda: len(lines()) >= 6, lambda: str(lines()))
    out = lines()
    assert sorted(out) == ['before', 'begins 0', 'ends0', 'ends1', 'ends2', 'made 1'], out


test_texts_of_handlers.variants = ALL


def test_texts_of_strangers(ctx):
    """A target that runs as another user chooses no commands of ours, unless guru mode says so; what runs here is not its."""
    target = start(ctx, 'setpriv', '--reuid', 65534, '--regid', 65534, '--clear-groups', ctx.target('count'), 1)
    script = MADE + ' probe timer.ms(200) { if (n) exit() } probe end { system("echo own" . sprint(1)) }'
    p = session(ctx, '-x', target.pid, '-e', script)
    assert 'made' not in p.stdout and 'own1' in p.stdout, p
    assert 'process %d could change it' % target.pid in p.stderr and 'Next step: -g' in p.stderr, p
    assert number(p.stderr, 'commands refused') == 1, p
    p = session(ctx, '-g', '-x', target.pid, '-e', script)
    assert 'made 1' in p.stdout and 'refused' not in p.stderr, p
    target.terminate()
    target.communicate(timeout=300)


test_texts_of_strangers.root_only = 'nobody else may trace the processes of another user'
