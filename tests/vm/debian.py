# SPDX-License-Identifier: MIT
"""Debian's packaged kernel and its headers, unpacked under build/vm: nothing is installed on this machine."""
import contextlib
import fcntl
import glob
import os
import re
import shutil
import subprocess


# Of an image's 4,000 modules those that tests need: the rest is 400 MB.
MODULES = ('drivers/block/loop', 'drivers/block/nbd', 'drivers/net/dummy')


class NotHad(Exception):
    pass


def output(argv):
    """Of a question to the package list; nothing where that has no answer."""
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def newest(series):
    """Its image's package, without the name's first part: 6.1.0-56-amd64. None: the list has none."""
    if not series:
        found = re.search(r'Depends: linux-image-(\S+)', output(['apt-cache', 'depends', 'linux-image-amd64']))
        return found and found.group(1)
    names = output(['apt-cache', 'pkgnames', 'linux-image-%s.' % series]).split()
    found = [n[len('linux-image-'):] for n in names if re.fullmatch(r'linux-image-[0-9.]+[-+~0-9a-z]*-amd64', n)
             and not re.search('cloud|rt-', n)]
    return max(found, key=lambda n: [int(d) for d in re.findall(r'\d+', n)], default=None)


def release(series):
    """The newest kernel of a series ('': the distribution's own)."""
    for refresh in (False, True):
        if refresh and os.getuid() == 0:
            subprocess.run(['apt-get', 'update', '-qq'], stderr=subprocess.DEVNULL)
        found = newest(series)
        if found:
            return found
    raise NotHad('the package list has no kernel ' + series)


def packages(version):
    headers = 'linux-headers-' + version
    needs = re.findall(r'Depends: (linux-headers-\S+|linux-kbuild-\S+)', output(['apt-cache', 'depends', headers]))
    return ['linux-image-' + version, headers] + needs


def unpack(deb, into):
    name = os.path.basename(deb)
    if name.startswith('linux-image'):
        wanted = ['./boot/vmlinuz-*'] + ['./lib/modules/*/kernel/%s.ko*' % m for m in MODULES]
        with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE) as tar:
            subprocess.run(['tar', 'x', '-C', into, '--wildcards'] + wanted, stdin=tar.stdout, check=True)
    else:
        subprocess.run(['dpkg-deb', '-x', deb, into], check=True)
    os.remove(deb)


def at_home(root, version):
    """The headers' makefile includes the common one by its place in an installed system."""
    makefile = os.path.join(root, 'usr/src/linux-headers-' + version, 'Makefile')
    with open(makefile) as f:
        text = f.read()
    with open(makefile, 'w') as f:
        f.write(text.replace('include /usr/src/', 'include %s/usr/src/' % root))


def fetch(version, root):
    part = root + '.part'
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    got = subprocess.run(['apt-get', 'download', '-qq'] + packages(version), cwd=part, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    debs = [os.path.join(part, d) for d in os.listdir(part) if d.endswith('.deb')]
    if got.returncode or not debs:
        raise NotHad('apt-get download: ' + got.stdout.strip().replace('\n', '; '))
    for deb in debs:
        unpack(deb, part)
    shutil.rmtree(root, ignore_errors=True)
    os.rename(part, root)
    at_home(root, version)


def is_whole(root, version):
    """Nothing is missing that an earlier state of this file did not ask for."""
    return all(module(root, version, m) for m in MODULES)


def module(root, version, name):
    """Where it is: as the package has it, packed or not."""
    found = glob.glob(os.path.join(root, 'lib/modules', version, 'kernel', name + '.ko*'))
    return found[0] if found else None


def known_release(known, folder):
    """None: nothing is there yet."""
    if not os.path.exists(known):
        return None
    with open(known) as f:
        version = f.read()
    return version if is_whole(os.path.join(folder, version), version) else None


@contextlib.contextmanager
def alone(folder):
    """Nobody else fetches or builds there meanwhile."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'lock'), 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kernel(folder, series=''):
    """(image, headers) of the newest kernel; what was unpacked before is used without asking anybody."""
    known = os.path.join(folder, 'release' + ('-' + series if series else ''))
    with alone(folder):
        version = known_release(known, folder)
        if not version:
            version = release(series)
            fetch(version, os.path.join(folder, version))
            with open(known, 'w') as f:
                f.write(version)
    root = os.path.join(folder, version)
    return os.path.join(root, 'boot/vmlinuz-' + version), os.path.join(root, 'usr/src/linux-headers-' + version)


def busybox(folder):
    """A statically linked one, not installed either."""
    root = os.path.join(folder, 'busybox')
    path = os.path.join(root, 'bin/busybox')
    if not os.path.exists(path):
        part = root + '.part'
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(part)
        got = subprocess.run(['apt-get', 'download', '-qq', 'busybox-static'], cwd=part, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        debs = [os.path.join(part, d) for d in os.listdir(part) if d.endswith('.deb')]
        if got.returncode or not debs:
            raise NotHad('apt-get download: ' + got.stdout.strip().replace('\n', '; '))
        subprocess.run(['dpkg-deb', '-x', debs[0], part], check=True)
        os.rename(part, root)
    return path
