# SPDX-License-Identifier: MIT
"""Code that its program copies elsewhere and runs there, as V8 does with its builtins, is left alone."""
import scripted

TOLD = 'runs the copy, where a probe\'s jump would lead astray'


def test_copied_code_is_left_out(ctx):
    path = ctx.target('copied')
    bare = ctx.run([path])
    assert bare.returncode == 0 and bare.stdout == '21 2\n', bare
    script = 'global n probe process.function("*").call, process.function("*").return? { n++ } probe end { println(n > 2) }'
    r = scripted.launch(ctx, script, path)
    assert r.returncode == 0 and r.stdout == '21 2\n' and r.script == '1\n', r
    assert '`Builtins_Triple` is not probed: ' in r.stderr and TOLD in r.stderr, r.stderr


def test_by_name_or_address_it_is_refused(ctx):
    path = ctx.target('copied')
    nm = ctx.run(['nm', path]).stdout.split('\n')
    at = next(line.split()[0] for line in nm if line.endswith(' Builtins_Triple'))
    for point in 'function("Builtins_Triple")', 'function("Builtins_Triple").return', 'statement(0x%s)' % at:
        r = scripted.launch(ctx, 'probe process.%s { println(1) }' % point, path)
        assert r.returncode == 1 and TOLD in r.stderr and not r.stdout, (point, r)


test_by_name_or_address_it_is_refused.once = 'nothing is probed'
