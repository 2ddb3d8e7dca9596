# SPDX-License-Identifier: MIT
"""C and C++ sources of Debian's archive that compilers take as they are, file by file."""
import concurrent.futures
import glob
import os
import subprocess

from suites import NotHad, apt_get, lists


class Source:
    def __init__(self, package, files, flags='', leave=(), cxx=False, main=()):
        self.package, self.patterns, self.flags, self.leave, self.cxx, self.main = package, files, flags.split(), leave, cxx, main

    def files(self, folder, program=False):
        found = sorted(f for p in self.patterns for f in glob.glob(os.path.join(folder, p)))
        leave = self.leave if program else self.leave + tuple(self.main)
        found = [f for f in found if not any(w in os.path.basename(f) for w in leave)]
        assert found, '%s: no sources' % self.package
        return found


LUA = Source('lua5.4', ['src/*.c'], '-DLUA_USE_POSIX -Dluai_makeseed(L)=1', ('luac.c',), main=('lua.c',))
JSON = Source('libjsoncpp', ['src/lib_json/*.cpp'], '-I{}/include -std=c++17', cxx=True)
ALL = [
    LUA,
    Source('mbedtls', ['library/*.c'], '-I{}/include -I{}/library'),
    Source('libzstd', ['lib/common/*.c', 'lib/compress/*.c', 'lib/decompress/*.c', 'lib/dictBuilder/*.c'], '-DZSTD_DISABLE_ASM'),
    Source('duktape', ['src/duktape.c'], '-I{}/src'),
    Source('re2', ['re2/*.cc', 'util/rune.cc', 'util/strutil.cc'], '-I{} -std=c++17', cxx=True),
    Source('leveldb', ['db/*.cc', 'table/*.cc', 'util/*.cc'],
           '-I{} -I{}/include -std=c++17 -DLEVELDB_PLATFORM_POSIX=1 -DHAVE_SNAPPY=0 -DHAVE_CRC32C=0 -DHAVE_O_CLOEXEC=1 '
           '-DHAVE_FDATASYNC=1 -DHAVE_FULLFSYNC=0', ('test', 'windows', 'leveldbutil'), cxx=True),
    JSON,
]


def fetched(root, source):
    """The folder of its original source."""
    into = os.path.join(root, source.package)
    if os.path.exists(into):
        return into
    lists(root)
    said = apt_get(root, 'source', '--download-only', source.package)
    found = [f for f in glob.glob(os.path.join(root, source.package + '_*.orig.tar.*')) if not f.endswith('.asc')]
    if not found:
        raise NotHad('apt-get source %s: %s' % (source.package, said.strip().replace('\n', '; ')))
    part = into + '.part'
    os.makedirs(part, exist_ok=True)
    subprocess.run(['tar', 'xf', found[0], '-C', part, '--strip-components=1', '--no-same-owner'], check=True)
    for place in ('port/port_config.h',):  # what leveldb's cmake would write: its defines are given as flags
        if os.path.isdir(os.path.join(part, os.path.dirname(place))):
            open(os.path.join(part, place), 'w').close()
    os.rename(part, into)
    return into


def compiler(family, cxx):
    return {'gcc': ('gcc', 'g++'), 'clang': ('clang', 'clang++')}[family][cxx]


def compiled(folder, source, family, options, out, more=(), program=False):
    """The objects, two compilers at a time, and what is linked of them."""
    cc = compiler(family, source.cxx)
    flags = [f.replace('{}', folder) for f in source.flags]
    os.makedirs(out)

    def one(n_file):
        n, file = n_file
        to = os.path.join(out, '%d-%s.o' % (n, os.path.basename(file)))
        p = subprocess.run([cc, '-c', '-w', '-fPIC', *options, *flags, file, '-o', to], stderr=subprocess.PIPE, text=True)
        assert p.returncode == 0, p.stderr[:2000]
        return to

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(one, enumerate(source.files(folder, program) + list(more))))
    to = os.path.join(out, source.package + ('' if program else '.so'))
    link = [] if program else ['-shared']
    subprocess.run([cc, *link, *objects, '-o', to, '-lm', '-lpthread', '-ldl'], check=True)
    return to
