# SPDX-License-Identifier: MIT
"""Our examples for kernels, which tests/vm/examples runs, and what each must say there."""
import glob
import os

from example import HISTOGRAM, LIVE, Run

FOLDER = 'examples/kernel/'
RUNS = (
    Run(FOLDER + 'lock_waits.stp', r'^busy +[1-9][0-9]* +[1-9][0-9]*  [a-z_0-9]+$'),
    Run(FOLDER + 'slow_disk.stp', r'^nullb1 +write +0 +4096 +[1-9]', options=['-G', 'slow_us=100'], **LIVE),
    Run(FOLDER + 'dropped_packets.stp', r'^ +[1-9][0-9]*  [a-z][a-z_0-9]+ [0-9]+$'),
    Run(FOLDER + 'system_calls.stp', r'^ +[1-9][0-9]*  busy +[a-z]'),
    Run(FOLDER + 'hot_functions.stp', r'^ +[1-9][0-9]*  vfs_read$', r'^ +[1-9][0-9]*  vfs_write$', words=['vfs_*']),
    Run(FOLDER + 'new_processes.stp', r'^ +[1-9][0-9]*  busy +busybox +true of busy$', **LIVE),
    Run(FOLDER + 'signals.stp', r'^busy\([0-9]+\) +SIGKILL +busy\([1-9]', **LIVE),
    Run(FOLDER + 'flight_recorder.stp', r'^SIGABRT for busy\([0-9]+\)$', r'^cpu 0 \[ +[0-9]+\] .*\([0-9]+\) could go on, but [^ ]+\([0-9]+\)$',
        r'^cpu [0-9]+ \[ +[0-9]+\] busy\([0-9]+\) sleeps, then [^ ]+\([0-9]+\)$', options=['-G', 'keep=8'], **LIVE),
    Run(FOLDER + 'failed_opens.stp', r'^ +[1-9][0-9]*  busy +ENOENT +"/tmp/nothing"$'),
    Run(FOLDER + 'run_queue.stp', HISTOGRAM, r'^ +[1-9][0-9]*  busy$'),
    Run(FOLDER + 'page_faults.stp', r'^busy +[1-9][0-9]* +[0-9]+ +[1-9]'),
)


def untested(root):
    """Those that nobody runs."""
    there = {FOLDER + os.path.basename(f) for f in glob.glob(os.path.join(root, FOLDER, '*.stp'))}
    return there - {r.script for r in RUNS}
