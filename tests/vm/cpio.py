# SPDX-License-Identifier: MIT
"""An initial RAM disk: a cpio archive in the `newc` format, which the kernel unpacks."""
import stat


def entry(name, mode, data=b'', device=(0, 0)):
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, device[0], device[1], len(name) + 1, 0]
    head = b'070701' + b''.join(b'%08x' % f for f in fields) + name.encode() + b'\0'
    return pad(head) + pad(data)


def pad(data):
    return data + b'\0' * (-len(data) % 4)


def archive(files):
    """`files`: path in the disk -> path here. All are executable; /dev/console is there too."""
    out = entry('dev', stat.S_IFDIR | 0o755) + entry('dev/console', stat.S_IFCHR | 0o600, device=(5, 1))
    for folder in sorted({name.rpartition('/')[0] for name in files} - {''}):
        out += entry(folder, stat.S_IFDIR | 0o755)
    for name, path in files.items():
        with open(path, 'rb') as f:
            out += entry(name, stat.S_IFREG | 0o755, f.read())
    return out + entry('TRAILER!!!', 0)
