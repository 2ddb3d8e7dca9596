# SPDX-License-Identifier: MIT
"""What trapless and SystemTap say to a script: 'ok', or the pass that refuses it and the line of its first error."""
import concurrent.futures
import os
import re
import subprocess


def kernel_tree(folder, library=''):
    """As much of a kernel's build folder as stap wants to see; returns stap's words for it. `library`: all its tapset."""
    tree, tapset = os.path.join(folder, 'kernel'), os.path.join(folder, 'tapset')
    os.makedirs(os.path.join(tree, 'include', 'config'))
    os.makedirs(tapset)
    for name, text in (('include/config/kernel.release', '6.1.0\n'), ('.config', 'CONFIG_UPROBES=y\nCONFIG_UTRACE=y\n'),
                       ('Makefile', ''), ('Module.symvers', '')):
        with open(os.path.join(tree, name), 'w') as f:
            f.write(text)
    with open(os.path.join(tapset, 'library.stp'), 'w') as f:
        f.write(library)
    # without its own library each answer takes a tenth of the time
    return ['stap', '-r', tree], dict(os.environ, SYSTEMTAP_TAPSET=tapset, LC_ALL='C', SYSTEMTAP_DIR=os.path.join(folder, 'dir'))


def run(words, env, text, args):
    if text.startswith('-'):
        text = ' ' + text  # no option
    p = subprocess.run(['prlimit', '--cpu=20'] + words + ['-p2', '-e', text] + args, env=env, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, errors='replace')  # of a processor: however busy the machine is
    return p.returncode, p.stderr


def stap(asked, text, args=()):
    code, said = run(asked[0], asked[1], text, list(args))
    if code < 0:
        return 'none'
    if code == 0:
        return 'ok'
    # warnings, too, have places
    error = re.search(r'^(parse|semantic) error:', said, re.M)
    if not error:
        return 'none'
    at = re.search(r' at \S*?:(\d+):\d+', said[error.start():].split('\n\n')[0])
    return 'pass%d %s' % (1 if error.group(1) == 'parse' else 2, at.group(1) if at else '?')


def trapless(program, text, args=()):
    code, said = run([program, '-w'], dict(os.environ), text, list(args))
    if code == 0:
        return 'ok'
    error = re.search(r'^error\[(\w+)\].*?^ *--> [^\n]*?:(\d+):\d+$|^error\[(\w+)\]', said, re.M | re.S)
    if code != 1 or not error or 'panicked' in said:
        return 'none'
    tag, line = error.group(1) or error.group(3), error.group(2) or '?'
    first = re.match(r'LEX|PARSE|PP|MACRO|ARG_|PRINT_|FOREACH_SORT', tag) or tag in ('GLOBAL_INIT',)
    return 'pass%d %s %s' % (1 if first else 2, line, tag)


def agree(ours, theirs):
    """The same acceptance, and the same line where one is told."""
    o, t = ours.split(), theirs.split()
    return o[0] == t[0] == 'ok' or o[0] == t[0] and (o[1] == t[1] or '?' in (o[1], t[1]))


def both(asked, program, texts, workers=2):
    """(ours, theirs) for each."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda text: (trapless(program, text), stap(asked, text)), texts))
