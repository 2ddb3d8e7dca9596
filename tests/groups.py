# SPDX-License-Identifier: MIT
"""The groups of tests: what there is, and how one of them is run. See tests/run."""
import importlib.util
import inspect
import os
import re
import signal
import subprocess
import sys
import traceback
import types
import zlib

import plan
from context import BUILD, ROOT, USER, VARIANTS, Context, Skip
from tally import Clock
from way import shut_folder

# All of an end-to-end test's runs.
PAIR = ('opt', 'traps')
ALL = PAIR + ('nobody', 'nobody-traps')
EACH = dict(process=ALL, front=PAIR, examples=PAIR, scripts=PAIR)
# Those a test is for by its nature.
ONLY = dict(root_only=PAIR, user_only=('nobody', 'nobody-traps'), jumps_only=('opt', 'nobody'), traps_only=('traps', 'nobody-traps'),
            once=('opt',))
# Where an ordinary user runs the tests, those of an ordinary user need not run again as one.
TWICE = {'nobody': 'opt', 'nobody-traps': 'traps'}
# Always run with the sanitized runner.
SANITIZED = re.compile('test_output_is_exact|test_count_eight|test_leaves_nothing|test_refuse.py|test_damaged')
# Of those groups all with --long, and what the runner asks the engine about files.
SANITIZED_OF = dict(scripts='', process='', examples='', front='test_coverage.py')
HALF_AN_HOUR = 1800


def run_bounded(argv, seconds, **kw):
    """(output, status, in time). What it started ends with it where it runs out of time."""
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0, **kw)
    in_time = True
    try:
        out, _ = p.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        in_time = False
        os.killpg(p.pid, signal.SIGKILL)
        out, _ = p.communicate()
    except BaseException:
        os.killpg(p.pid, signal.SIGKILL)
        raise
    # SIGALRM: a program's own guard against hanging; 142 where a shell says so.
    return out.decode(errors='replace'), p.returncode, in_time and p.returncode not in (-signal.SIGALRM, 128 + signal.SIGALRM)


def judged(out):
    """(word, test, why) of each `ok` line, and what follows the last of them."""
    seen, notes = [], []
    for line in out.splitlines():
        m = re.match(r'(ok|not ok|skip) ([^:]+)(?:: (.*))?$', line)
        if m:
            why = '\n'.join([m.group(3) or '', *notes])[-4000:] if m.group(1) == 'not ok' else m.group(3)
            seen.append((m.group(1), m.group(2), why))
            notes = []
        else:
            notes.append(line)
    return seen


def lines_of(words, seconds, tally):
    """Run one program that prints `ok` lines."""
    name, clock = ' '.join(words), Clock()
    try:
        out, status, in_time = run_bounded([os.path.join(ROOT, words[0])] + words[1:], seconds, cwd=ROOT)
    except OSError as e:
        return tally.fail(name, str(e), name)
    seen = judged(out)
    failed = any(word == 'not ok' for word, _, _ in seen)
    if not in_time and not failed:
        return tally.out_of_time(name, 'time-out after %d s\n%s' % (seconds, out[-2000:]), name)
    for word, test, why in seen:
        test = '%s %s' % (words[0], test)
        if word == 'ok':
            tally.ok()
        elif word == 'skip':
            tally.skip(test, why or 'no reason given')
        else:
            tally.fail(test, why, name)
    if not seen or (status != 0 and not failed):
        tally.fail(name, 'ended with %s%s\n%s' % (status, '' if seen else ', no test reported', out[-2000:]), name)
    notes = re.findall(r'^# .*$', out, re.M) if tally.verbose else ()
    tally.note(''.join(n + '\n' for n in notes) + '# %s: %d tests (%s)' % (name, len(seen), clock))


def cargo(seconds, tally):
    cmd = ['cargo', 'test', '-q', '--no-fail-fast', '--color', 'never', '--workspace']
    again = ' '.join(cmd)
    out, status, in_time = run_bounded(cmd, seconds, cwd=ROOT)
    results = re.findall(r'^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored', out, re.M)
    bad = sum(int(failed) for _, failed, _ in results)
    if not in_time and not bad:
        return tally.out_of_time('cargo', 'time-out after %d s\n%s' % (seconds, out[-2000:]), again)
    for passed, _, ignored in results:
        tally.ok(int(passed))
        for _ in range(int(ignored)):
            tally.skip('cargo', 'ignored: run with `cargo test -- --ignored`')
    names = list(dict.fromkeys(re.findall(r'^---- (\S+) stdout ----', out, re.M)))
    for name in names:
        why = re.search(r'^---- %s stdout ----\n(.*?)(?=^---- |^failures:)' % re.escape(name), out, re.M | re.S)
        tally.fail('cargo ' + name, (why.group(1) if why else '').strip()[-1500:], again)
    if status and (not names or bad > len(names)):
        tally.fail('cargo', out[-3000:], again)


def check_variant(ctx, variant, roots):
    if USER and roots:
        ctx.skip('needs root: ' + roots)
    if ctx.user is not None and not USER and (shut := shut_folder()):
        ctx.skip('other users may not enter %s, and no other way can be mounted' % shut)
    if variant == 'clang' and not os.path.exists(ctx.bin('trapless-run')):
        ctx.skip('make unit-tests builds the runner by clang')


def out_of_time(_sig, _frame):
    raise subprocess.TimeoutExpired('the whole test', python_test.seconds)


def python_test(fn, item, variant, has_long, roots, args, tally):
    again = 'tests/run%s -k %r %s' % (' --long' if args.long else '', item.name, item.group)
    ctx, clock = Context(variant, item.long, has_long), Clock()
    seed = lambda: '' if ctx.drawn is None else 'SEED=%d ' % ctx.drawn
    python_test.seconds = getattr(fn, 'timeout', None)
    if python_test.seconds is None:
        python_test.seconds = plan.patience(item, args.weights)
    try:
        check_variant(ctx, variant, roots)
        signal.signal(signal.SIGALRM, out_of_time)
        signal.alarm(python_test.seconds)
        fn(ctx)
        ctx.check_said()
        tally.ok()
        tally.note('ok %s (%s%s)' % (item.name, seed(), clock))
    except Skip as e:
        tally.skip(item.name, str(e))
    except subprocess.TimeoutExpired as e:
        said = '\n'.join(str(text)[-1500:] for text in (e.output, e.stderr) if text)
        tally.out_of_time(item.name, traceback.format_exc(limit=-3).strip() + '\n' + said, seed() + again)
    except Exception:  # whatever a test raises is its failure
        tally.fail(item.name, traceback.format_exc(limit=-3).strip(), seed() + again)
    finally:
        signal.alarm(0)
        ctx.close(args.keep)


def variants_of(fn, module, each):
    """Those that the test names, the others of EACH, and what keeps it from some of them."""
    kept = {mark: getattr(fn, mark, None) or getattr(module, mark, None) for mark in ONLY}
    kept = {mark: why for mark, why in kept.items() if why}
    fit = [v for v in VARIANTS if all(v in ONLY[mark] for mark in kept)]
    chosen = getattr(fn, 'variants', fit[:1])
    if set(chosen) - set(fit):
        raise ValueError('%s is run as %s, but marked %s' % (fn.__name__, chosen, kept))
    others = [v for v in each if v in fit and v not in chosen]
    if USER:
        both = {*chosen, *others}
        chosen, others = ([v for v in some if TWICE.get(v) not in both] for some in (chosen, others))
    return tuple(chosen), tuple(others), kept


def in_short(variant, chosen, fn):
    """Of the four `make check` takes one: of each third test, by its name, the last of those that it names; else the first."""
    of_four = [v for v in chosen if v in ALL]
    if variant not in of_four or getattr(fn, 'together', False):
        return True
    return variant == of_four[0 if zlib.crc32(fn.__name__.encode()) % 3 else -1]


def names_in(code):
    """What the code and that of functions within refers to."""
    inner = [names_in(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*inner)


def functions_of(thing):
    if inspect.isclass(thing):
        return [f for f in vars(thing).values() if inspect.isfunction(f)]
    return [thing] if inspect.isfunction(thing) else []


def has_long_form(fn, module, seen=None):
    """Whether it, or what it calls of its file, reads ctx.long."""
    seen = set() if seen is None else seen
    seen.add(fn)
    names = names_in(fn.__code__)
    called = (f for n in names for f in functions_of(getattr(module, n, None)) if f.__module__ == module.__name__)
    return 'long' in names or any(has_long_form(f, module, seen) for f in called if f not in seen)


def files(group):
    """The group's test files: name -> folder. A name is there once, whichever folder below the group's has it."""
    where = {}
    for folder, _, names in os.walk(os.path.join(ROOT, 'tests', group)):
        for name in (n for n in names if re.match(r'test_\w+\.py$', n)):
            if name in where:
                raise ValueError('%s is in %s and in %s: tests are told by their file names' % (name, where[name], folder))
            where[name] = folder
    return where


def load(group, file, where):
    """As a module that finds those of its group by name."""
    for folder in sorted({os.path.join(ROOT, 'tests', group), *where.values()}):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    name = '%s_%s' % (group, file[:-3])
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, os.path.join(where[file], file))
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def functions(group, wanted):
    """(file, module, name, function) of each test. `wanted`: names, or None for all; other files are not loaded."""
    where = files(group)
    for file in sorted(where):
        if wanted is not None and not any(w.startswith('%s/%s:' % (group, file)) for w in wanted):
            continue
        module = load(group, file, where)
        for name, fn in inspect.getmembers(module, inspect.isfunction):
            if name.startswith('test_') and fn.__module__ == module.__name__:
                yield file, module, name, fn


def python_item(group, file, module, name, fn, variant, args, **kw):
    has_long = has_long_form(fn, module)
    full = '%s/%s:%s[%s]' % (file[0], file[1], name, variant)
    item = plan.Item(group, full, file[1], None, bundle=full.split('[')[0] if getattr(fn, 'together', False) else None, **kw)
    roots = next(filter(None, (getattr(of, mark, None) for mark in ('root_only', 'by_root') for of in (fn, module))), None)
    item.go = lambda tally: python_test(fn, item, variant, has_long, roots, args, tally)
    return item


def python_tests(group, args, wanted, kept):
    for file, module, name, fn in functions(group, wanted):
        chosen, others, why = variants_of(fn, module, EACH.get(group, ()) if args.long else ())
        for mark in why.items() if args.long else ():
            kept.setdefault(mark, []).append('%s/%s:%s' % (group, file, name))
        only_long = getattr(fn, 'long', False)
        if only_long and not args.long:
            continue
        has_long = only_long or args.long and has_long_form(fn, module)
        for variant in chosen:
            more = not in_short(variant, chosen, fn)
            if args.long or not more:
                yield python_item(group, (group, file), module, name, fn, variant, args, long=has_long, more=has_long or more)
        for variant in others:
            yield python_item(group, (group, file), module, name, fn, variant, args, more=True)


def sanitized(args, wanted, _kept):
    """Tests of other groups, in their short form."""
    for group, word in SANITIZED_OF.items():
        for file, module, name, fn in functions(group, wanted):
            always = SANITIZED.search('%s:%s' % (file, name))
            if getattr(fn, 'long', False) or 'opt' not in variants_of(fn, module, ())[0] or word not in file:
                continue
            if always or args.long:
                yield python_item('sanitized', (group, file), module, name, fn, 'sanitized', args, more=not always)


def check_sanitized(tally):
    """Whether there are sanitizers in the runner."""
    runner = VARIANTS['sanitized']['env']['TRAPLESS_RUN']
    p = subprocess.run([runner, '--help'], env=dict(os.environ, ASAN_OPTIONS='help=1'), capture_output=True, text=True)
    if 'flags for AddressSanitizer' in p.stdout + p.stderr:
        return True
    tally.fail('sanitized', 'no sanitizer in ' + runner, 'make unit-tests')
    return False


def program(group, words, args, least=0, **kw):
    item = plan.Item(group, ' '.join(words), words[0], None, **kw)
    item.go = lambda tally: lines_of(words, plan.patience(item, args.weights, least), tally)
    return item


def unit_programs(args, _wanted, _kept):
    """Programs that `make` lists in build/unit-tests: one command a line."""
    names = os.path.join(BUILD, 'unit-tests')
    if not os.path.exists(names):
        item = plan.Item('unit', 'build/unit-tests', 'build/unit-tests', None)
        item.go = lambda tally: tally.fail(item.name, 'it names the C programs, and is not built', 'make unit-tests')
        yield item
        return
    with open(names) as f:
        for line in f:
            when, words = re.match(r'((?:long|short):)?(.*)', line).groups()
            if words.strip() and when != ('short:' if args.long else 'long:'):
                yield program('unit', words.split(), args, more=when == 'long:')


def rust_tests(args, _wanted, _kept):
    item = plan.Item('cargo', 'cargo', 'cargo', None)
    item.go = lambda tally: cargo(plan.patience(item, args.weights, HALF_AN_HOUR), tally)  # it may compile first
    yield item


OTHER_KERNELS = ('6.12', '6.1-rt')
OF_A_KERNEL = ('tests/vm/host', 'tests/vm/scripts', 'tests/vm/run', 'tests/vm/overhead', 'tests/vm/citizen')
# Of the last one, each step and for long: minutes each.
PARTS_OF_CITIZEN = ('killed', 'starved', 'loads', 'arming')


def machine(args, _wanted, _kept):
    """The kernel home: what the host makes of a kernel's files; the engine and scripts, in machines of their own. In the long
    form of other kernels, too: all of one in one shard, which fetches its packages. No machine knows who started it: where
    an ordinary user runs all groups, what takes long is left to root's run, and to `make check-vm`."""
    whole = args.group or os.geteuid() == 0
    for name in OF_A_KERNEL if whole or args.long else OF_A_KERNEL[:2]:
        yield program('vm', [name], args, HALF_AN_HOUR, more=not whole and name not in OF_A_KERNEL[:2])
    for series in OTHER_KERNELS if args.long else ():
        for name in OF_A_KERNEL:
            yield program('vm', [name, 'K=' + series], args, HALF_AN_HOUR, more=True, bundle='vm K=' + series)
    for part in PARTS_OF_CITIZEN if args.long else ():
        yield program('vm', ['tests/vm/citizen', '--long', part], args, HALF_AN_HOUR, more=True)
    yield program('vm', ['tests/vm/install'], args, HALF_AN_HOUR)
    if whole or args.long:  # all of SystemTap's examples take some minutes
        yield program('vm', ['tests/vm/examples'] + ([] if args.long else ['--short']), args, HALF_AN_HOUR, more=args.long)


def of(group):
    return lambda args, wanted, kept: python_tests(group, args, wanted, kept)


GROUPS = {
    'unit': unit_programs,
    'cargo': rust_tests,
    'scripts': of('scripts'),
    'process': of('process'),
    'front': of('front'),
    'examples': of('examples'),
    'every': of('every'),
    'vm': machine,
    'sanitized': sanitized,
}


def collect(names, args, wanted, kept):
    """The items of those groups; `wanted`: of those names, or all."""
    items = (i for g in names for i in GROUPS[g](args, wanted, kept))
    return [i for i in items if (wanted is None or i.name in wanted) and (not args.k or args.k in i.name)]
