# SPDX-License-Identifier: MIT
"""Other users may be kept out of the checkout, as in the home of root: then tests that run as one need a way to it."""
import os
import subprocess
import sys

from context import ROOT, USER


def parents(path):
    yield path
    while path != '/':
        path = os.path.dirname(path)
        yield path


def shut_folder():
    """The folder on the way to the checkout that keeps other users out, or None."""
    return next((way for way in parents(ROOT) if not os.stat(way).st_mode & 0o001), None)


# In a mount name space of its own, the folder OUTERMOST that is shut is covered by one that may be passed, and the checkout
# is where it was.
PASS = '''set -e
outermost=$1 root=$2 mounts=/run/trapless-tests
mkdir -p $mounts
mount -t tmpfs none $mounts
mkdir $mounts/upper $mounts/work $mounts/root
mount --bind "$root" $mounts/root
mount -t overlay -o "lowerdir=$outermost,upperdir=$mounts/upper,workdir=$mounts/work" none "$outermost"
way=$root
until [ "$way" = "$outermost" ]; do way=${way%/*}; chmod o+x "$way"; done
mount --move $mounts/root "$root"
cd "$root"
shift 2
exec "$@"
'''


def open_way():
    """Other users may not enter the checkout, as in the home of root: begin again where they may, which nobody else sees."""
    shut = [way for way in parents(ROOT) if not os.stat(way).st_mode & 0o001]
    if USER or not shut or shut[0] == ROOT:
        return
    words = ['unshare', '-m', 'sh', '-c', PASS, 'sh', shut[-1], ROOT]
    if subprocess.run(words + ['true'], capture_output=True).returncode == 0:
        os.execvp('unshare', words + [os.path.join(ROOT, 'tests', 'run')] + sys.argv[1:])
