# SPDX-License-Identifier: MIT
"""Figures for others: the libraries prometheus and json, upon procfs("name").read."""
import json
import re
import time

from context import wait_until
from test_procfs import LAST, Session, shell


def test_prometheus(ctx):
    s = Session(ctx, r'''global a, b, c
        probe begin { a["x\"y\\", 3] = 5; a["line\nend", -1] = 6; b[1] = 2; c["w", 2] <<< 7; c["w", 2] <<< 8 }
        function twice(x) { return x * 2 }
        probe prometheus {
            @prometheus_dump_array2(a, "count", "name", "n")
            @prometheus_dump_array1_map(b, "b", "k", twice, twice)
            @prometheus_dump_array1_map_unquoted(b, "c", "k", sprint, sprint)
            @prometheus_dump_array2_map(c, "d", "k", "l", @count, sprint, sprint)
        }''' + LAST)
    assert sorted(s.files) == ['__prometheus', 'last'], 'no file of another library'
    want = 'count{name="x\\"y\\\\",n="3"} 5\ncount{name="line\\nend",n="-1"} 6\nb{k="2"} 4\nc{k=1} 2\nd{k="w",l="2"} 2\n'
    for _ in range(2):
        assert sorted(shell(ctx, 'cat ' + s.files['__prometheus']).splitlines()) == sorted(want.splitlines())
    s.end()


def test_several_probes_of_one_file(ctx):
    s = Session(ctx, '''global a, b, got probe begin { a["x"] = 1; b[2] = 3 }
        probe prometheus { @prometheus_dump_array1(a, "a", "k") }
        probe prometheus { @prometheus_dump_array1(b, "b", "k") }
        probe procfs("in").write.maxsize(2) { got = $value }
        probe procfs("in").write { print(got, $value) }''' + LAST)
    assert shell(ctx, 'cat %s; echo four >%s' % (s.files['__prometheus'], s.files['in'])) == 'a{k="x"} 1\nb{k="2"} 3\n'
    assert s.end() == 'four\nfour\n'


def test_prometheus_of_every_size(ctx):
    sizes = range(1, 9)

    def keys(n, form):
        return ', '.join(form % k for k in range(1, n + 1))
    s = Session(ctx, 'global %s probe begin { %s } probe prometheus { %s }' % (
        ', '.join('a%d' % n for n in sizes),
        '; '.join('a%d[%s] = %d' % (n, keys(n, '%d'), n * 10) for n in sizes),
        '\n'.join('''@prometheus_dump_array{n}(a{n}, "a{n}", {labels})
            @prometheus_dump_array{n}_map(a{n}, "b{n}", {labels}, sprint, {sprint})
            @prometheus_dump_array{n}_map_unquoted(a{n}, "c{n}", {labels}, sprint, {sprint})'''.format(
            n=n, labels=keys(n, '"l%d"'), sprint=', '.join(['sprint'] * n)) for n in sizes)) + LAST)
    lines = shell(ctx, 'cat ' + s.files['__prometheus']).splitlines()
    quoted, bare = ([','.join(form % (k, k) for k in range(1, n + 1)) for n in sizes] for form in ('l%d="%d"', 'l%d=%d'))
    assert lines == [line for n in sizes for line in ('a%d{%s} %d0' % (n, quoted[n - 1], n), 'b%d{%s} %d0' % (n, quoted[n - 1], n),
                                                      'c%d{%s} %d0' % (n, bare[n - 1], n))]
    s.end()


def test_json(ctx):
    s = Session(ctx, r'''
        probe begin {
            json_set_prefix("pre")
            json_add_array("net", "Network \"data\"")
            json_add_array_numeric_metric("net", "count", "packets", "count")
            json_add_array_string_metric("net", "who", "")
            json_add_string_metric("name", "")
            json_add_numeric_metric("time", "a number", "ms")
            try { json_add_array("net", "") } catch (e) { println(e) }
            try { json_add_array_string_metric("time", "x", "") } catch (e) { println(e) }
        }
        probe json_data {
            @json_output_data_start
            @json_output_numeric_value("time", -5)
            for (i = 0; i < 2; i++) {
                @json_output_array_numeric_value("net", sprintf("eth%d", i), "count", i)
                @json_output_array_string_value("net", sprintf("eth%d", i), "who", "a\"\\\n\001ü")
            }
            @json_output_string_value("name", "xy")
            try { @json_output_string_value("nam", "xy") } catch (e) { println(e) }
            try { @json_output_numeric_value("name", 1) } catch (e) { println(e) }
            try { @json_output_array_numeric_value("net", "eth0", "count", 9) } catch (e) { println(e) }
            @json_output_data_end
        }''' + LAST)
    for _ in range(2):
        assert json.loads(shell(ctx, 'cat ' + s.files['data.json'])) == {
            'time': -5, 'name': 'xy', 'net': [{'__id': 'eth%d' % i, 'count': i, 'who': 'a"\\\n\x01ü'} for i in range(2)]}
    array = [{'name': 'count', 'pointer': '/count', 'type': 'integer', 'description': 'packets', 'units': 'count'},
             {'name': 'who', 'pointer': '/who', 'type': 'string'}]
    assert json.loads(shell(ctx, 'cat ' + s.files['metadata.json'])) == {'prefix': 'pre', 'metrics': [
        {'name': 'net', 'pointer': '/net', 'type': 'array', 'description': 'Network "data"', 'index': '/__id', 'metrics': array},
        {'name': 'name', 'pointer': '/name', 'type': 'string'},
        {'name': 'time', 'pointer': '/time', 'type': 'integer', 'description': 'a number', 'units': 'ms'}]}
    assert s.end() == '''json: metric 'net' is there already
json: 'time' is no array; add it first
''' + '''json: there is no metric 'nam' of type string; add it first
json: there is no metric 'name' of type integer; add it first
json: values of 'eth0' in array 'net' must follow each other
''' * 2


def test_switches_of_what_mends(ctx):
    """The library livepatch: files that switch, a pause that ends by itself, figures, and what is printed of all that."""
    s = Session(ctx, '''probe timer.ms(50) if (cve_enabled_p && cve_fix_p) { cve_count_metric("mended") }
        probe timer.ms(50) if (cve_trace_p) { cve_record_metric("traced", 7) }''' + LAST)
    switches = ['cve_enabled_p', 'cve_fix_p', 'cve_trace_p', 'cve_notify_p', 'cve_tmpdisabled_s']
    assert sorted(s.files) == sorted(switches + ['__prometheus', 'last'])

    def read(name):
        return shell(ctx, 'cat ' + s.files[name])

    def figures():
        return {k: int(n) for k, n in re.findall(r'.*\{metric="(\w+)"\} (\d+)', read('__prometheus'))}

    assert [read(name) for name in switches] == ['1\n'] * 4 + ['-1\n']
    wait_until(lambda: {'mended', 'traced', 'runtime'} == set(figures()) and figures()['traced'] == 7, 'the script has not done it')
    shell(ctx, 'echo 0 >' + s.files['cve_fix_p'])
    assert read('cve_fix_p') == '0\n'
    time.sleep(0.2)  # one may have been on its way
    before = figures()['mended']
    time.sleep(0.5)
    assert figures()['mended'] == before, 'switched off'
    shell(ctx, 'echo 1 >' + s.files['cve_fix_p'])
    wait_until(lambda: figures()['mended'] > before, 'the script has not done it')
    shell(ctx, 'echo 1 >' + s.files['cve_tmpdisabled_s'])
    wait_until(lambda: read('cve_tmpdisabled_s') == '-1\n', 'the script has not done it')
    assert read('cve_enabled_p') == '1\n'
    name = re.match(r'(.*?)\{', read('__prometheus')).group(1)
    assert s.end() == ''.join('%s %s\n' % (name, what) for what in ('mitigation loaded', 'reenabling', 'mitigation unloaded'))


def test_switches_alone(ctx):
    """Globals of a library are the script's where it has no others of that name, and bring what goes with them."""
    assert 'cve_fix_p' in Session(ctx, 'probe timer.s(100) if (cve_fix_p) { }' + LAST).files
    assert list(Session(ctx, 'global cve_fix_p probe timer.s(100) if (cve_fix_p) { cve_fix_p = 1 }' + LAST).files) == ['last']
