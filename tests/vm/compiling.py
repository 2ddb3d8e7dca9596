# SPDX-License-Identifier: MIT
"""What the virtual machine of examples has: the work that goes on there, and the examples as module files."""
import concurrent.futures
import os

import debian
import machine
import theirs


def furnish(vm):
    """What tests/vm/watch.sh needs."""
    vm.program('busy')
    vm.files['watch.sh'] = os.path.join(machine.HERE, 'watch.sh')
    vm.files.update({m + '.ko': f for m, f in debian.modules(vm.root).items()})


def words_of(run):
    """What follows the options of the host's side."""
    ours = run.script.startswith('examples/')
    path = os.path.join(machine.ROOT if ours else theirs.EXAMPLES, run.script)
    words = [path] if ours else theirs.command(path)
    if '-c' in words:  # of a test without a kernel
        at = words.index('-c')
        del words[at:at + 2]
    if run.words is not None:
        words[words.index(path):] = [path] + list(run.words)
    return list(run.options) + words


def compile_one(run, release, folder):
    """Why it could not be."""
    argv = [os.path.join(machine.ROOT, 'bin/trapless'), '-p4', '-m', run.name, '-r', release, '-a', 'x86_64',
            '-I', os.path.join(theirs.EXAMPLES, 'stapgames/tapset')]
    try:
        machine.tool(argv + words_of(run), cwd=folder)
    except machine.Failed as e:
        return str(e)
    return None


def compile_all(runs, vm):
    """script -> why it could not be; the modules of the others are in the machine."""
    folder = os.path.join(vm.folder, 'examples')
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        why = pool.map(lambda r: compile_one(r, vm.root, folder), runs)
        failed = {run.script: text for run, text in zip(runs, why) if text}
    for run in runs:
        if run.script not in failed:
            vm.files[run.name + '.tap'] = os.path.join(folder, run.name + '.tap')
    return failed
