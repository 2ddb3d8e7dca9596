# SPDX-License-Identifier: MIT
"""A session of LTTng-UST with daemons of its own, which end with it."""
import os
import shutil
import subprocess
import tempfile
import time

NOBODY = 65534
PATIENCE = 60  # seconds: for a daemon or a tool that does not answer


class NotHad(Exception):
    """Why there is no session here."""


def unprivileged():
    """The daemon of root is one for all of the machine: a session of ours is another user's."""
    return dict(user=NOBODY, group=NOBODY, extra_groups=[]) if os.getuid() == 0 else {}


class Session:
    """In snapshot mode: events go round in the memory of their processor, and nobody reads them meanwhile."""

    def __enter__(self):
        for tool in ('lttng', 'lttng-sessiond'):
            if not shutil.which(tool):
                raise NotHad('there is no %s (Debian: lttng-tools)' % tool)
        self.daemon = None
        self.home = tempfile.TemporaryDirectory()
        self.env = dict(os.environ, LTTNG_HOME=self.home.name, HOME=self.home.name, LTTNG_UST_REGISTER_TIMEOUT='-1')
        if os.getuid() == 0:
            os.chown(self.home.name, NOBODY, NOBODY)
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        self.daemon = subprocess.Popen(['lttng-sessiond', '--no-kernel'], env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **unprivileged())
        end = time.monotonic() + PATIENCE
        while not self.answers():
            if self.daemon.poll() is not None or time.monotonic() > end:
                raise NotHad('lttng-sessiond does not begin')
            time.sleep(0.1)
        self.tool('create', 'bench', '--snapshot')

    def answers(self):
        try:
            self.tool('list')
        except NotHad:
            return False
        return True

    def tool(self, *words):
        p = subprocess.run(['lttng', '--no-sessiond'] + list(words), env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, **unprivileged())
        if p.returncode:
            raise NotHad('lttng %s: %s' % (' '.join(words), p.stdout.strip()))

    def record(self, event, kilobytes):
        """For each processor so many, in four parts."""
        self.tool('enable-channel', '--userspace', 'all', '--num-subbuf=4', '--subbuf-size=%dK' % (kilobytes // 4))
        self.tool('enable-event', '--userspace', '--channel=all', event)
        self.tool('start')

    def program(self, path):
        """A copy of it, for where it lies may be closed to others; with pipes."""
        return subprocess.Popen([shutil.copy(path, self.home.name)], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **unprivileged())

    def recorded(self):
        """Bytes of what is in memory now."""
        self.tool('snapshot', 'record')
        return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(self.home.name) for name in names
                   if name.startswith('all_'))

    def __exit__(self, *_):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            self.daemon.wait(PATIENCE)
        self.home.cleanup()
        return False
