# SPDX-License-Identifier: MIT
"""What came of tests, and what they took."""
import resource
import textwrap
import time

REASON = 1500  # its last characters are said again at the end, which is what is kept of a long log


class Clock:
    """How long something takes, and how much of that processors work for it."""

    def __init__(self):
        self.begun, self.used = time.monotonic(), self.processors()

    @staticmethod
    def processors():
        both = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        return sum(u.ru_utime + u.ru_stime for u in both)

    def taken(self):
        return time.monotonic() - self.begun, self.processors() - self.used

    def __str__(self):
        return '%.1f s, %.1f s of processor' % self.taken()


class Tally:
    """`last_try`: who runs out of time now has failed; before, it is run once more, alone, after all others."""

    def __init__(self, verbose, last_try=False):
        self.verbose, self.last_try = verbose, last_try
        self.passed = self.failed = self.skipped = 0
        self.bad, self.unfinished, self.late, self.took = [], [], [], {}

    def ok(self, number=1):
        self.passed += number

    def fail(self, name, why, again):
        self.failed += 1
        self.bad.append((name, why.rstrip()[-REASON:].lstrip(), again))
        print('not ok %s: %s' % (name, why), flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print('skip %s: %s' % (name, why), flush=True)

    def out_of_time(self, name, why, again):
        if self.last_try:
            return self.fail(name, why, again)
        self.unfinished.append(name)
        print('# %s: %s\n# %s is run again, alone, after all others' % (name, why, name), flush=True)

    def note(self, text):
        if self.verbose:
            print(text, flush=True)

    def run(self, item):
        passed, failed, clock = self.passed, self.failed, Clock()
        item.go(self)
        self.took[item.key] = clock.taken()
        if self.last_try and self.passed > passed and self.failed == failed:
            self.late.append(item.name)
            print('late %s' % item.name, flush=True)

    def report(self):
        """For another process."""
        return {k: getattr(self, k) for k in ('passed', 'failed', 'skipped', 'bad', 'unfinished', 'late', 'took')}

    def add(self, report):
        for key, value in report.items():
            if isinstance(value, dict):
                self.took.update(value)
            else:
                setattr(self, key, getattr(self, key) + value)

    def slowest(self, n):
        rows = sorted(self.took.items(), key=lambda row: -row[1][0])[:n]
        for name, (wall, used) in rows:
            print('# %7.1f s, %7.1f s of processor: %s' % (wall, used, name))

    def close(self):
        """What is said last."""
        if self.bad:
            print('\nfailures:')
            for name, why, again in self.bad:
                print('  %s\n%s\n      again: %s' % (name, textwrap.indent(why, '      '), again))
        print('# %d late' % len(self.late))
        print('%d passed, %d failed, %d skipped' % (self.passed, self.failed, self.skipped))
