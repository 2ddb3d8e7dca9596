# SPDX-License-Identifier: MIT
"""Real programs doing real work in one process, with the same output each time. Children would run untraced."""
import os
import subprocess

from support_every import find

C_SOURCE = '''
struct node { struct node *left, *right; int key; double weight; };
static int depth(const struct node *n) { int l, r; if (!n) return 0; l = depth(n->left); r = depth(n->right); return 1 + (l > r ? l : r); }
double sum(const struct node *n) { return n ? n->weight * n->key + sum(n->left) + sum(n->right) : 0; }
int both(const struct node *n, unsigned k) { switch (k % 7) { case 0: return depth(n); case 1: return (int)sum(n); case 5: return 3; default: return k; } }
void fill(float *a, const float *b, int n) { for (int i = 0; i < n; i++) a[i] = b[i] * 2.5f + a[n - i - 1]; }
'''
SQL = '''create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 120)
insert into t select i, printf('%05d-%s', i * 7919 % 1000, hex(i)), i / 7.0 from n;
create index x on t(b); update t set c = c * 2 where b like '0%'; delete from t where a % 11 = 3;
select count(*), sum(a), round(avg(c), 6), max(b), group_concat(substr(b, 1, 3)) from t where b > '00500';
select b, row_number() over (order by c desc) from t where b glob '*3*' order by b limit 12; pragma integrity_check;
'''
PYTHON = '''import re, json, struct, zlib, hashlib, collections, itertools
text = " ".join("%s%d" % (w, i) for i in range(60) for w in ("red", "green", "blue"))
c = collections.Counter(re.findall(r"[a-z]+(?=\\d*[02468]\\b)", text))
print(sorted(c.items()), json.loads(json.dumps({"a": [1, 2.5, None, "\\u00e9"]})))
print(zlib.crc32(text.encode()), hashlib.sha256(text.encode()).hexdigest(), struct.pack("<If", 7, 1.5))
class E(Exception): pass
def g(n):
    try:
        if n == 0: raise E("deep")
        yield from g(n - 1)
    finally: pass
try: list(g(20))
except E as e: print("caught", e, 3 ** 200 % 1000003, sum(map(float, itertools.repeat("1.25", 40))))
'''
PERL = '''my %h; my $t = join " ", map { "w" . ($_ * 7919 % 101) } 1..300; $h{$_}++ for split / /, $t;
print join(",", map { "$_=$h{$_}" } (sort { $h{$b} <=> $h{$a} || $a cmp $b } keys %h)[0..9]), "\\n";
$t =~ s/(\\d)(\\d)/$2$1/g; print length($t), " ", sprintf("%.6f %s", sqrt(2), reverse "abc"), "\\n";
eval { die { code => 7 } }; print "died $@->{code}\\n"; my @p = unpack("NnC", pack("NnC", 1e6, 77, 5)); print "@p\\n";
'''


def text(n):
    return ''.join('%d line of text, number %d, with %s\n' % (i, i * 7919 % 1000, 'abcdefgh'[i % 5:]) for i in range(n))


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, 'w') as f:
        f.write(content)
    return path


def git(folder, _size):
    env = dict(os.environ, GIT_CONFIG_NOSYSTEM='1', GIT_CONFIG_GLOBAL='/dev/null', HOME=folder)
    for who in ('AUTHOR', 'COMMITTER'):
        env.update({'GIT_%s_NAME' % who: 'A', 'GIT_%s_EMAIL' % who: 'a@example.org',
                    'GIT_%s_DATE' % who: '2020-01-01T00:00:00Z'})
    repo = os.path.join(folder, 'repo')
    os.mkdir(repo)
    commands = 'git init -q -b main .; for i in 1 2 3 4; do seq $i 9 50 >f$i; seq $i 40 >g; git add .; git commit -qm "c $i"; done'
    subprocess.run(['/bin/sh', '-ec', commands], cwd=repo, env=env, check=True)
    return ['-C', repo, '--no-pager', 'log', '--stat', '-p', '--graph', '--color=always']


def sqlite(folder, _size):
    return ['-batch', ':memory:', '.read ' + write(folder, 'work.sql', SQL)]


def openssl(folder, _size):
    return ['dgst', '-sha3-256', '-hmac', 'key', write(folder, 'plain', text(40))]


def cipher(folder, _size):
    return ['enc', '-aes-256-cbc', '-pbkdf2', '-S', '0102030405060708', '-k', 'secret', '-base64', '-in',
            write(folder, 'plain2', text(40))]


def cc1(folder, _size):
    return ['-quiet', '-O2', write(folder, 'unit.c', C_SOURCE), '-o', '-']


# name: program, its arguments, files beside the program and libc whose every instruction is probed
PROGRAMS = {
    'gzip': ('gzip', lambda d, n: ['-9', '-c', '-n', write(d, 'plain', text(n))], ()),
    'xz': ('xz', lambda d, n: ['-c', '-6', '-T1', write(d, 'plain', text(n))], ('liblzma.so.5',)),
    'grep': ('grep', lambda d, n: ['-n', '-i', '-E', '(9|LINE).*(b|c)d+e.*f?gh$', write(d, 'plain', text(n))], ('libpcre2-8.so.0',)),
    'sed': ('sed', lambda d, n: ['-E', 's/([0-9]+) line/<\\1>/;2~3{N;s/\\n/+/};$!{h;x};y/abc/xyz/', write(d, 'plain', text(n))], ()),
    'sqlite3': ('sqlite3', sqlite, ('libsqlite3.so.0',)),
    'perl': ('perl', lambda d, n: ['-w', write(d, 'work.pl', PERL)], ()),
    'openssl': ('openssl', openssl, ('libcrypto.so.3', 'libssl.so.3')),
    'openssl-enc': ('openssl', cipher, ('libcrypto.so.3',)),
    'git': ('git', git, ('libz.so.1', 'libpcre2-8.so.0')),
    'python3': ('python3', lambda d, n: ['-S', write(d, 'work.py', PYTHON)], ('libz.so.1',)),
    'cc1': ('cc1', cc1, ()),
}


class Work:
    """One program with its arguments in a folder."""

    def __init__(self, name, folder, size=40):
        program, arguments, libraries = PROGRAMS[name]
        self.name, self.path = name, find(program)
        if self.path is None:
            return
        self.argv = [self.path] + arguments(folder, size)
        self.files = [self.path] + [f for f in map(find, libraries) if f and self.loads(f)] + [find('libc.so.6')]

    def loads(self, library):
        p = subprocess.run(['ldd', self.path], stdout=subprocess.PIPE, text=True)
        return os.path.basename(library).split('.so')[0] in p.stdout
