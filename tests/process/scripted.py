# SPDX-License-Identifier: MIT
"""Sessions of bin/trapless over scripts: start them, wait until armed, read their closing lines."""
import os
import re
import signal
import subprocess


def words(ctx, *args):
    return [ctx.bin('trapless'), '-v', '--explain', '--cc', 'gcc'] + [str(a) for a in args]


def environment(ctx):
    """A cache of the test's own: nothing depends on the order of tests, and any user may write it."""
    return dict(XDG_CACHE_HOME=os.path.join(ctx.tmp, 'cache'), HOME=ctx.tmp)


def as_expected(line, wanted):
    """`*` stands for an address or a number, but in a comment."""
    return re.fullmatch(re.sub(r'(?<!/)\\\*(?!/)', '(?:0x)?[0-9a-f]+', re.escape(wanted)), line)


def script_file(ctx, text, name='s.stp'):
    path = os.path.join(ctx.tmp, name)
    with open(path, 'w') as f:
        f.write(text)
    return path


def launch(ctx, script, command, *args, timeout=300, **kw):
    """Trace COMMAND from its start. Script output goes to a file, so that the program's own output stays apart."""
    out = os.path.join(ctx.tmp, 'script.out')
    argv = words(ctx, '-o', out, '-c', command, *args) + [script_file(ctx, script)]
    r = ctx.run(argv, timeout=timeout, env=environment(ctx), **kw)
    r.script = open(out).read() if os.path.exists(out) else ''
    return r


def attach(ctx, script, *args, pid=None, **kw):
    """Attach to PID and wait until armed."""
    argv = words(ctx, *(('-x', pid) if pid else ()), *args) + [script_file(ctx, script)]
    p = ctx.start(argv, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(ctx), **kw)
    seen = []  # may be thousands of lines
    for line in p.stderr:
        seen.append(line)
        if 'probes armed' in line:
            p.seen = ''.join(seen)
            return p
    p.wait()
    p.seen = ''.join(seen)
    raise AssertionError('did not attach (%d): %s' % (p.returncode, p.seen))


def finish(p, sig=signal.SIGINT, timeout=300):
    """End a session; (what the script printed, what was said about it)."""
    if sig:
        p.send_signal(sig)
    out, err = p.communicate(timeout=timeout)
    assert p.returncode == 0, 'trapless ended with %d: %s' % (p.returncode, p.seen + err)
    return out, p.seen + err


def number(text, words):
    """The number that follows WORDS (and a hint) in text, of several lines all together; -1 where there is none."""
    found = re.findall(r'^(?:trapless-run: )?%s(?: \(.*\))?:? (-?\d+)' % re.escape(words), text, re.M)
    return sum(map(int, found)) if found else -1


def missed(text, why):
    """How many hits were, for that reason."""
    return number(text, re.search(r'^trapless-run: (hits missed \(%s.*\)):' % re.escape(why), text, re.M).group(1))


def check_rung(ctx, err, least=1):
    """Traps only means that every hit came by a trap; else only those places may trap that the listing names."""
    traps = number(err, 'hits by traps')
    if 'traps' in ctx.variant:
        assert traps >= least, 'only %d hits by traps: %s' % (traps, err)
    elif not re.search(r'^trap |[1-9]\d* by trap', err, re.M):
        assert traps == 0, '%d hits by traps: %s' % (traps, err)
