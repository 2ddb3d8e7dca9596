# SPDX-License-Identifier: MIT
"""Debian's packaged kernel and its headers, unpacked under build/vm: nothing is installed on this machine."""
import contextlib
import fcntl
import glob
import lzma
import os
import re
import shutil
import subprocess


# Of a kernel's own modules, those that tests load: disks of memory and of a file, a file system, a network device.
MODULES = ('configfs', 'null_blk', 'crc16', 'crc32c_generic', 'mbcache', 'jbd2', 'ext4', 'dummy', 'loop')


class NotHad(Exception):
    pass


def series(words):
    """Which kernel is meant: K=6.12 among the words, which then have it no more, or in the environment."""
    for word in [w for w in words if w.startswith('K=')]:
        words.remove(word)
        os.environ['K'] = word[len('K='):]
    return os.environ.get('K', '')


def output(argv):
    """Of a question to the package list; nothing where that has no answer."""
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def newest(series):
    """Its image's package, without the name's first part: 6.1.0-56-amd64. None: the list has none."""
    if not series:
        found = re.search(r'Depends: linux-image-(\S+)', output(['apt-cache', 'depends', 'linux-image-amd64']))
        return found and found.group(1)
    number, _, flavour = series.partition('-')
    names = output(['apt-cache', 'pkgnames', 'linux-image-%s.' % number]).split()
    wanted = r'linux-image-(\d[\d.]*[-+][a-z]*[\d.]+%s-amd64)' % ('-' + flavour if flavour else '')
    found = [m.group(1) for m in (re.fullmatch(wanted, n) for n in names) if m]
    return max(found, key=lambda n: [int(d) for d in re.findall(r'\d+', n)], default=None)


def release(series):
    """The newest kernel of a series, 6.12 or with its flavour, 6.1-rt ('': the distribution's own)."""
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
        # All modules are 400 MB.
        names = ['./boot/vmlinuz-*'] + ['./lib/modules/*/%s.ko*' % m for m in MODULES]
        with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE) as tar:
            subprocess.run(['tar', 'x', '-C', into, '--wildcards'] + names, stdin=tar.stdout, check=True)
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
    with open(os.path.join(part, 'asked-for'), 'w') as f:
        f.write(' '.join(MODULES))
    shutil.rmtree(root, ignore_errors=True)
    os.rename(part, root)
    at_home(root, version)


@contextlib.contextmanager
def alone(folder):
    """Nobody else fetches or builds there meanwhile."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'lock'), 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def modules(root):
    """name -> file, of MODULES that were unpacked there."""
    found = glob.glob(os.path.join(root, 'lib/modules/**/*.ko*'), recursive=True)
    return {os.path.basename(f).partition('.')[0]: f for f in found}


def plain(path, folder):
    """A module's file for tools that read none that are packed."""
    if not path.endswith('.xz'):
        return path
    to = os.path.join(folder, os.path.basename(path)[:-len('.xz')])
    with lzma.open(path) as packed, open(to, 'wb') as f:
        shutil.copyfileobj(packed, f)
    return to


def text_of(path):
    try:
        with open(path) as f:
            return f.read()
    except FileNotFoundError:
        return ''


def known_release(folder, series):
    """(where it is noted, which one was unpacked before with all the modules that are asked for now)"""
    known = os.path.join(folder, 'release' + ('-' + series if series else ''))
    version = text_of(known)
    asked_for = text_of(os.path.join(folder, version, 'asked-for'))
    return known, version if asked_for == ' '.join(MODULES) else ''


def kernel(folder, series=''):
    """(image, headers) of the newest kernel; what was unpacked before is used without asking anybody."""
    with alone(folder):
        known, version = known_release(folder, series)
        if not version:
            version = release(series)
            fetch(version, os.path.join(folder, version))
            with open(known, 'w') as f:
                f.write(version)
    root = os.path.join(folder, version)
    return os.path.join(root, 'boot/vmlinuz-' + version), os.path.join(root, 'usr/src/linux-headers-' + version)


def fetch_busybox(root):
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


def busybox(folder):
    """A statically linked one, not installed either."""
    root = os.path.join(folder, 'busybox')
    path = os.path.join(root, 'bin/busybox')
    with alone(folder):
        if not os.path.exists(path):
            fetch_busybox(root)
    return path
