# SPDX-License-Identifier: MIT
"""The script library where it changes calls, and tells of the session and of files."""
import os
import re
import time

import test_values


def session(ctx, script, *args, program=None):
    """What the script prints; what the program prints."""
    to = os.path.join(ctx.tmp, 'trace.out')
    words = ['-c', program or test_values.built(ctx, 'calls.c', 'gcc', '-O1')]
    p = ctx.run([ctx.bin('trapless'), '-o', to, *args, *words, '-e', script], timeout=300)
    assert p.returncode == 0, p
    return open(to).read(), p.stdout, p.stderr


def test_arguments_and_results_are_changed_by_number(ctx):
    script = r'''
        probe process.function("join") {
            set_int_arg(1, -1); set_uint_arg(2, (1 << 32) + 3); set_s64_arg(3, 4); set_u64_arg(4, 5); set_longlong_arg(5, 6)
            set_pointer_arg(6, 7); set_long_arg(7, 8)
            println(int_arg(1), " ", uint_arg(2), " ", long_arg(3), " ", long_arg(7))
            try { set_returnval(1) } catch (m) { println(m) }
            try { set_int_arg(0, 1) } catch (m) { println(m) }
        }
        probe process.function("join").return {
            println($return == returnval(), " ", returnval())
            try { set_int_arg(1, 1) } catch (m) { println(m) }
            set_returnval(-55); println(returnval())
        }
        probe begin { try { set_u32_arg(1, 1) } catch (m) { println(m) } try { set_returnval(1) } catch (m) { println(m) } }'''
    told, printed, _ = session(ctx, script, '-g')
    assert told == '''cannot access function args in this context
set_returnval() not valid in this context
-1 3 4 8
set_returnval() not valid in this context
cannot access arg(0)
1 8765429
arguments are set at the entry of a function
-55
''', told
    assert printed == '-55 0\n', printed


def test_a_signal_is_raised(ctx):
    """It comes to the thread that hit the probe, behind the handler."""
    script = 'probe process.function("join") { raise(10); println("on"); try { raise(65) } catch (m) { println(m) } }'
    told, printed, _ = session(ctx, script, '-g')
    assert told == 'on\nraise(): signal 65 cannot be sent\n' and printed == '7654321 10\n', (told, printed)
    p = ctx.run([ctx.bin('trapless'), '-g', '-c', test_values.built(ctx, 'calls.c', 'gcc', '-O1'), '-e',
                 'probe process.function("join") { raise(9) } probe process.end { println("ended") }'])
    assert p.returncode == 128 + 9 and p.stdout == 'ended\n', p
    p = ctx.run([ctx.bin('trapless'), '-g', '-e', 'probe begin { try { raise(10) } catch (m) { println(m) } exit() }'])
    assert (p.returncode, p.stdout) == (0, 'raise(): signal 10 cannot be sent\n'), p


def test_where_a_script_is(ctx):
    script = r'''
        probe joins.one = process.function("join") { } probe joins.two = process.function("join").return { }
        probe joins.* { println(pn(), " ", probe_type(), " ", isinstr(pp(), "process(\"")) }
        probe process.function("join").label("joined") { println(pnlabel(), " ", pn() == pp()) }
        probe process.function("main") { println("[", pnlabel(), "] ", probe_type()) }
        probe process.begin { println(probe_type(), " ", pn()) }
        probe timer.s(100) { }
        probe begin { println(module_name(), " ", probe_type(), " ", pn()) }'''
    program = test_values.built(ctx, 'calls.c', 'gcc', '-O1')
    told, _, _ = session(ctx, script, '-m', 'named', program=program)
    assert told.splitlines() == ['named begin_end begin', 'utrace process("%s").begin' % program, '[] uprobe', 'joins.one uprobe 1',
                                 'joined 1', 'joins.two uretprobe 1'], told


def test_own_processes(ctx):
    """Whose the process is, by the user who has started the session."""
    program = test_values.built(ctx, 'calls.c', 'gcc', '-O1')
    script = 'probe process("%s").function("join") { println(is_myproc()) }' % program
    assert set(session(ctx, script, program=program)[0].split()) == {'1'}
    if os.geteuid() == 0:
        os.chmod(ctx.tmp, 0o755)
        assert set(session(ctx, script, program='setpriv --reuid 65534 --clear-groups ' + program)[0].split()) == {'0'}


def test_the_session_itself(ctx):
    script = '''probe begin { println(stp_pid(), " ", pid()) }
        probe process.function("join") { println(stp_pid(), " ", ns_pid() == pid(), ns_tid() == tid(), ns_ppid() == ppid(), ns_uid() == uid(),
            ns_euid() == euid(), ns_gid() == gid(), ns_egid() == egid(), ns_pgrp() == pgrp(), ns_sid() == sid()); target_set_report(); println(pid(), " ", ppid()) }'''
    told, _, _ = session(ctx, script)
    first, second, head, report, last = told.splitlines()
    runner, own = first.split()
    assert runner == own and second == runner + ' 111111111', told
    pid, ppid = last.split()
    assert (head, report) == ('target set:', '%s begat %s' % (ppid, pid)), told


def test_files_at_addresses(ctx):
    program = test_values.built(ctx, 'calls.c', 'gcc', '-O1')
    told, _, _ = session(ctx, r'''probe process.function("join") {
        println(umodbuildid(uaddr())); println(umodbuildid(caller_addr()) == umodbuildid(uaddr())); printf("%x\n", umodaddr(uaddr()))
        try { umodbuildid(8) } catch (m) { println(m) } try { umodaddr(8) } catch (m) { println(m) } }''', program=program)
    notes = ctx.run(['readelf', '-n', program]).stdout
    symbols = ctx.run(['nm', program]).stdout
    at = int(re.search(r'(\w+) T join', symbols).group(1), 16)
    lines = told.splitlines()
    assert lines == [re.search(r'Build ID: (\w+)', notes).group(1), '1', '%x' % at, 'umodbuildid 0x8 unknown', 'umodaddr 0x8 unknown'], lines


def test_loads_limits_and_delays(ctx):
    told, _, _ = session(ctx, r'''probe process.function("join") {
        print(sprint_loadavg()); println(get_loadavg_index(0) >= 0)
        try { get_loadavg_index(3) } catch (m) { println(m) }
        println(rlimit_from_str("RLIMIT_CPU"), rlimit_from_str("RLIMIT_NOFILE"), rlimit_from_str("RLIMIT_"))
        t = gettimeofday_us(); mdelay(2); udelay(500); println(gettimeofday_us() - t >= 2500)
        try { mdelay(1001) } catch (m) { println(m) } mdelay(-1) }
        probe begin { print(sprint_loadavg()) }''', '-g')
    lines = told.splitlines()
    load = r'\d+\.\d\d \d+\.\d\d \d+\.\d\d'
    assert re.fullmatch(load, lines[0]) and re.fullmatch(load, lines[1]), lines
    assert lines[2:] == ['1', 'Invalid loadavg index 3 specified.', '07-1', '1', 'a handler may wait for 1000 ms at most'], lines


# Of Sydney and Berlin one has daylight time; XDT is always in force. EST5EDT is a file, CET-1CEST has no rule of its own.
TZNAME_MAX = 6, 8  # more letters of a zone's name are not told: by musl, and by us where another C library knows them
ZONES = 'UTC', 'Asia/Kolkata', 'Europe/Berlin', 'Australia/Sydney', 'America/St_Johns', 'XST8XDT,J1/0,J365/25', '<+1245>-12:45', 'LONGNAMED-1', 'EST5EDT', 'CET-1CEST'


def test_local_time_is_that_of_who_starts_the_session(ctx):
    """In `begin` and in a program; also where the module was made in another zone."""
    program = ctx.target('count') + ' 1 1'
    script = 'probe begin, process.function("main") { println(tz_gmtoff(), " ", tz_name(), " ", tz_ctime(1700000000)) }'
    p = ctx.run([ctx.bin('trapless'), '-p4', '-m', 'zone', '-e', script, '-c', program], cwd=ctx.tmp, env={'TZ': 'Asia/Tokyo'})
    assert p.returncode == 0, p
    for zone in ZONES:
        now = ctx.run(['date', '+%z %Z'], env={'TZ': zone}).stdout
        sign, hours, minutes, name = re.fullmatch(r'([+-])(\d\d)(\d\d) (\S+)\n', now).groups()
        east = (int(hours) * 60 + int(minutes)) * (60 if sign == '+' else -60)
        then = time.strftime('%a %b %e %H:%M:%S %Y', time.gmtime(1700000000 + east))
        wanted = ['%d %s %s %s\n' % (-east, name[:n], then, name[:n]) for n in TZNAME_MAX]
        p = ctx.run([ctx.bin('trapless-run'), 'zone.tap', '-c', program], cwd=ctx.tmp, env={'TZ': zone})
        assert any(p.stdout.count(want) == 2 for want in wanted), (zone, wanted, p)
        p = ctx.run([ctx.bin('trapless'), '-e', script.replace(', process.function("main")', '').replace('}', 'exit() }')], env={'TZ': zone})
        assert p.stdout in wanted, (zone, wanted, p)


def test_numbers_of_sockets_by_name(ctx):
    p = ctx.run([ctx.bin('trapless'), '-e', r'''probe begin {
        println(sock_fam_num2str(2), " ", sock_fam_num2str(200), " ", sock_fam_str2num("INET6"), " ", sock_fam_str2num("INET"), " ", sock_fam_str2num("IN"))
        println(sock_prot_num2str(17), " ", sock_prot_str2num("TCP"), " ", sock_prot_num2str(0), " ", sock_prot_str2num(""))
        println(sock_type_num2str(1), " ", sock_type_str2num("PACKET"), " ", sock_state_num2str(3), " ", sock_state_str2num("FREE"), " ", sock_state_num2str(5))
        println(tcp_sockstate_str(1), " ", tcp_sockstate_str(10), " ", tcp_sockstate_str(0), " ", tcp_sockopt_str(1), " ", tcp_sockopt_str(99))
        println("[", msg_flags_num2str(0), "] ", msg_flags_num2str(0x42), " ", msg_flags_num2str(0x4000 | 1 << 29))
        exit() }'''])
    assert (p.returncode, p.stdout) == (0, '''INET UNDEF 10 2 -1
UDP 6 IP -1
STREAM 10 CONNECTED 0 UNDEF
TCP_ESTABLISHED TCP_LISTEN UNDEF TCP_NODELAY UNDEF_SOCKOPT(99)
[] PEEK|DONTWAIT NOSIGNAL
'''), p


def test_what_changes_calls_wants_guru_mode(ctx):
    p = ctx.run([ctx.bin('trapless'), '-p2', '-c', 'true', '-e', '''probe process.function("main") { set_s32_arg(1, 2); set_ulong_arg(1, 2)
        set_returnval(1); raise(1); mdelay(1); udelay(1) }'''])
    assert p.returncode == 1 and p.stderr.count('error[GURU_NEEDED]') == 6, p


def test_arguments_are_not_set_once_the_call_is_made(ctx):
    """Behind a system call its registers are the program's own again."""
    program = ctx.target('count')
    for script, place in (('probe syscall.read.return { $arg1 = 3 }', '1:29'), ('probe syscall.read.return { set_int_arg(1, 3) }', '1:1'),
                          ('function f() { set_u64_arg(1, 2) } probe process.syscall.return { f() }', '1:36')):
        p = ctx.run([ctx.bin('trapless'), '-g', '-p2', '-c', program, '-e', script])
        assert p.returncode == 1 and p.stderr.count('error[') == 1, (script, p)
        assert 'error[ASSIGN_TARGET]' in p.stderr and '<input>:%s\n' % place in p.stderr, (script, p)
    script = 'probe process.syscall { set_u64_arg(1, 2); $arg2 = 3 } probe syscall.read.return { $return = 4; println($arg1) }'
    p = ctx.run([ctx.bin('trapless'), '-g', '-p2', '-c', program, '-e', script])
    assert (p.returncode, p.stderr) == (0, ''), p
