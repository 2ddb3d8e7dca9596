#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/systemtap-examples.md from the examples of the package systemtap-doc: theirs.py [TRAPLESS]

Each script goes through -p1, then through -p4 over a program, with the arguments that its .meta file tells; those that
are not of programs, through -p4 for Debian's kernel (-r). What stops it is told by the first error; an error that says
"kernel" goes before others, which often follow from it."""
import collections
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, 'docs', 'systemtap-examples.md')
sys.path.insert(0, os.path.join(ROOT, 'tests', 'vm'))
import debian  # noqa: E402
import their_examples  # noqa: E402

EXAMPLES = '/usr/share/systemtap/examples'
HEAD = '''<!-- SPDX-License-Identifier: MIT -->
<!-- Made by tests/examples/theirs.py from the package systemtap-doc; tests/examples/test\\_theirs.py holds it against the
     compiler, where that package is installed. -->
# SystemTap's own examples

The scripts in `%s` of SystemTap %s, as they are, with the arguments that their `.meta`
files tell (`-x PID` is a program that is started). `-p1` parses, `-p4` makes the module that a session loads.

Of %d scripts %d pass `-p1`, and %d pass `-p4`: %d for a program, %d for a kernel (Debian's 6.1, by `-r` and its packaged
files alone). Of those and of the others that a kernel can take, %d run there, and what they say is held against what
they must (tests/vm/examples). %d need something of a kernel that is not built yet, %d probe
what this one does not have. %d wait for something that trapless does not have yet, %d for a program, library, module or debug information that the
machine that made this page does not have, %d have a reason of their own.

| script | `-p1` | `-p4` | in a kernel | what stops it |
|---|---|---|---|---|
'''
IN_KERNEL, KERNEL, OTHER, LATER, MACHINE, OWN = 'in a kernel', 'kernel', 'other kernels', 'not yet', 'missing here', 'no'
# Of the module's header, as wire.h has it: TL_TAP_KERNEL in flags.
FLAGS_AT, FOR_KERNEL = 28, 1 << 3
# Tag and pattern of the message, in the order of their weight.
KINDS = [
    ('POINT_KERNEL', '', KERNEL),
    ('CTX_VAR_UNKNOWN', 'a system call has no', KERNEL),  # a parameter of the kernel's function
    ('MODULE_BUILD', '', KERNEL),  # embedded C with the kernel's headers
    ('POINT_NO_MATCH', 'of the kernel matches', OTHER),
    ('POINT_NO_MATCH', 'the kernel has no module', MACHINE),
    ('NOT_BUILT|MACRO_UNKNOWN', '', LATER),
    ('PROGRAM_UNKNOWN|DEBUGINFO_NONE|FUNCTION_NOT_EXPORTED|LIBRARY_UNKNOWN|TYPE_UNKNOWN', '', MACHINE),
    ('', '', OWN),
]
# Why a script is stopped by something of its own.
REASONS = {
    'process/futexes2.stp': 'kernels since 5.5 keep a number there',
    'apps/gmalloc_watch.stp': "the alias is glib's: its own package has it (`-I`)",
    'security-band-aids/security-bandaid-template.stp': 'a template to be filled in; stap refuses it, too',
}
# Scripts without a .meta file, or whose arguments there are computed.
WORDS = {
    'general/pyexample.stp': 'python3',
    'profiling/graphcall.stp': '/bin/true main',
    'memory/hw_watch_addr.stp': '0xffffffff82000000',
    'process/threadstacks.stp': '-G size=65536',
    'memory/last_100_frees.stp': '',
}
Error = collections.namedtuple('Error', 'tag message file line')
Row = collections.namedtuple('Row', 'script parsed built kind error')


def meta_words(path):
    """What follows `stap` in the check that the authors run."""
    name = os.path.relpath(path, EXAMPLES)
    if name in WORDS:
        return shlex.split(WORDS[name])
    try:
        text = open(os.path.splitext(path)[0] + '.meta', errors='replace').read()
    except OSError:
        return []
    found = [w for w in re.findall(r'^test_check:.*?\bstap (.*)', text, re.M) if '--bpf' not in w]
    return shlex.split(found[0]) if found else []


def command(path):
    """Options and arguments of trapless, PATH among them."""
    words, options, given, run = meta_words(path), ['-w'], [], ['/bin/true']
    while words:
        w = words.pop(0)
        if w == os.path.basename(path) or w in ('--all-modules', '--dyninst', '--ldd'):
            continue
        if re.fullmatch('-g?w?p[1-4]', w):
            options += ['-g'] * ('g' in w)
        elif w in ('-x', '-c', '-d'):
            value = words.pop(0)
            run = [value] if w == '-c' and shutil.which(shlex.split(value)[0]) else run
        elif w == '-G':
            options += [w, words.pop(0)]
        elif w == '-w':
            continue
        elif w == '-g' or w[:2] in ('-I', '-G'):
            options.append(w)
        else:
            given.append('1' if w == '$$' else w)
    return options + ['-c', run[0], path] + given


def errors(text):
    found = re.findall(r'^error\[(\w+)\]: (.*)\n +--> (.*?):(\d+):\d+$', text, re.M)
    # The C compiler's words have the place within.
    found += [(m[0], m[3], m[1], m[2])
              for m in re.findall(r'^error\[(MODULE_BUILD)\]: .*?: (\S+?):(\d+):\d+: (.*)$', text, re.M)]
    return [Error(*m) for m in found]


def weight(e):
    return next(n for n, (tags, pattern, _) in enumerate(KINDS)
                if re.fullmatch(tags or '.*', e.tag) and re.search(pattern, e.message))


def kernel():
    """The folder of a kernel's files."""
    image, _ = debian.kernel(os.path.join(ROOT, 'build', 'vm'))
    return os.path.dirname(os.path.dirname(image))


def is_for_kernel(module):
    with open(module, 'rb') as f:
        return bool(struct.unpack_from('<I', f.read(FLAGS_AT + 4), FLAGS_AT)[0] & FOR_KERNEL)


def row(trapless, path, folder):
    def run(n, *more):
        argv = [trapless, '-p%d' % n, '-m', 'theirs', *more] + command(path)
        return subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors='replace', timeout=300)
    script = os.path.relpath(path, EXAMPLES)
    os.makedirs(folder, exist_ok=True)
    shutil.copytree(os.path.join(EXAMPLES, 'stapgames', 'tapset'), os.path.join(folder, 'tapset'))
    parsed = run(1)
    built = run(4) if parsed.returncode == 0 else parsed
    if built.returncode == 0 and not is_for_kernel(os.path.join(folder, 'theirs.tap')):
        return Row(script, True, True, 'yes', None)
    if parsed.returncode == 0:
        there = run(4, '-r', kernel(), '-a', 'x86_64')
        if there.returncode == 0:
            return Row(script, True, True, IN_KERNEL, None)
        # Of the two what has to do with a kernel tells more.
        told = errors(built.stderr)
        of_kernel = not told or any(e.tag == 'POINT_KERNEL' or 'of the kernel' in e.message for e in told)
        built = there if of_kernel else built
    found = errors(built.stderr)
    assert found, '%s is refused without an error that has a place: %s' % (script, built.stderr)
    first = min(found, key=weight)
    return Row(script, parsed.returncode == 0, False, KINDS[weight(first)][2], first)


def rows(trapless, folder):
    paths = sorted(glob.glob(os.path.join(EXAMPLES, '**', '*.stp'), recursive=True))
    # The games' own tapset is no script.
    paths = [p for p in paths if '/tapset/' not in p]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda n: row(trapless, paths[n], os.path.join(folder, str(n))), range(len(paths))))


def quoted(path, line):
    """The line of a script, for a table."""
    try:
        text = open(path, errors='replace').read().splitlines()[line - 1].strip()
    except (OSError, IndexError):
        return ''
    text = text if len(text) <= 60 else text[:57] + '...'
    return ' `` %s ``' % text.replace('|', '\\|')


def cell(r):
    if not r.error:
        return ''
    e = r.error
    where = 'line %s' % e.line
    line = quoted(e.file, int(e.line))
    if '<' in e.file:
        where, line = 'a macro', ''
    # Neither PATH nor build-ids are the script's matter.
    message = re.sub(r': looked for it in .*| in (/[^:]*:)+[^:]*$| \(build-id \w+\)| \(/[^)]*\)$', '', e.message).replace('|', '\\|')
    reason = REASONS.get(r.script)
    return '%s:%s `%s`: %s%s' % (where, line, e.tag, message, ' (%s)' % reason if reason else '')


def version():
    p = subprocess.run(['dpkg-query', '-W', '-f', '${Version}', 'systemtap-doc'], capture_output=True, text=True)
    return p.stdout.partition('-')[0] or '?'


def in_kernel(script):
    """Whether it is run there, by tests/vm/examples."""
    return 'runs' if script in {r.script for r in their_examples.RUNS} else their_examples.NOT_RUN.get(script, '')


def page(found):
    def count(kind):
        return sum(r.kind == kind for r in found)
    built = sum(r.built for r in found)
    text = HEAD % (EXAMPLES, version(), len(found), sum(r.parsed for r in found), built, count('yes'), count(IN_KERNEL), len(their_examples.RUNS), count(KERNEL), count(OTHER),
                   count(LATER), count(MACHINE), count(OWN))
    for r in found:
        name = r.script.replace('_', '\\_')
        text += '| %s | %s | %s | %s | %s |\n' % (name, 'yes' if r.parsed else 'no', r.kind, in_kernel(r.script), cell(r))
    return text


def main():
    trapless = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, 'bin', 'trapless')
    with tempfile.TemporaryDirectory() as folder:
        text = page(rows(trapless, folder))
    open(PAGE, 'w').write(text)


if __name__ == '__main__':
    main()
