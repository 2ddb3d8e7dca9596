# SPDX-License-Identifier: MIT
"""Debian's packaged kernel and its headers, unpacked under build/vm: nothing is installed on this machine."""
import os
import re
import shutil
import subprocess


class NotHad(Exception):
    pass


def output(argv, **kw):
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, **kw).stdout


def release(series):
    """The newest kernel of a series ('': the distribution's own), as its packages are called: 6.1.0-56-amd64."""
    meta = 'linux-image-%samd64' % (series + '-' if series else '')
    found = None
    for refresh in (False, True):
        if refresh and os.getuid() == 0:
            subprocess.run(['apt-get', 'update', '-qq'], stderr=subprocess.DEVNULL)
        found = re.search(r'Depends: linux-image-(\S+)', output(['apt-cache', 'depends', meta], stderr=subprocess.DEVNULL))
        if found:
            return found.group(1)
    raise NotHad('the package list has no ' + meta)


def packages(version):
    headers = 'linux-headers-' + version
    needs = re.findall(r'Depends: (linux-headers-\S+|linux-kbuild-\S+)', output(['apt-cache', 'depends', headers]))
    return ['linux-image-' + version, headers] + needs


def unpack(deb, into):
    name = os.path.basename(deb)
    if name.startswith('linux-image'):
        # The modules are 400 MB that nobody needs here.
        with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE) as tar:
            subprocess.run(['tar', 'x', '-C', into, '--wildcards', './boot/vmlinuz-*'], stdin=tar.stdout, check=True)
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


def kernel(folder, series=''):
    """(image, headers) of the newest kernel; what was unpacked before is used without asking anybody."""
    known = os.path.join(folder, 'release' + ('-' + series if series else ''))
    if not os.path.exists(known):
        os.makedirs(folder, exist_ok=True)
        version = release(series)
        fetch(version, os.path.join(folder, version))
        with open(known, 'w') as f:
            f.write(version)
    with open(known) as f:
        version = f.read()
    root = os.path.join(folder, version)
    return os.path.join(root, 'boot/vmlinuz-' + version), os.path.join(root, 'usr/src/linux-headers-' + version)
