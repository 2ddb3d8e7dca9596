# SPDX-License-Identifier: MIT
"""A trapless.ko whose allocations fail when failing.ko is told so: built of the sources as they are, with tests/vm/module/failing.h
in front of those that allocate."""
import glob
import os
import re

import debian
import machine

HEADER = os.path.join(machine.HERE, 'module/failing.h')


def allocating():
    """Objects of those that know the kernel, and ask it for something that can fail."""
    names = '|'.join(re.findall(r'^#define (\w+)\(', debian.text_of(HEADER), re.M))
    for folder in ('kmod', 'engine/os/kernel'):
        for path in sorted(glob.glob(os.path.join(machine.ROOT, folder, '*.c'))):
            if re.search(r'\b(%s)\(' % names, debian.text_of(path)):
                yield os.path.relpath(path, machine.ROOT)[:-1] + 'o'


def bring(vm):
    """It, as failing/trapless.ko, and failing.ko, which has to be loaded first."""
    vm.files.update(machine.modules(vm.headers, vm.folder, 'failing'))
    known = os.path.join(machine.kmod(vm.headers), 'tests/Module.symvers')
    tree = machine.kmod(vm.headers, 'kmod-failing', 'KBUILD_EXTRA_SYMBOLS=' + known,
                        *('CFLAGS_%s=-include %s' % (o, HEADER) for o in allocating()))
    vm.files['failing/trapless.ko'] = machine.stripped(tree + '/trapless.ko', os.path.join(vm.folder, 'failing'))
