# SPDX-License-Identifier: MIT
"""--trace-events and --trace-caller as a command: lists, what is refused, the script that they stand for."""
import re

from support_front import good, trapless

# Words of the command line, the exit status, and what is said.
REFUSED = (
    (('sys_entre', '-c', 'true'), 2, 'there is no event `sys_entre`', 'did you mean sys_enter;'),
    (('fsync', '-c', 'true'), 2, 'there is no event `fsync`', '--trace-events help lists them all'),
    (('switch', '-r', '0'), 2, 'there is no event `switch`', 'there are sched_switch;'),
    (('sys_*, nothing*', '-c', 'true'), 2, 'there is no event `nothing*`', 'lists them all'),
    (('sys_enter,,exit', '-c', 'true'), 2, 'a name is missing in the list', 'lists them all'),
    (('', '-c', 'true'), 2, 'a name is missing in the list', 'lists them all'),
    (('irq_enter', '-c', 'true'), 2, '`irq_enter`: a kernel has that event, a process has not', '-r $(uname -r) --trace-events irq_enter'),
    (('sched_*', '-c', 'true'), 2, '`sched_*`: a kernel has that event', '-r $(uname -r)'),
    (('thread_begin', '-r', '0'), 2, '`thread_begin`: a process has that event, a kernel has not', '`fork` tells of threads'),
    (('thread_end', '-r', '0'), 2, '`thread_end`: a process has that event', '`exit` tells of threads'),
    (('net:', '-c', 'true'), 2, '`net:` is neither an event nor PROVIDER:NAME', 'e.g. net:*'),
    (('a:b"c', '-c', 'true'), 2, '`a:b"c` is neither an event nor PROVIDER:NAME', 'e.g. net:*'),
    (('sys_enter',), 2, '--trace-events: events of what?', '-c CMD or -x PID'),
    (('no_such:hook', '-c', 'true'), 1, 'neither the program nor a library of it has a hook or static mark no_such:hook', '.hook("*")'),
    (('exit', '--trace-caller', '3', '-c', 'true'), 2, 'it is about sys_enter', 'add it'),
    (('sys_enter', '--trace-caller', '3', '-r', '0'), 2, 'a kernel does not know the callers', '`ip` of sys_enter'),
    (('sys_enter', '--trace-caller', '3,libnothing.so', '-c', 'true'), 1, 'LIBRARY_UNKNOWN', 'libc.so.6; one that it opens later'),
)
# What the parser of the command line says.
WRONG = (
    (('sys_enter', '--trace-caller', '0', '-c', 'true'), 'DEPTH is a number of callers, 1 to 31'),
    (('sys_enter', '--trace-caller', '3,9-9', '-c', 'true'), 'is above LOW'),
    (('sys_enter', '--trace-caller', '3,/no/such/file', '-c', 'true'), 'there is no such file'),
    (('sys_enter', '-e', 'probe begin { }'), "cannot be used with '-e <SCRIPT>'"),
    (('sys_enter', 'script.stp'), "cannot be used with '[FILE | ARGS]...'"),
    (('sys_enter', '-l', 'begin'), "cannot be used with '-l <PATTERN>'"),
    (('sys_enter', '-G', 'a=1'), "cannot be used with '-G <VAR=VALUE>'"),
    (('sys_enter', '--sessions'), 'cannot be used with:\n  --sessions'),
)


def test_refused(ctx):
    for words, status, what, then in REFUSED:
        p = trapless(ctx, '--trace-events', *words)
        assert p.returncode == status and p.stdout == '', (words, p)
        assert what in p.stderr and then in p.stderr.split('next step: ')[1], (words, p.stderr)


def test_wrong_words(ctx):
    for words, what in WRONG:
        p = trapless(ctx, '--trace-events', *words)
        assert p.returncode == 2 and what in p.stderr, (words, p)
    p = trapless(ctx, '--trace-caller', '3', '-c', 'true')
    assert p.returncode == 2 and '--trace-events <LIST>' in p.stderr, p


def listed(ctx):
    """Name of each event -> fields by home, as --trace-events help has them."""
    events, name = {}, None
    for line in good(ctx, '--trace-events', 'help').stdout.split('\n\n')[1].split('\n'):
        if not line.startswith(' '):
            name = line.split()[0]
            events[name] = {}
            continue
        homes, _, fields = line.strip().partition('  ')
        for home in homes.split(', '):
            events[name][home] = [tuple(f.split(':')) for f in fields.split()]
    return events


def test_list_of_events(ctx):
    events = listed(ctx)
    assert good(ctx, '--trace-events', 'list').stdout == good(ctx, '--trace-events', 'help').stdout
    wanted = ('sys_enter sys_exit sched_switch fork exec exit irq_enter irq_exit block_issue block_complete net_send '
              'net_receive timer_expire page_fault signal').split()
    assert set(wanted) <= set(events), events.keys()
    assert ('nr', 'number') in events['sys_enter']['kernel'] and ('ip', 'address') in events['sys_enter']['process']
    assert list(events['irq_enter']) == ['kernel'] and list(events['thread_end']) == ['process'], events
    page = open(ctx.root + '/docs/trace-events.md').read()
    for name, homes in events.items():
        told = re.search(r'^\| `%s` \|.*$' % name, page, re.M)
        assert told, name
        for fields in homes.values():
            assert all('`%s`' % field in told.group() for field, _ in fields), (name, told.group())


def test_every_event_of_a_process_is_compiled(ctx):
    names = [n for n, homes in listed(ctx).items() if 'process' in homes]
    each = good(ctx, '--trace-events', ','.join(names), '-c', 'sh', '-p2').stdout
    assert good(ctx, '--trace-events', '*', '-c', 'sh', '-p2').stdout == each
    assert '.syscall.return' in each and '.thread.end' in each, each


def test_the_script(ctx):
    """-p1 shows it; it is one that does the same by itself, and says what its lines are."""
    text = good(ctx, '--trace-events', 'sys_enter,exit', '--trace-caller', '4', '-c', 'true', '-p1').stdout
    assert text.startswith('# --trace-events sys_enter,exit\n# seconds since'), text
    assert re.findall(r'^probe (.*?) \{', text, re.M) == ['begin', 'process.syscall', 'process.end'], text
    points = good(ctx, '--trace-events', 'sys_enter,exit', '--trace-caller', '4', '-c', 'true', '-p2').stdout
    assert good(ctx, '-e', text, '-c', 'true', '-p2').stdout == points
    p = good(ctx, '-e', text, '-c', 'true')
    assert re.search(r' true\(\d+\) sys_enter nr=\d+ name=exit_group .* caller=\S+\n', p.stdout), p
    assert re.search(r' true\(\d+\) exit\n$', p.stdout), p


def test_of_a_kernel_it_is_by_tracepoints(ctx):
    text = good(ctx, '--trace-events', 'sched_switch,sched:sched_process_*,irq:irq_handler_entry', '-r', '0', '-p1').stdout
    points = re.findall(r'^probe (.*?) \{', text, re.M)
    assert points == ['begin', 'kernel.trace("sched:sched_switch")', 'kernel.trace("sched:sched_process_*")',
                      'kernel.trace("irq:irq_handler_entry")'], text
    assert 'cpu(), execname(), pid()' in text and 'irq:irq_handler_entry %s' in text, text
