# SPDX-License-Identifier: MIT
"""Raw results are kept in bench/runs/DATE-MACHINE/."""
import datetime
import json
import os
import platform
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def save(name, results):
    with open('/proc/cpuinfo') as f:
        cpu = re.search(r'^model name\s*: (.*)', f.read(), re.M)
    machine = re.sub(r'\W+', '-', cpu.group(1) if cpu else platform.machine()).strip('-').lower()
    folder = os.path.join(ROOT, 'bench', 'runs', '%s-%s' % (datetime.date.today().isoformat(), machine))
    os.makedirs(folder, exist_ok=True)
    facts = dict(cpu=cpu.group(1) if cpu else '', kernel=platform.release(), load=os.getloadavg(), **results)
    with open(os.path.join(folder, name + '.json'), 'w') as f:
        json.dump(facts, f, indent=1)
        f.write('\n')
    print('kept in ' + os.path.relpath(folder, ROOT))
