# SPDX-License-Identifier: MIT
"""Proof by running: programs' own test suites have the same results, test by test, with entry and returns of every
function probed at once, by jumps and by breakpoints.

Takes a few tests of each suite, as many as fit in its time. EVERY_SECONDS=N gives each N seconds (0: all tests until they
are done), EVERY_PROGRAMS=a,b chooses programs, SEED=N other tests.
"""
import concurrent.futures
import glob
import os
import shutil
import time

from programs import Work
from suites import SUITES, NotHad, fetch, timed
from support_every import ENDLESS, WHOLE, Session, TooMuch, chosen, find, run_watched, seconds

SECONDS = 20
FEW = 12  # tests of each suite, in a run that has an end
BRIEF = 3  # seconds of a test without us, likewise
MOST_RUNS = 100  # of the program in a test, likewise
LONG = 90  # seconds of processor of a program with probes, likewise
MOST_TRAPS = 200000, 20000000  # hits of a test that is run by breakpoints too: in such a run, and in a whole one


def whole():
    return seconds(SECONDS) == WHOLE


class Place:
    """Where a suite runs, and what it runs its program under."""

    def __init__(self, session, suite, source, how, tap=None, env=None):
        self.session, self.program, (self.source, self.version) = session, session.work.path, source
        self.how, self.tap, self.env = how, tap, env or {}
        self.build, self.hits = (os.path.join(session.ctx.tmp, suite.package, how, d) for d in ('build', 'hits'))
        os.makedirs(self.build)
        suite.prepare(self)

    def under(self, hits):
        """The words before the program's own; `hits` is the file that its run writes."""
        return [self.session.ctx.bin('trapless-run'), '-w', '-o', hits, self.tap, '--'] if self.tap else []

    def hits_of(self, name):
        return os.path.join(self.hits, name.replace('/', '-'))

    def run(self, name, argv, cwd, env):
        env = dict(self.session.environment(), TMPDIR=self.build, EVERY_HITS=self.hits_of(name), **env, **self.env)
        os.makedirs(env['EVERY_HITS'], exist_ok=True)
        try:
            return run_watched(argv, endless=LONG if self.tap and not whole() else ENDLESS, cwd=cwd, env=env)
        except TooMuch as e:
            return 'too much', b'', str(e).encode()
        except AssertionError as e:
            return 'endless', b'', str(e).encode()

    def take_hits(self, name):
        """Those of a test's runs of the program: (runs, hits)."""
        files = glob.glob(self.hits_of(name) + '/*')
        numbers = [int(line) for f in files for line in open(f)]
        shutil.rmtree(self.hits_of(name), ignore_errors=True)  # what a test left may still write
        return len(files), sum(numbers)


class Proof:
    """A suite without probes, by jumps and by breakpoints."""

    def __init__(self, ctx, name):
        self.name, self.suite, self.whole, self.dice = name, SUITES[name], whole(), ctx.dice(name)
        folder = os.path.join(ctx.tmp, name)
        os.mkdir(folder)
        work = Work(name, folder)
        if work.path is None:
            raise NotHad('not installed')
        self.source = fetch(os.path.join(ctx.root, 'build', 'suites'), self.suite.package, self.suite.parts)
        session = Session(ctx, work)
        if not self.suite.libc and not self.whole:
            work.files.remove(find('libc.so.6'))
        tap = session.at_functions(session.all_functions())[0].write()
        self.bare = Place(session, self.suite, self.source, 'bare')
        self.probed = [Place(session, self.suite, self.source, 'jumps', tap),
                       Place(session, self.suite, self.source, 'traps', tap, {'TRAPLESS_TRAPS_ONLY': '1'})]
        self.begun, self.differ, self.unsteady, self.much = time.monotonic(), [], [], []
        self.done = {place: [] for place in self.probed}

    def over(self):
        return time.monotonic() - self.begun > seconds(SECONDS)

    def unlike(self, place, name, want):
        """What a test says otherwise under probes, though it says the same each time without."""
        got, text = self.suite.result(place, name)
        if got == want:
            return None
        if got['status'] == 'too much' and not self.whole:
            self.much.append(name)
            return None
        if any(self.suite.result(self.bare, name)[0] != want for _ in range(3)):
            self.unsteady.append(name)
            return None
        which = [k for k in sorted(want.keys() | got.keys()) if want.get(k) != got.get(k)]
        return '%s: %d of %d results differ: %s\n%s' % (name, len(which), len(want), '; '.join(
            '%s: %s, without probes %s' % (k, got.get(k), want.get(k)) for k in which[:5]), text[-1500:].decode(errors='replace'))

    def test(self, name):
        if self.over():
            return
        begun = time.monotonic()
        want, _ = self.suite.result(self.bare, name)
        runs, _ = self.bare.take_hits(name)
        if not self.whole and (time.monotonic() - begun > BRIEF or runs > MOST_RUNS):
            return
        for place in self.probed:
            differs = self.unlike(place, name, want)
            if differs:
                self.differ.append('%s, %s' % (place.how, differs))
            runs, hits = place.take_hits(name)
            self.done[place].append((want['status'] == 0, len(want), runs, hits))
            if hits > MOST_TRAPS[self.whole] or self.over():
                return

    def run(self):
        """The number of hits."""
        source, _ = self.source
        names = [n for n in self.suite.names(source) if self.whole or not timed(self.suite.files(source, n))]
        self.dice.shuffle(names)
        names = names if self.whole else names[:FEW]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.test, names))
        for place in self.probed:
            done = [sum(numbers) for numbers in zip(*self.done[place])] or [0] * 4
            print('# %s %s: %d of %d tests (%d pass), %d results, %d runs, %d hits' % (
                self.name, place.how, len(self.done[place]), len(names), *done), flush=True)
        if self.unsteady:
            print('# %s: not always the same without probes: %s' % (self.name, ' '.join(self.unsteady)), flush=True)
        if self.much:
            print('# %s: not compared, more than %d s of processor: %s' % (self.name, LONG, ' '.join(self.much)), flush=True)
        return sum(hits for place in self.probed for _, _, _, hits in self.done[place])


def test_suites(ctx):
    failures, missing, hits = [], [], 0
    for name in (n for n in chosen(SUITES) if n in SUITES):
        try:
            proof = Proof(ctx, name)
            hits += proof.run()
            failures += ['%s by %s' % (name, d) for d in proof.differ]
        except NotHad as e:
            missing.append('%s: %s' % (name, e))
    assert not failures, '\n'.join(failures)
    assert hits > 1000 or missing, hits
    if missing:
        ctx.skip('; '.join(missing))


test_suites.long = True
test_suites.timeout = 0  # each run is watched
