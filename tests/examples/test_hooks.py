# SPDX-License-Identifier: MIT
"""examples/hooks, built as its README says: what the programs print, and what the script sees of the server."""
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

PAIR = ('opt', 'traps')


def built(ctx, name):
    folder = os.path.join(ctx.tmp, 'hooks')
    shutil.copytree(os.path.join(ctx.root, 'examples', 'hooks'), folder)
    argv = ['make', '-s', '-B', '-C', folder, 'TREE=' + ctx.root, name]
    p = subprocess.run(argv, env=dict(os.environ, MAKEFLAGS=''), capture_output=True, text=True)
    assert p.returncode == 0 and not p.stderr, p.stdout + p.stderr
    return os.path.join(folder, name)


CLIENTS, ROUNDS = 3, 40
# What each client asks for in a round, and the answer to its first word.
ROUND = (('SET %s some text', 'OK'), ('GET %s', 'VALUE'), ('DEL %s', 'OK'), ('GET %s', 'NONE'), ('GET', 'ERROR:'))


def ask(f, line):
    f.write(line + '\n')
    f.flush()
    return f.readline()


def client(port, number, wrong):
    key = 'key%d' % number
    with socket.create_connection(('127.0.0.1', port)) as s, s.makefile('rw') as f:
        for _ in range(ROUNDS):
            for line, wanted in ROUND:
                answer = ask(f, line % key if '%' in line else line)
                if answer.split()[:1] != [wanted]:
                    wrong.append((line, answer))


def requests(port):
    wrong = []
    threads = [threading.Thread(target=client, args=(port, n, wrong)) for n in range(CLIENTS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong[:3]


def stop(port):
    with socket.create_connection(('127.0.0.1', port)) as s, s.makefile('rw') as f:
        assert ask(f, 'STOP') == ''


def port_of(p):
    line = p.stdout.readline()
    assert line.startswith('listening on 127.0.0.1:'), line + p.stderr.read()
    return int(line.rpartition(':')[2])


def rows(out):
    """The table at the end: command -> its numbers but for the time."""
    found = re.findall(r'^(GET|SET|DEL|\?) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$', out, re.M)
    return {r[0]: tuple(int(n) for n in r[1:4] + r[5:]) for r in found}


def histograms(out):
    """How many requests each one counts."""
    parts = re.split(r'^microseconds of (.+)$', out, flags=re.M)
    return {c: sum(int(n) for n in re.findall(r'^ *\d+ \|@* +(\d+)$', text, re.M)) for c, text in zip(parts[1::2], parts[2::2])}


EACH = CLIENTS * ROUNDS
SAID_OF_BAD = len('ERROR: GET KEY, SET KEY VALUE, DEL KEY, or STOP\n')
# Requests, their bytes, those of the answers, how many found nothing, how many were none.
TABLE = {'GET': (2 * EACH, 18 * EACH, (16 + 5) * EACH, EACH, 0), 'SET': (EACH, 19 * EACH, 3 * EACH, 0, 0),
         'DEL': (EACH, 9 * EACH, 3 * EACH, 0, 0), '?': (EACH, 4 * EACH, SAID_OF_BAD * EACH, 0, EACH)}


def check_table(out, clients):
    assert rows(out) == TABLE, out
    assert histograms(out) == {c: row[0] for c, row in TABLE.items()}, out
    busiest = r'^%d clients, the busiest from port \d+ with %d requests$' % (clients, len(ROUND) * ROUNDS)
    assert re.search(busiest, out, re.M), out


def watched(ctx, *argv):
    argv = [ctx.bin('trapless'), os.path.join(ctx.root, 'examples/hooks/requests.stp')] + list(argv)
    p = ctx.popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ctx.started.append(p)
    return p


def test_requests_of_a_server(ctx):
    p = watched(ctx, '-c', built(ctx, 'server'))
    port = port_of(p)
    requests(port)
    stop(port)
    out, err = p.communicate()
    assert p.returncode == 0, err
    check_table(out, CLIENTS + 1)


test_requests_of_a_server.variants = PAIR + ('nobody',)


def test_requests_of_a_server_that_runs(ctx):
    """And nobody listens before and after: the server answers as ever."""
    server = ctx.popen([built(ctx, 'server')], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ctx.started.append(server)
    port = port_of(server)
    requests(port)
    p = watched(ctx, '-v', '-x', str(server.pid))
    err = ''
    while 'probes armed in 1 processes' not in err:
        line = p.stderr.readline()
        assert line, err
        err += line
    requests(port)
    p.send_signal(signal.SIGINT)
    out, rest = p.communicate()
    assert p.returncode == 0, err + rest
    check_table(out, CLIENTS)
    requests(port)
    stop(port)
    assert server.wait() == 0


POLICIES = '''\
policy                        allowed   EACCES    EROFS  other
none                             6000        0        0      0
deny secret/                     3000     3000        0      0
deny secret/, read-only          1500     3000     1500      0
read-only                        3000        0     3000      0
read-only, deny secret/          1500     1500     3000      0
none again                       6000        0        0      0
'''


def test_policies_that_come_and_go(ctx):
    p = ctx.run([built(ctx, 'policy')])
    assert p.returncode == 0 and p.stdout == POLICIES, p.stdout + p.stderr


test_policies_that_come_and_go.once = 'nothing is probed'

EVENT = r' *\d+ +\d+ job:(begin number=\d+ worker=[01]|end number=\d+ result=\d+\.\d{3})'
SUMMARY = r'the last (\d+) events; (\d+) of (\d+) were overwritten'


def test_a_recorder_tells_the_last_events(ctx):
    p = ctx.run([built(ctx, 'recorder')])
    _, head, *events, last = p.stdout.splitlines()
    kept, lost, all_of_them = (int(n) for n in re.fullmatch(SUMMARY, last).groups())
    assert p.returncode == 0 and head.split() == ['ticks', 'thread', 'event'], p.stdout + p.stderr
    assert kept == len(events) >= 8 and kept + lost == all_of_them == 8000, p.stdout
    assert all(re.fullmatch(EVENT, e) for e in events), p.stdout
    # Of a thread the last is the end of what it did last; of one of them that is the last job.
    assert any('job:begin number=4000 ' in e for e in events) and any('job:end number=4000 ' in e for e in events), p.stdout


test_a_recorder_tells_the_last_events.once = 'nothing is probed from outside'


def test_a_recorder_tells_when_it_is_told_to(ctx):
    p = ctx.popen([built(ctx, 'recorder'), '0'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ctx.started.append(p)
    assert p.stdout.readline() == 'recording; SIGUSR1 tells the last events\n', p.stderr.read()
    for _ in range(3):
        p.send_signal(signal.SIGUSR1)
        assert p.stdout.readline().split() == ['ticks', 'thread', 'event']
        line = p.stdout.readline()
        while re.fullmatch(EVENT, line.rstrip('\n')):
            line = p.stdout.readline()
        assert re.fullmatch(SUMMARY, line.rstrip('\n')), line


test_a_recorder_tells_when_it_is_told_to.once = 'nothing is probed from outside'
