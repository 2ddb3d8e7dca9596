# SPDX-License-Identifier: MIT
"""Programs' own test suites, from the sources that Debian's packages were built from, run with the installed program."""
import glob
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

# A test with one of these tells how busy the machine is, too.
TIMED = re.compile(rb'time_?out|user_time_|watchdog|alarm|sleep|itimer|perf_counter|monotonic|clock\(|time\(\)')


class NotHad(Exception):
    pass


def output(argv, **kw):
    try:
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw).stdout
    except FileNotFoundError as e:
        raise NotHad('no ' + e.filename)


def apt_get(folder, *words):
    """With lists of its own: nothing of this machine's is changed, nor are sources among what it is set up for."""
    dirs = {'Dir::State::lists': 'lists', 'Dir::Cache': '.', 'Dir::Etc::sourcelist': 'list', 'Dir::Etc::sourceparts': '-'}
    options = [w for k, v in dirs.items() for w in ('-o', '%s=%s' % (k, v if v == '-' else os.path.join(folder, v)))]
    return output(['apt-get', '-qq'] + options + list(words), cwd=folder)


def lists(folder):
    """The package lists of the sources of Debian's main archive, wherever this machine has its packages from."""
    if os.path.exists(os.path.join(folder, 'list')):
        return
    targets = output(['apt-get', 'indextargets', '--format', 'deb-src $(SITE) $(RELEASE) $(COMPONENT)', 'Created-By: Packages'])
    main = sorted({t for t in targets.splitlines() if re.search('/debian/? ', t)})
    if not main:
        raise NotHad('no archive of Debian is set up')
    for d in ('lists/partial', 'archives/partial'):
        os.makedirs(os.path.join(folder, d), exist_ok=True)
    with open(os.path.join(folder, 'list'), 'w') as f:
        f.write('\n'.join(main) + '\n')
    said = apt_get(folder, 'update')
    if not glob.glob(os.path.join(folder, 'lists', '*Sources*')):
        os.remove(os.path.join(folder, 'list'))
        raise NotHad('apt-get update: ' + said.strip().replace('\n', '; '))


def fetch(root, package, parts):
    """The folder of those parts of a package's original source, which is what the installed program was built from."""
    version = output(['dpkg-query', '-W', '-f', '${source:Upstream-Version}', package])
    into = os.path.join(root, '%s-%s' % (package, version))
    if os.path.exists(into):
        return into, version
    lists(root)
    said = apt_get(root, 'source', '--download-only', package)
    found = glob.glob('%s/%s_%s.orig.tar.?z' % (root, package, version))
    if not found:
        raise NotHad('apt-get source %s (%s is installed): %s' % (package, version, said.strip().replace('\n', '; ')))
    part = into + '.part'
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    p = subprocess.run(['tar', 'xf', found[0], '-C', part, '--strip-components=1', '--no-same-owner', '--wildcards',
                        '--no-wildcards-match-slash'] + ['*/' + p for p in parts], stderr=subprocess.PIPE, text=True)
    assert os.path.exists(os.path.join(part, parts[0])), p.stderr  # not all of them have the others
    os.rename(part, into)
    return into, version


def timed(files):
    return any(TIMED.search(open(f, 'rb').read()) for f in files)


def scripts(folder):
    """The names of the shell scripts in it; what they include is none."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, 'rb') as f:
                if re.match(rb'#! ?/bin/sh\b', f.readline()):
                    yield name


class Scripts:
    """Shell scripts that call the program that was built again and again: here a script that runs the installed one."""

    def __init__(self, package, tests, built, cwd='.', have=()):
        self.package, self.parts, self.folder, self.built, self.cwd = package, [tests, 'init.cfg'], tests, built, cwd
        self.config = ''.join('#define HAVE_%s 1\n' % h for h in have)
        self.libc = False  # its 7,000 points would be armed for each call

    def names(self, source):
        return list(scripts(os.path.join(source, self.folder)))

    def files(self, source, name):
        return [os.path.join(source, self.folder, name)]

    def prepare(self, place):
        """What the scripts look for where the program was built."""
        built = os.path.join(place.build, self.built)
        for d in os.path.dirname(built), os.path.join(place.build, self.cwd):
            os.makedirs(d, exist_ok=True)
        with open(os.path.join(place.build, 'config.h'), 'w') as f:
            f.write(self.config)
        with open(built, 'w') as f:
            # Found as users find it, so that it calls itself the same in its messages.
            f.write('#!/bin/sh\n: >"$EVERY_HITS"/$$\nexport PATH=/usr/bin:/bin\nexec %s "$@"\n' % ' '.join(
                place.under('"$EVERY_HITS"/$$') + [os.path.basename(built)]))
        os.chmod(built, 0o755)

    def result(self, place, name):
        built = os.path.join(place.build, self.built)
        test = os.path.join(place.source, self.folder, name)
        env = dict(PATH=os.path.dirname(built) + ':/usr/bin:/bin', VERSION=place.version, SHELL='/bin/sh', CC='gcc', PERL='perl',
                   AWK='awk', GREP='grep', MAKE='make', PCRE_WORKS='1', LOCALE_FR='none', LOCALE_FR_UTF8='none', LOCALE_JA='none',
                   built_programs=os.path.basename(built), CONFIG_HEADER=os.path.join(place.build, 'config.h'),
                   srcdir=os.path.join(place.source, self.cwd), top_srcdir=place.source, abs_top_srcdir=place.source,
                   abs_srcdir=os.path.dirname(test), abs_top_builddir=place.build)
        status, out, err = place.run(name, ['sh', '-c', 'exec sh "$0" 9>&2', test], os.path.join(place.build, self.cwd), env)
        return {'status': status}, out + err


class Perl:
    """One process for each script of t/, which says `ok` many times."""
    package, parts, libc = 'perl', ['t'], True

    def names(self, source):
        return sorted(os.path.relpath(p, source) for d in ('base', 'cmd', 'comp', 'mro', 'op', 're', 'uni')
                      for p in glob.glob('%s/t/%s/*.t' % (source, d)))

    def files(self, source, name):
        return [os.path.join(source, name)]

    def prepare(self, place):
        """Its modules, which the scripts look for beside their folder."""
        lib = os.path.join(place.source, 'lib')
        if os.path.exists(lib):
            return
        where = output([place.program, '-e', 'print "$_\n" for grep m[^/usr/(lib|share)/.*perl(-base|/5[.\d]+)$], @INC']).split()
        shutil.rmtree(lib + '.part', ignore_errors=True)
        os.mkdir(lib + '.part')
        for d in where:
            subprocess.run(['cp', '-asn', d + '/.', lib + '.part'], check=True)
        os.rename(lib + '.part', lib)

    def result(self, place, name):
        status, out, err = place.run(name, place.under(place.hits_of(name) + '/0') + [place.program, os.path.join('..', name)],
                                     os.path.join(place.source, 't'), {})
        said = re.findall(rb'^((?:not )?ok \d+|1\.\.\d+|Bail out)', out, re.M)
        return dict({'status': status}, **{'line %d' % i: line for i, line in enumerate(said)}), out + err


class Python:
    """One process for each module of tests."""
    package, parts, libc = 'python3.11', ['Lib/test'], True

    def names(self, source):
        return sorted(os.path.splitext(os.path.basename(p))[0] for p in glob.glob(source + '/Lib/test/test_*'))

    def files(self, source, name):
        at = os.path.join(source, 'Lib/test', name)
        return glob.glob(at + '.py') + glob.glob(at + '/**/*.py', recursive=True)

    def prepare(self, place):
        os.makedirs(place.build, exist_ok=True)

    def result(self, place, name):
        report = os.path.join(place.build, name + '.xml')
        argv = place.under(place.hits_of(name) + '/0') + [place.program, '-m', 'test', '--junit-xml', report, name]
        status, out, err = place.run(name, argv, place.build, {'PYTHONPATH': os.path.join(place.source, 'Lib')})
        result = {'status': status}
        if os.path.exists(report):
            for case in xml.etree.ElementTree.parse(report).iter('testcase'):
                result[case.get('name')] = [case.get('status'), case.get('result')] + [child.tag for child in case]
        return result, out + err


# name: what programs.py calls the program
SUITES = {
    'grep': Scripts('grep', 'tests', 'src/grep', 'tests'),
    'sed': Scripts('sed', 'testsuite', 'sed/sed'),
    'gzip': Scripts('gzip', 'tests', 'gzip', 'tests'),
    'xz': Scripts('xz-utils', 'tests', 'src/xz/xz', 'tests', (
        'ENCODERS', 'DECODERS', 'CHECK_CRC64', 'CHECK_SHA256') + tuple('%s_%s' % (way, filter) for way in ('ENCODER', 'DECODER')
        for filter in 'LZMA1 LZMA2 DELTA X86 POWERPC IA64 ARM ARMTHUMB ARM64 SPARC'.split())),
    'perl': Perl(),
    'python3': Python(),
}
