# SPDX-License-Identifier: MIT
"""The script library where it looks at a program."""
import os
import re

import test_values


def test_numbers_at_addresses(ctx):
    test_values.everywhere(ctx, 'memory.c', r'''
        probe process.function("look") {
            m = pointer_arg(1)
            println(user_char(m), " ", user_int8(m), " ", user_uint8(m), " ", user_short(m + 2), " ", user_ushort(m + 2), " ",
                user_int16(m + 2), " ", user_uint16(m + 2), " ", user_int(m + 4), " ", user_uint(m + 4), " ", user_int32(m + 4), " ",
                user_uint32(m + 4), " ", user_long(m + 8), " ", user_ulong(m + 8), " ", user_int64(m + 8), " ", user_uint64(m + 8))
            println(user_char(8), user_short(8), user_ushort(8), user_int(8), user_uint(8), user_long(8), user_ulong(8),
                user_int8(8), user_uint8(8), user_int16(8), user_uint16(8), user_int32(8), user_uint32(8), user_int64(8), user_uint64(8))
            println(user_char_error(m), user_short_error(m + 2), user_ushort_error(m + 2), user_int_error(m + 4),
                user_uint_error(m + 4), user_long_error(m + 8), user_ulong_error(m + 8))
            try { user_int_error(8); println("no") } catch (e) { println(e) }
            try { user_uint64_error(8); println("no") } catch { println("fault") }
            println(get_sigset(m + 8), " ", format_ipaddr(m + 54, 10))
        }''', '''-2 -2 254 -3 65533 -3 65533 -4 4294967292 -4 4294967292 -5 -5 -5 -5
000000000000000
-2-365533-44294967292-5-5
read fault [man error::fault] at 0x8
fault
-5 2001:0db8:0000:0000:0000:0000:0000:0001
''')


def test_text_at_addresses(ctx):
    test_values.everywhere(ctx, 'memory.c', r'''
        probe process.function("look") {
            m = pointer_arg(1); t = user_long(m + 16); q = m + 48
            print(user_string(t), user_string(t, "-"), user_string2(t, "-"), user_string_nofault(t), user_string_warn(t), user_string_warn(t, "-"))
            println(user_string(8, "-"), user_string2(8, "-"), user_string_nofault(8), ".")
            println(user_string_n(t, 3), user_string_n(t, 3, "-"), user_string_n2(t, 2, "-"), user_string_n_nofault(t, 1), ".",
                user_string_n(8, 3, "-"), user_string_n2(8, 3, "-"), user_string_n_nofault(8, 1), ".")
            println(user_string_quoted(t), " ", user_string_quoted(8), " ", user_string_n_quoted(t, 5), " ", user_string_n_quoted(8, 5), " ",
                user_string_n_quoted(t, 100, 9), " ", user_string_n2_quoted(t, 2, 9), " ", user_string_n_quoted(8, 1, 9))
            println(user_buffer_quoted(q, 6, 100), " ", user_buffer_quoted(q, 6, 10), " ", user_buffer_quoted(8, 6, 10), " ",
                user_buffer_quoted_error(q, 1, 100), " [", user_buffer_quoted(q, 6, 0), "]")
            try { user_buffer_quoted_error(8, 1, 9) } catch (e) { println(e) }
            println(user_string_utf16(user_long(m + 24)), " ", user_string_utf32(user_long(m + 32)), " ",
                user_string_quoted_utf16(user_long(m + 24)), " ", user_string_quoted_utf32(8))
            try { user_string_utf16(user_long(m + 40)) } catch (e) { println(substr(e, 0, 32)) }
            try { user_string_utf32(8) } catch (e) { println(e) }
            println(user_string_utf16(8, "-"), user_string2_utf16(8, "-"), user_string_utf32(8, "-"), user_string2_utf32(8, "-"),
                user_string_quoted_utf16(user_long(m + 40)) == sprintf("0x%x", user_long(m + 40)))
        }''', r'''say "hi"
say "hi"
say "hi"
say "hi"
say "hi"
say "hi"
--.
saysaysas.--.
"say \"hi\"\n" 0x8 "say \"" 0x8 "say "... "sa" 0x8
"a\0b\a\377\"" "a\0b"... 0x8 "a" []
Unable to access user space data at 0x8
hé€😀 hé€😀 "h\u00E9\u20AC\U0001F600" 0x8
invalid UTF-16 character U+D800 
user string copy fault at 0x8 [man error::fault]
----1
''')


def test_faults_as_warnings(ctx):
    program = test_values.built(ctx, 'memory.c', 'gcc', '-O0')
    names = 'char short ushort int uint long ulong'.split()
    calls = ''.join('println(user_%s_warn(8)); ' % n for n in names)
    p = ctx.run([ctx.bin('trapless'), '-c', program, '-e', 'probe process.function("look") { ' + calls + '''
        println(user_string_warn(8), user_string_warn(8, "a"), user_string2_warn(8, "b"), user_string_n_warn(8, 3),
            user_string_n_warn(8, 3, "c"), user_string2_n_warn(8, 3, "d")) }'''])
    assert p.returncode == 0 and p.stdout == '0\n' * 7 + 'abcd\n', p
    words = 'char|short|unsigned short|int|unsigned int|long|unsigned long'.split('|')
    for w in words:
        at = ' at' if w == 'char' else ''
        assert p.stderr.count('user %s copy fault%s 0x8 [man error::fault]' % (w, at)) == 1, p.stderr
    assert p.stderr.count('user string copy fault -14 at 0x8') == 6, p.stderr


def test_registers_by_name(ctx):
    test_values.everywhere(ctx, 'memory.c', r'''
        probe process.function("look") {
            println(register("rdi") == pointer_arg(1), register("rip") == uaddr(), registers_valid(), " ", int_arg(2), " ",
                u_register("esi"), " ", register("esi"), " ", register("si"), " ", u_register("si"), " ", register("dl"), " ",
                u_register("dl"), " ", register("rdx"))
            println(register("rbx") == @uregister(3), register("r15") == @uregister(15), register("r12") == @uregister(12))
            println(probing_32bit_app(), arch_bytes(), uarch_bytes(), s32_arg(2), s64_arg(2), " ", u32_arg(2))
            asmlinkage(); fastcall(); regparm(0)
            try { register("eerax") } catch (e) { println(e) }
            try { register("e8") } catch (e) { println(e) }
            try { register("") } catch (e) { println(e) }
        }''', '''111 -7 4294967289 -7 -7 65529 -119 137 4886718345
111
088-7-7 4294967289
unknown register: eerax
unknown register: e8
unknown register: 
''')
    program = test_values.built(ctx, 'memory.c', 'gcc', '-O2')
    text = test_values.traced(ctx, program, 'probe process.function("look") { printf("%016x\\n", register("rdi")); print_regs() }')
    lines = text.splitlines()
    assert len(lines) == 8 and 'RDI: ' + lines[0] in lines[4], text


ABOUT = r'''
    probe process.function("look") {
        println(ppid(), " ", pgrp() > 0, sid() >= 0, " ", uid(), " ", euid(), " ", gid(), " ", egid(), " ", pexecname() == pid2execname(ppid()))
        println(cmdline_str() == cmdline_arg(0), "|", cmdline_args(1, 2, ","), "|", cmdline_arg(7), "|", substr(cmdline_str(), strlen(cmdline_arg(0)), 40))
        println(env_var("TRAPLESS_A"), "|", env_var("TRAPLESS_"), "|", env_var("TRAPLESS_EMPTY"), "|", env_var("none"), "|", env_var("TRAPLESS_B"))
        println(cpu() >= 0 && cpu() < 4096, cpuid() < 4096, task_utime() >= 0, task_stime() >= 0, task_utime(pid()) >= task_utime(),
            task_stime_tid(pid()) >= 0, substr(task_time_string(), 0, 5), substr(task_time_string_tid(pid()), 0, 5))
        println(target_set_pid(pid()), target_set_pid(1), target_set_pid(ppid()))
        println(mem_page_size(), proc_mem_rss() > 10, proc_mem_size() >= proc_mem_rss(), proc_mem_shr() > 0, proc_mem_txt() > 0,
            proc_mem_data() > 0, proc_mem_size(pid()) == proc_mem_size_pid(pid()), proc_mem_rss_pid(1 << 30), proc_mem_shr_pid(-5))
        println(isinstr(proc_mem_string(), "size: "), isinstr(proc_mem_string_pid(pid()), ", data: "))
        try { pid2execname(1 << 30) } catch (e) { println(e) }
        exit()
    }'''


def test_processes(ctx):
    """By the breakpoint that asks the guardian; arguments and variables are then read in the process."""
    program = test_values.built(ctx, 'memory.c', 'gcc', '-O2')
    variables = 'TRAPLESS_A=one TRAPLESS_EMPTY= TRAPLESS_B=' + 'x' * 70
    p = ctx.run([ctx.bin('trapless'), '-e', ABOUT, '-c', "%s %s 'a b' ''" % (variables, program)])
    assert p.returncode == 0, p
    lines = p.stdout.splitlines()
    uid = ctx.user or os.getuid()
    assert re.fullmatch(r'\d+ 11 %d %d \d+ \d+ 1' % (uid, uid), lines[0]), lines
    assert lines[1:] == ['0|a b,""||' + ' a b ""', 'one||||' + 'x' * 70, '111111usr: usr: ', '100', '4096' + '111111' + '00', '11',
                         'nothing is told of process 1073741824'], lines


def test_memory_is_changed_in_guru_mode(ctx):
    program = test_values.built(ctx, 'memory.c', 'gcc', '-O2')
    script = r'''
        probe process.function("look") {
            m = pointer_arg(1); q = m + 48
            set_user_char(m, 65); set_user_short(m + 2, -9); set_user_int(m + 4, 1 << 33 | 7); set_user_long(m + 8, -1); set_user_pointer(m + 16, q)
            println(user_char(m), " ", user_short(m + 2), " ", user_int(m + 4), " ", user_long(m + 8), " ", user_long(m + 16) == q)
            set_user_string(q, "abc"); print(user_string(q)); set_user_string_n(q, 2, "xyz"); print(user_string(q))
            set_user_string_n(q, 9, "no"); set_user_string_n(q, 0, "oh"); println(user_string(q), user_char(q + 3))
            set_user_string_arg(8, "x"); set_user_string_arg(q, "y"); println(user_string(q))
            try { set_user_int(8, 1) } catch (e) { println(e) }
            try { set_user_string(8, "") } catch (e) { println(e) }
            exit()
        }'''
    p = ctx.run([ctx.bin('trapless'), '-g', '-e', script, '-c', program])
    assert (p.returncode, p.stdout) == (0, '65 -9 7 -1 1\nabcxycno0\ny\n' + 'write fault [man error::fault] at 0x8\n' * 2), p
    p = ctx.run([ctx.bin('trapless'), '-e', script, '-c', program])
    assert p.returncode == 1 and p.stderr.count('error[GURU_NEEDED]') == 13 and '`set_user_char` changes the traced program' in p.stderr, p


def test_timers_with_chance(ctx):
    """A period of 20 ms, give or take 15: until 40 of them, or more where much else runs, are not alike. jiffies are hundredths."""
    p = ctx.run([ctx.bin('trapless'), '-e', '''global last, s, n
        probe timer.ms(20).randomize(15) { now = gettimeofday_us(); if (last) s <<< now - last; last = now
            if (++n > 40 && @max(s) - @min(s) > 5000 && @min(s) < 20000) exit() }
        probe end { println(n > 40) }'''])
    assert (p.returncode, p.stdout) == (0, '1\n'), p
    p = ctx.run([ctx.bin('trapless'), '-p3', '-e', 'probe timer.jiffies(3).randomize(1) { } probe timer.hz(4) { }'])
    assert p.returncode == 0, p
    for point, wrong in (('timer.ms(5).randomize(6)', 'from 1 to the period, 5'), ('timer.s(1).randomize', 'from 1 to'),
                         ('timer.hz(5).randomize(1)', '`.randomize` has no meaning here'), ('timer.s(2).randomize(1).x', '`.x` has no meaning')):
        p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe %s { }' % point])
        assert p.returncode == 1 and wrong in p.stderr and 'next step' in p.stderr, p


def test_addresses_by_name(ctx):
    program = test_values.built(ctx, 'memory.c', 'gcc', '-O2')
    text = test_values.traced(ctx, program, '''probe process.function("look") {
        println(symname(addr()), " ", addr() == uaddr(), symdata(addr()) == usymdata(uaddr()), " ", probemod() == umodname(addr()), sprint_syms(sprintf("%x", addr())) == sprint_usyms(sprintf("%x", addr())))
        print_syms(sprintf("%x", addr())) }''')
    assert text.startswith('look 11 11\n') and 'look' in text.splitlines()[1], text
