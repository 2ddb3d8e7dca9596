# SPDX-License-Identifier: MIT
"""A script that tests/vm/examples runs in a kernel."""
import os


class Run:
    """`says`: patterns (what grep -E and Python read alike) that only real data satisfies. `words`: its arguments, where those
    of its .meta fit nothing that is there; `options` of the compiler; `runner`: of trapless-run. `live`: it speaks before it ends.
    `files`: of the script, where it speaks, too; `typed`: its standard input. `status`: of trapless-run, which is that of its program."""
    def __init__(self, script, *says, words=None, options=(), runner=(), live=False, files=(), typed='', status=0):
        self.script, self.says, self.words, self.options = script, says, words, options
        self.runner, self.live, self.files, self.typed, self.status = runner, live, files, typed, status
        self.name = os.path.basename(script)[:-len('.stp')].replace('-', '_').replace('.', '_')


HISTOGRAM = r'^ *[0-9]+ \|@+ +[1-9]'
LIVE = dict(live=True)


def started(*kinds):
    return '-c', 'busy ' + ' '.join(kinds)
