# SPDX-License-Identifier: MIT
"""Debian's packaged kernel in QEMU, with trapless.ko, trapless-run and busybox in its RAM disk, and a script to run."""
import os
import re
import shutil
import signal
import subprocess
import sys

import cpio
import debian

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(ROOT, 'build', 'vm')
BOOT_TIMEOUT = 600 # some 20 on a machine that has nothing else to do
# Two processors in turns. At once, QEMU 7.2 may keep its translation of code that the other one changed just then (seen:
# the new bytes in memory, and no hits until the same bytes were written once more), which no real processor does.
ACCEL = 'tcg,thread=single'
PROCESSOR = 'max'
# One on which no function of a kernel returns by itself: each jumps to a thunk.
RETURNS_BY_THUNK = 'max,family=23,model=49'
# Before the name of what the lines behind it are of; alone: of the end, where the kernel's log is.
MARK = '%%%%'
# No line of a healthy run has any of these.
TROUBLE = re.compile(r'BUG:|WARNING:|Oops|Call Trace|general protection|unable to handle|Kernel panic|rcu: INFO|stall')
# no_timer_check: on a busy machine the emulated timer comes too late for the kernel's own test of it, and that is a panic.
COMMAND_LINE = 'console=ttyS0 loglevel=7 printk.time=0 printk.devkmsg=on panic=-1 random.trust_cpu=on no_timer_check'
INIT = '''#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /etc /tmp
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
echo 0 >/proc/sys/kernel/kptr_restrict
echo 'root:x:0:0::/:/bin/sh
nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
insmod /trapless.ko
. /script
dmesg | grep -v 'loading out-of-tree\\|module verification\\|Speculative Return'
poweroff -f
'''


class Failed(Exception):
    pass


def tool(argv, **kw):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)
    if p.returncode:
        raise Failed('%s: status %d\n%s' % (' '.join(argv), p.returncode, p.stdout[-3000:]))


def qemu(image, disk, arguments, processor=PROCESSOR, serial='stdio', processors=2, more=()):
    """Its command."""
    return ['nice', 'qemu-system-x86_64', '-accel', ACCEL, '-cpu', processor, '-smp', str(processors), '-m', '512', '-display', 'none',
            '-nodefaults', '-no-reboot', '-serial', serial, '-kernel', image, '-initrd', disk, '-append', arguments, *more]


def boot(image, disk, arguments=COMMAND_LINE, processor=PROCESSOR, processors=2, more=()):
    """Lines of the console, without their ends. `more`: words for QEMU."""
    argv = qemu(image, disk, arguments, processor, processors=processors, more=more)
    try:
        p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BOOT_TIMEOUT)
        out = p.stdout
    except subprocess.TimeoutExpired as e:
        print((e.stdout or b'').decode(errors='replace')[-2000:], flush=True)
        os.kill(os.getpid(), signal.SIGALRM)  # out of time
    return out.decode(errors='replace').splitlines()


def kmod(headers, folder='kmod', *settings):
    """trapless.ko for that kernel is built; where. Not by two at once."""
    out = os.path.join(OUT, folder, os.path.basename(headers)[len('linux-headers-'):])
    with debian.alone(OUT):
        tool(['make', '-s', '-C', ROOT, '-f', 'kmod/kmod.mk', 'kmod', 'KMOD_OUT=' + out, 'KDIR=' + headers] + list(settings))
    return out


def release_of(image):
    return os.path.basename(image)[len('vmlinuz-'):]


def folder_of(image):
    """What a program makes for its machines lies here: several run at once."""
    folder = os.path.join(OUT, '%s-%s' % (os.path.basename(sys.argv[0]), release_of(image)))
    os.makedirs(folder, exist_ok=True)
    return folder


def stripped(ko, folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, os.path.basename(ko))
    tool(['strip', '--strip-debug', '-o', path, ko])
    return path


def modules(headers, folder, *names):
    """trapless.ko and those of tests/vm/module are built: RAM disk's files by name."""
    tree = kmod(headers)
    module = os.path.join(tree, 'tests')
    os.makedirs(module, exist_ok=True)
    with debian.alone(OUT):
        tool(['cp', '-rsf', HERE + '/module/.', module])
        tool(['make', '-s', '-C', headers, 'M=' + module, 'TRAPLESS=' + tree,
              'KBUILD_EXTRA_SYMBOLS=%s/Module.symvers' % tree, 'CONFIG_DEBUG_INFO_BTF_MODULES=', 'modules'])
    built = [tree + '/trapless.ko'] + ['%s/%s.ko' % (module, name) for name in names]
    return {os.path.basename(ko): stripped(ko, folder) for ko in built}


def said(console):
    """name -> lines behind its mark"""
    found, name = {}, None
    for line in console:
        if line.startswith(MARK):
            name = line[len(MARK):].strip()
            found[name] = []
        elif name is not None:
            found[name].append(line)
    return found


def trouble(told):
    """The first line of the kernel's log that no healthy run has, or None."""
    log = told.get('', ['WARNING: the machine did not come to its end'])
    return next((line for line in log if TROUBLE.search(line)), None)


def report(name, why):
    """A test's line; is it bad?"""
    print('not ok %s: %s' % (name, why) if why else 'ok ' + name)
    return bool(why)


class Machine:
    """`files`: what lies in its RAM disk, by path there; `folder`: where to make more of them."""

    def __enter__(self):
        os.makedirs(OUT, exist_ok=True)
        self.image, self.headers = debian.kernel(OUT, os.environ.get('K', ''))
        self.root = os.path.dirname(os.path.dirname(self.image))
        self.known = self.root # where scripts' compiler finds the kernel's files
        self.release = release_of(self.image)
        self.folder = folder_of(self.image)
        self.files = {'bin/busybox': debian.busybox(OUT), 'bin/trapless-run': os.path.join(ROOT, 'bin/trapless-run')}
        self.files['trapless.ko'] = stripped(kmod(self.headers) + '/trapless.ko', self.folder)
        for name in ('ktext', 'work'):
            self.program(name)
        return self

    def __exit__(self, *_):
        return False

    def program(self, name):
        path = os.path.join(self.folder, name)
        tool(['gcc', '-std=gnu11', '-O2', '-Wall', '-Wextra', '-Werror', '-static', '-o', path, os.path.join(HERE, name + '.c')])
        self.files['bin/' + name] = path

    def with_modules(self, *kos):
        """From now on scripts are compiled for a kernel that has these modules, too: a folder of links to its files."""
        known = os.path.join(self.folder, 'kernel')
        shutil.rmtree(known, ignore_errors=True)
        modules = os.path.join(known, 'lib/modules', self.release)
        os.makedirs(modules)
        os.symlink(os.path.join(self.root, 'boot'), os.path.join(known, 'boot'))
        for file in list(debian.modules(self.root).values()) + list(kos):
            os.symlink(file, os.path.join(modules, os.path.basename(file)))
        self.known = known

    def compile(self, name, *script):
        """Its module, made on the host, in the RAM disk."""
        tool([os.path.join(ROOT, 'bin/trapless'), '-p4', '-m', name, '-r', self.known, '-a', 'x86_64']
             + list(script), cwd=self.folder)
        self.files[name + '.tap'] = os.path.join(self.folder, name + '.tap')

    def text(self, name, text):
        path = os.path.join(self.folder, 'text-' + name)
        with open(path, 'w') as f:
            f.write(text)
        self.files[name] = path

    def disk(self, script):
        """The RAM disk of a machine that runs the script."""
        self.text('init', INIT)
        self.text('script', script)
        disk = os.path.join(self.folder, 'disk.cpio')
        with open(disk, 'wb') as f:
            f.write(cpio.archive(self.files))
        return disk

    def run(self, script, arguments='', processors=2, more=()):
        """What its console said: name -> lines."""
        arguments = '%s %s' % (COMMAND_LINE.replace('loglevel=7', 'loglevel=1'), arguments)
        console = boot(self.image, self.disk(script), arguments, RETURNS_BY_THUNK, processors, more)
        with open(os.path.join(self.folder, 'console'), 'w') as f:
            f.write('\n'.join(console) + '\n')
        return said([line.rstrip('\r') for line in console])
