# SPDX-License-Identifier: MIT
"""The table of `make bench`: every row is measured, and every script's count is exact."""
import os
import re


def test_rows(ctx):
    p = ctx.run([os.path.join(ctx.root, 'bench', 'run'), '--quick'], timeout=100)
    assert p.returncode == 0, p.stdout + p.stderr
    rows = re.findall(r'^injected +(\S.*?)  +(-?[\d.]+) +([\d.]+) +(\S+) *(.*)$', p.stdout, re.M)
    names = [r[0] for r in rows]
    assert {'empty', 'counting', 'return pair', 'trap path, counting'} <= set(names), p.stdout
    for name, over, call, rung, counted in rows:
        assert 0 < float(over) < float(call), (name, over, call)
        assert counted == ('' if name == 'empty' else 'every call'), (name, counted)
        assert ('trap' in rung) >= name.startswith('trap'), (name, rung)


test_rows.timeout = 110
