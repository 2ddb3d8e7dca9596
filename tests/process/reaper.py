# SPDX-License-Identifier: MIT
"""reaper.py SECONDS COMMAND...: kills COMMAND after that time (`-`: never), and tells how it and all that it leaves
behind end.

Prints one object: what they wrote, and their wait statuses in the order of their ends.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.alarm(300)
    p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if sys.argv[1] != '-':
        time.sleep(float(sys.argv[1]))
        p.send_signal(signal.SIGKILL)
    out, err = p.communicate()  # to the end of the last one that writes there
    ends = []
    while True:
        try:
            ends.append(os.waitstatus_to_exitcode(os.wait()[1]))
        except ChildProcessError:
            break
    print(json.dumps(dict(out=out, err=err, ends=ends)))


main()
