# SPDX-License-Identifier: MIT
"""What a Python test is given as `ctx`: see tests/run."""
import hashlib
import os
import random
import shutil
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, 'build')

# How a Python test is repeated. TRAPLESS_TRAPS_ONLY keeps every probe on the
# trap rung; `nobody` runs the tools and their targets as uid 65534; `clang` takes a runner and agent built by that.
VARIANTS = {
    'opt': dict(env={}, user=None),
    'traps': dict(env={'TRAPLESS_TRAPS_ONLY': '1'}, user=None),
    'nobody': dict(env={}, user=65534),
    'nobody-traps': dict(env={'TRAPLESS_TRAPS_ONLY': '1'}, user=65534),
    'clang': dict(env={'TRAPLESS_RUN': os.path.join(BUILD, 'clang', 'trapless-run')}, user=None),
    'sanitized': dict(env={'TRAPLESS_RUN': os.path.join(BUILD, 'asan', 'trapless-run')}, user=None),
}


# Who runs the tests, if not root: then all run as that user.
USER = os.getuid() or None


class Skip(Exception):
    pass


def wait_until(true, what, within=300.0, pause=0.01, wrong=False):
    """However slow the machine is: only a hang comes to the end of that time, or, where that is wrong, what stays as it is."""
    end = time.monotonic() + within
    while not true():
        if time.monotonic() > end:
            what = what() if callable(what) else what
            raise AssertionError(what) if wrong else subprocess.TimeoutExpired(what, within)
        time.sleep(pause)


class Context:
    def __init__(self, variant, long, has_long=True):
        v = VARIANTS[variant]
        self.root, self.variant, self._long, self._has_long = ROOT, variant, long, has_long
        self.env, self.user = dict(v['env']), USER or v['user']
        self.tmp = tempfile.mkdtemp(prefix='trapless-test-')
        os.chmod(self.tmp, 0o777)
        self.started = []
        self.said = self.drawn = None
        if variant == 'sanitized':
            self.said = os.path.join(self.tmp, 'said')
            os.mkdir(self.said)
            os.chmod(self.said, 0o777)
            self.env['ASAN_OPTIONS'] = 'log_path=%s/by:detect_leaks=0:verify_asan_link_order=0' % self.said
            self.env['UBSAN_OPTIONS'] = 'log_path=%s/by:print_stacktrace=1' % self.said

    @property
    def long(self):
        assert self._has_long, 'ctx.long is read where groups.has_long_form() does not see it'
        return self._long

    def seed(self, usual=1):
        """SEED, or the usual one. A failure says it."""
        self.drawn = int(os.environ.get('SEED', usual))
        return self.drawn

    def dice(self, what):
        """Chance that is the same for the same seed."""
        return random.Random('%d %s %s' % (self.seed(), what, self.variant))

    def skip(self, why):
        raise Skip(why)

    def bin(self, name):
        here = os.path.join(ROOT, 'bin', name)
        said = self.env.get('TRAPLESS_RUN') or os.environ.get('TRAPLESS_RUN')
        return said if said and name == 'trapless-run' else here

    def target(self, name, cflags=('-O2', '-g'), cc='gcc', ldflags=('-pthread',)):
        src = os.path.join(ROOT, 'tests', 'targets', name)
        if not os.path.splitext(src)[1]:
            src += '.c'
        if shutil.which(cc) is None:
            self.skip('no ' + cc)
        words = [cc] + list(cflags) + list(ldflags)
        # Debug information has the source's path.
        tag = hashlib.sha1(('\0'.join(words + [src]) + open(src).read()).encode()).hexdigest()[:12]
        out = os.path.join(BUILD, 'targets', '%s-%s' % (os.path.splitext(os.path.basename(src))[0], tag))
        if not os.path.exists(out):
            os.makedirs(os.path.dirname(out), exist_ok=True)
            new = '%s.%d' % (out, os.getpid())  # another run may make it, too
            subprocess.run([cc] + list(cflags) + ['-o', new, src] + list(ldflags), check=True)
            os.rename(new, out)
        return out

    def popen(self, argv, **kw):
        env = dict(os.environ, **self.env)
        env.update(kw.pop('env', {}))
        if self.user is not None and not USER:
            kw.setdefault('user', self.user)
            kw.setdefault('group', self.user)
            kw.setdefault('extra_groups', [])
        kw.setdefault('cwd', self.tmp)
        return subprocess.Popen(argv, env=env, **kw)

    def start(self, argv, **kw):
        kw.setdefault('stdin', subprocess.PIPE)
        kw.setdefault('stdout', subprocess.PIPE)
        p = self.popen(argv, text=kw.pop('text', True), **kw)
        self.started.append(p)
        return p

    def run(self, argv, timeout=300, input=None, **kw):
        kw.setdefault('stdin', subprocess.PIPE if input is not None else subprocess.DEVNULL)
        p = self.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)
        self.started.append(p)
        try:
            out, err = p.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            raise subprocess.TimeoutExpired(' '.join(argv), timeout, out, err)
        return subprocess.CompletedProcess(argv, p.returncode, out, err)

    def check_said(self):
        for name in sorted(os.listdir(self.said)) if self.said else ():
            with open(os.path.join(self.said, name)) as f:
                raise AssertionError('sanitizer: ' + f.read()[:3000])

    def close(self, keep):
        for p in self.started:
            if p.poll() is None:
                p.kill()
            for f in (p.stdin, p.stdout, p.stderr):
                try:
                    if f:
                        f.close()
                except OSError:
                    pass
            p.wait()
        if not keep:
            shutil.rmtree(self.tmp, ignore_errors=True)
