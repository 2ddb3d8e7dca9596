# SPDX-License-Identifier: MIT
"""Scripts that stand in source lines of a module and read its locals: by the debug information of tests/vm/module/lines.c,
which the module in the machine does not have."""
import os
import re

import debian
import machine
from suite import Test, lines

NAME = 'trapless_lines'
SOURCE = os.path.join(machine.HERE, 'module/lines.c')


def line(mark):
    with open(SOURCE) as f:
        return next(n for n, text in enumerate(f, 1) if '/* %s */' % mark in text)


def at(function, mark):
    return 'module("%s").statement("%s@lines.c:%d")' % (NAME, function, line(mark))


def furnish(vm):
    """The module in the machine; its file with the debug information."""
    vm.files.update(machine.modules(vm.headers, vm.folder, NAME))
    return os.path.join(machine.OUT, 'kmod', vm.release, 'tests', NAME + '.ko')


def run(tap):
    """One call of the module's work."""
    return 'insmod /%s.ko; trapless-run %s.tap -c "sh -c \'echo 1 >/sys/module/%s/parameters/work\'"; echo "status $?"; rmmod %s' % (NAME, tap, NAME, NAME)


MODULE = 'module("%s")' % NAME
LOCALS = 'probe %s { println($i, " ", $sum, " ", $item->size, " ", $item->kind, " ", kernel_string($item->name), " ", $count, " ", $first->size, " ", @cast($item, "struct item")->size) }' % at('sum_of', 'added')
TEXTS = 'probe %s { if ($i) { println($$parms); println($$locals); println($item$) } }' % at('sum_of', 'added')
# A line of a function that stands twice in another one.
COPIES = 'global from probe %s { println($twice, " ", $value); from[addr()]++ } probe end { foreach (a in from+) println(symname(a), " ", from[a]) }' \
         % at('doubled', 'doubled')
INLINE = 'global n probe %s.function("doubled").inline { n++ } probe %s.function("doubled")? { n += 10 } probe end { println(n) }' % (MODULE, MODULE)
BY_FILE = 'probe %s.function("lines_weight@lines.c") { println($size, " ", $times) } probe %s.function("*_weight@tests/lines.c").return { println($return) } ' \
          'probe %s.function("*@lines.c:%d").call { println(probefunc()) }' % (MODULE, MODULE, MODULE, line('added'))
RELATIVE = 'probe %s.statement("lines_weight@lines.c+%d") { println($weight, " ", $times) }' % (MODULE, line('weighed') - line('weight'))
EXPORTED = 'probe %s.function("*").exported { println(probefunc()) }' % MODULE


def address(vm):
    """The instruction of a line by its address: it is the only one of that kind in the function."""
    code = debian.output(['objdump', '-d', '--no-show-raw-insn', '--disassemble=sum_of', vm.files[NAME + '.ko']])
    [at] = re.findall(r'^ *([0-9a-f]+):\tnop *$', code, re.M)
    return 'probe %s.statement(0x%s) { println($sum, " ", $i) }' % (MODULE, at)


def texts(out):
    """What is not there any more is `?`."""
    wanted = r'first=(\?|0x[0-9a-f]+) count=0x2', r'item=0x[0-9a-f]+ i=0x1 sum=0xd5', r'\{\.size=50, \.kind=7, \.name=\[\.\.\.\]\}', 'status 0'
    return len(out) == 4 and all(map(re.fullmatch, wanted, out)) or 'said %r' % (out,)


TESTS = (
    Test('locals_at_a_source_line', run('locals'), lines('0 12 3 -2 one 2 3 3', '1 213 50 7 two 2 3 50', 'status 0'), locals=LOCALS),
    Test('texts_of_locals', run('texts'), texts, texts=TEXTS),
    Test('a_line_of_inlined_copies', run('copies'), lines('6 3', '12 6', '100 50', '200 100', 'lines_weight 2', 'lines_weight 2', 'status 0'), copies=COPIES),
    Test('inlined_copies', run('inline'), lines('44', 'status 0'), inline=INLINE),
    Test('functions_by_file_and_line', run('by_file'), lines('sum_of', '3 0', '12', '50 1', '201', 'status 0'), by_file=BY_FILE),
    Test('a_line_of_a_function_by_its_distance', run('relative'), lines('6 0', '100 1', 'status 0'), relative=RELATIVE),
    Test('exported_functions', run('exported'), lines('lines_weight', 'lines_weight', 'status 0'), exported=EXPORTED),
    Test('locals_at_an_address', run('by_address'), lines('12 0', '213 1', 'status 0'), by_address=address),
)
