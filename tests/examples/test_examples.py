# SPDX-License-Identifier: MIT
"""Every script in examples/, on real programs and on one that knows its own counts."""
import collections
import os
import re
import shutil
import signal
import subprocess

PAIR = ('opt', 'traps')
GOODS = ('apple', 'bread', 'cheese')


def example(ctx, name, *args, timeout=300, **kw):
    """Run one to its end; returns (standard output, standard error)."""
    argv = [ctx.bin('trapless'), os.path.join(ctx.root, 'examples', name)] + [str(a) for a in args]
    p = ctx.run(argv, timeout=timeout, **kw)
    assert p.returncode == 0, 'ended with %d: %s' % (p.returncode, p.stderr)
    return p.stdout, p.stderr


def shop(ctx):
    return ctx.target('../examples/shop')


def sales(n):
    """What `shop 1 N` sells: (name, pieces) a sale."""
    return [(GOODS[i % 3], i % 7 + 1) for i in range(n)]


def histogram(out):
    """The counts of a printed histogram by value."""
    return {int(v): int(n) for v, n in re.findall(r'^ *(\d+) \|@* +(\d+)$', out, re.M)}


def repository(ctx, files=40):
    path = os.path.join(ctx.tmp, 'repo')
    os.mkdir(path)
    for i in range(files):
        with open(os.path.join(path, 'file%d' % i), 'w') as f:
            f.write('line\n' * i)
    subprocess.run(['git', 'init', '-q', path], check=True)
    return path


def test_all_are_tested(ctx):
    with open(os.path.abspath(__file__)) as f:
        text = f.read()
    scripts = [n for n in os.listdir(os.path.join(ctx.root, 'examples')) if n.endswith('.stp')]
    assert len(scripts) >= 12, scripts
    for name in scripts:
        assert "'%s'" % name in text, 'no test runs %s' % name
        with open(os.path.join(ctx.root, 'examples', name)) as f:
            head = f.read()
        assert re.search(r'^#   trapless %s' % name, head, re.M), '%s does not say how it is started' % name


def test_arguments(ctx):
    out, _ = example(ctx, 'arguments.stp', '-c', shop(ctx) + ' 1 20', 'price_of')
    pieces = [int(x, 16) for x in re.findall(r'-> price_of name=0x[0-9a-f]+ pieces=(0x[0-9a-f]+)', out)]
    assert pieces == [p for _, p in sales(20)], out
    price = dict(zip(GOODS, (3, 5, 8)))
    sums = [int(x, 16) for x in re.findall(r'<- price_of return=(0x[0-9a-f]+)', out)]
    assert sums == [price[n] * p for n, p in sales(20)], out


test_arguments.variants = PAIR


def test_callers(ctx):
    out, _ = example(ctx, 'callers.stp', '-c', shop(ctx) + ' 2 100', 'libc.so.6', 'malloc')
    found = [int(n) for n in re.findall(r'^ *(\d+)  sell\+0x', out, re.M)]
    assert found == [200, 20], out


test_callers.variants = PAIR + ('nobody',)


def test_callers_in_git(ctx):
    out, _ = example(ctx, 'callers.stp', '-c', 'git -C %s status --short' % repository(ctx), 'libc.so.6', 'malloc')
    assert len(re.findall(r'^\?\? file', out, re.M)) == 40, out
    counts = [int(n) for n in re.findall(r'^ *(\d+)  \S', out, re.M)]
    assert 3 <= len(counts) <= 10 and counts == sorted(counts, reverse=True) and counts[0] > 10, out


test_callers_in_git.variants = PAIR


def test_failing(ctx):
    out, _ = example(ctx, 'failing.stp', '-c', 'python3 -c "import os; [os.access(str(i), 0) for i in range(123)]"',
                     env={'PATH': '/usr/bin:/bin'})
    found = dict((f, int(n)) for n, f in re.findall(r'^ *(\d+)  (\w+)', out, re.M))
    assert found.get('access') == 123, out


test_failing.variants = PAIR


def test_hot_functions(ctx):
    out, _ = example(ctx, 'hot_functions.stp', '-c', shop(ctx) + ' 2 100', 's*')
    found = dict((f, int(n)) for n, f in re.findall(r'^ *(\d+)  (\w+)$', out, re.M))
    compared = 2 * sum(GOODS.index(n) + 1 for n, _ in sales(100))
    assert found == {'same': compared, 'sell': 200}, out


test_hot_functions.variants = PAIR + ('nobody',)


def test_io(ctx):
    path = os.path.join(ctx.tmp, 'data')
    with open(path, 'w') as f:
        f.write('x' * 300000)
    out, _ = example(ctx, 'io.stp', '-c', 'cat ' + path)
    assert out.count('x') == 300000
    got = sum(int(n) for n in re.findall(r'^fd 3: (\d+) bytes in \d+ reads', out.lstrip('x'), re.M))
    put = sum(int(n) for n in re.findall(r'^fd 1: (\d+) bytes in \d+ writes', out, re.M))
    assert (got, put) == (300000, 300000), out.lstrip('x')


test_io.variants = PAIR


def test_io_of_sqlite(ctx):
    text = 'select max(value) from generate_series(1, 1000)'
    out, _ = example(ctx, 'io.stp', '-c', 'sqlite3 :memory: "%s"' % text)
    assert out.startswith('1000\n') and 'fd 1: 5 bytes in 1 writes' in out, out


test_io_of_sqlite.variants = PAIR


def test_latency(ctx):
    out, _ = example(ctx, 'latency.stp', '-c', shop(ctx) + ' 2 150', 'sell')
    assert re.search(r'^sell: 300 calls, \d+ ns on average', out, re.M), out
    assert sum(histogram(out).values()) == 300, out


test_latency.variants = PAIR


def test_latency_without_a_call(ctx):
    out, _ = example(ctx, 'latency.stp', '-c', shop(ctx) + ' 0 1', 'sell')
    assert 'sell did not return while this ran' in out, out


def test_leaks(ctx):
    out, _ = example(ctx, 'leaks.stp', '-c', shop(ctx) + ' 2 100')
    assert re.search(r'^ *%d bytes  sell\+0x' % (20 * 777), out, re.M), out


test_leaks.variants = PAIR


def test_malloc_sizes(ctx):
    out, _ = example(ctx, 'malloc_sizes.stp', '-c', shop(ctx) + ' 2 100')
    h = histogram(out)
    assert h[512] == 20 and h[64] >= 200, out
    n, total = map(int, re.search(r'^(\d+) allocations, (\d+) bytes', out, re.M).groups())
    assert n == sum(h.values()) and total >= 200 * 100 + 20 * 777, out


test_malloc_sizes.variants = PAIR


def test_malloc_sizes_of_python(ctx):
    work = 'x = [bytes(1000 + i) for i in range(5000)]'
    out, _ = example(ctx, 'malloc_sizes.stp', '-c', 'python3 -c "%s"' % work, env={'PATH': '/usr/bin:/bin'})
    n = int(re.search(r'^(\d+) allocations', out, re.M).group(1))
    h = histogram(out)
    assert n == sum(h.values()) and h[1024] + h[2048] + h[4096] >= 4900, out


test_malloc_sizes_of_python.variants = PAIR


def test_opens(ctx):
    path = os.path.join(ctx.tmp, 'there')
    with open(path, 'w'):
        pass
    work = "[open('%s').close() for i in range(7)]\ntry:\n open('%s/no')\nexcept OSError: pass" % (path, ctx.tmp)
    script = os.path.join(ctx.tmp, 'work.py')
    with open(script, 'w') as f:
        f.write(work)
    out, _ = example(ctx, 'opens.stp', '-c', 'python3 ' + script, env={'PATH': '/usr/bin:/bin'})
    assert len(re.findall(r'^python3\S*\(\d+\) %s = \d+$' % path, out, re.M)) == 7, out
    assert len(re.findall(r'^python3\S*\(\d+\) %s/no = -1$' % ctx.tmp, out, re.M)) == 1, out


test_opens.variants = PAIR


def test_opens_as_strace_sees_it(ctx):
    if shutil.which('strace') is None:
        ctx.skip('no strace')
    path = repository(ctx, 5)
    for warm in range(2):
        subprocess.run(['git', '-C', path, 'status', '-s'], check=True, stdout=subprocess.DEVNULL)
    p = ctx.run(['strace', '-e', 'trace=openat,open', 'git', '-C', path, 'status', '-s'])
    libraries = r'/(?:etc/ld\.so|lib/|usr/lib/x86)'  # opened by the dynamic loader, not by libc
    strace = collections.Counter(re.findall(r'^openat?\(.*?"(.*?)", O_\w+.*\) = -?\d', p.stderr, re.M))
    out, _ = example(ctx, 'opens.stp', '-c', 'git -C %s status -s' % path)
    ours = collections.Counter(re.findall(r'^git\(\d+\) (.*) = -?\d+$', out, re.M))
    for name in list(strace):
        if re.match(libraries, name) or name == '/dev/null':
            del strace[name]
    missing = {n: (c, ours[n]) for n, c in strace.items() if ours[n] < c and 'locale' not in n and n != '.'}
    folders = {n for n in missing if os.path.isdir(os.path.join(path, n)) or n.endswith('/')}  # opendir
    assert not set(missing) - folders and len(ours) > 5, 'strace saw more: %r' % missing


def test_rate(ctx):
    p = ctx.start([shop(ctx), '2', '0'])
    p.stdout.readline()
    out, _ = example(ctx, 'rate.stp', '-x', p.pid, 'sell', 2)
    rates = [int(n) for n in re.findall(r'^\d\d:\d\d:\d\d +(\d+)/s$', out, re.M)]
    p.send_signal(signal.SIGTERM)
    sold = int(re.search(r'sold (\d+)', p.communicate(timeout=300)[0]).group(1))
    assert len(rates) == 2 and all(20 < r <= sold for r in rates) and sum(rates) <= sold, (rates, sold)


test_rate.variants = PAIR + ('nobody',)


def test_strings(ctx):
    out, _ = example(ctx, 'strings.stp', '-c', shop(ctx) + ' 2 100', 'same')
    want = collections.Counter()
    for name, _ in sales(100):
        for other in GOODS[:GOODS.index(name) + 1]:
            want[other, name] += 2
    found = {(a, b): int(n) for n, a, b in re.findall(r'^ *(\d+)  "(\w+)"  "(\w+)"$', out, re.M)}
    assert found == want, out


test_strings.variants = PAIR


def test_threads(ctx):
    out, _ = example(ctx, 'threads.stp', '-c', shop(ctx) + ' 3 100', 'price_of')
    found = re.findall(r'^thread (\d+): (\d+) calls, the last one \d+ ms ago$', out, re.M)
    assert [n for _, n in found] == ['100'] * 3 and len({t for t, _ in found}) == 3, out


test_threads.variants = PAIR


def test_tree(ctx):
    out, _ = example(ctx, 'tree.stp', '-c', shop(ctx) + ' 1 3', 's*')
    arrows = re.findall(r':( *)(->|<-) (\w+)$', out, re.M)
    want = []
    for name, _ in sales(3):
        want += [(' ', '->', 'sell')] + [('  ', '->', 'same'), ('  ', '<-', 'same')] * (GOODS.index(name) + 1)
        want += [(' ', '<-', 'sell')]
    assert arrows == want, out


test_tree.variants = PAIR


def test_demo(ctx):
    p = ctx.run([os.path.join(ctx.root, 'examples', 'demo')], timeout=300)
    assert p.returncode == 0, p.stderr
    n = int(re.search(r'^(\d+) allocations', p.stdout, re.M).group(1))
    assert n > 1000 and sum(histogram(p.stdout).values()) == n, p.stdout
    assert '\x1b' not in p.stdout, 'colour without a terminal'
    assert re.search(r'^ *\d+  \S.*\[.*/libsqlite3', p.stdout, re.M), p.stdout
