# SPDX-License-Identifier: MIT
"""Formal parameters of real C and C++ sources, optimised by gcc and clang: readable where `.function` probes, and what
the caller passed, which a build without optimisation tells. 5,000 functions a compiler."""
import collections
import os
import re
import shutil

from corpus import ALL, JSON, LUA, compiled, fetched
from suites import NotHad

MARK = 95.0  # per cent of the parameters
FUNCTIONS = 5000
SEEDED = {'setseed', 'lua_pushinteger'}  # called with the time and an address

LUA_WORK = '''
local t, n = {}, 0
for i = 1, 60 do t[i] = ("x"):rep(i % 7) .. i end
table.sort(t)
for k, v in pairs(t) do n = n + #string.format("%s %d", v, k) end
print(n, select("#", string.find("a, b, c", "(%w+), (%w+)")), pcall(error, {}), math.floor(3.5), tonumber("0x10"))
print(load("local a <const> = 5; return a << 2, a // 2, a .. 'x'")(), os.date("!%Y", 0), utf8.char(955, 8364))
'''

JSON_WORK = r'''
#include <json/json.h>
#include <iostream>
#include <sstream>
int main()
{
	std::istringstream in("{\"a\": [1, 2.5, -3, true, null, \"t\\u00e9xt\"], \"b\": {\"c\": {}, \"d\": [[], [7]]}}");
	Json::Value v;
	Json::CharReaderBuilder reader;
	std::string errors;
	if (!Json::parseFromStream(reader, in, &v, &errors))
		return 1;
	v["n"] = 12345;
	v["a"].append("more");
	for (unsigned i = 0; i < v["a"].size(); i++)
		v["s"][i] = v["a"][i].isString() ? v["a"][i].asString() : "none";
	v.removeMember("b");
	Json::Value old;
	Json::Reader().parse("// first\n{\"k\": [1, 2.75], /* second */ \"n\": [null, true, false], \"t\": \"\\u20ac\\ud83d\\ude00\"} // last\n", old);
	old.setComment(std::string("// said"), Json::commentBefore);
	Json::Value removed;
	old["k"].setOffsetStart(17);
	old["k"].setOffsetLimit(23);
	static const char words[] = "t n absent";
	std::cout << old.isMember(words, words + 1) << old.get(words + 4, words + 10, 9) << old.demand(words + 2, words + 3)->size()
		  << old.hasComment(Json::commentBefore) << old.getComment(Json::commentAfter) << Json::Value(Json::stringValue);
	old["k"].insert(1, 7);
	old["k"].removeIndex(0, &removed);
	old["k"].resize(5);
	std::cout << old["k"].isValidIndex(4) << old["k"].get(1u, "no") << old["t"].isConvertibleTo(Json::booleanValue) << removed.asInt64();
	std::cout << Json::valueToString(true) << Json::valueToString(Json::LargestInt(-81)) << Json::valueToString(Json::LargestUInt(82))
		  << Json::valueToString(0.125, 5u) << Json::valueToQuotedString("quoted \t text");
	Json::StyledStreamWriter("  ").write(std::cout, old);
	std::cout << Json::Path(".k[%].x", Json::PathArgument(2u)).resolve(old, "none") << Json::StyledWriter().write(old);
	std::cout << v.toStyledString() << Json::FastWriter().write(v) << (v["a"] < v["s"]) << v.get("z", 4).asInt() << "\n";
}
'''


def sources(ctx):
    root = os.path.join(ctx.root, 'build', 'corpus')
    os.makedirs(root, exist_ok=True)
    try:
        return [(s, fetched(root, s)) for s in ALL]
    except NotHad as e:
        ctx.skip(str(e))


def families(ctx):
    return [f for f in ('gcc', 'clang') if shutil.which(f)]


def test_parameters_are_readable_at_entry(ctx):
    have = sources(ctx)
    for family in families(ctx):
        built = [compiled(folder, s, family, ['-O2', '-g'], os.path.join(ctx.tmp, family, s.package)) for s, folder in have]
        p = ctx.run(['cargo', 'run', '-q', '--manifest-path', os.path.join(ctx.root, 'Cargo.toml'), '-p', 'trapless-debuginfo', '--example', 'readable', '--'] + built, timeout=900)
        assert p.returncode == 0, p.stderr
        said = re.findall(r'(\S+): (\d+) functions.*\n +(\d+) of (\d+) parameters', p.stdout)
        assert [os.path.basename(s[0]) for s in said] == [s.package + '.so' for s, _ in have], p.stdout
        functions, readable, all_of_them = (sum(int(s[n]) for s in said) for n in (1, 2, 3))
        share = 100 * readable / all_of_them
        print('%s: %d of %d parameters of %d functions are readable at entry: %.1f %%' % (
            family, readable, all_of_them, functions, share))
        assert share >= MARK, p.stdout
        assert functions >= FUNCTIONS, p.stdout


test_parameters_are_readable_at_entry.once = True


# A function's name, with its file and line where others are of that name, too.
PROBED = r'[\w:~]+(operator\W+)?(@\S+:\d+)?'


def listed(ctx, program):
    """The functions of a program, each with its parameters (what a return probe has) that are numbers or texts."""
    p = ctx.run([ctx.bin('trapless'), '-L', 'process("%s").function("*").return' % program], timeout=300)
    assert p.returncode == 0, p.stderr
    for line in p.stdout.splitlines():
        name = re.search(r'function\("(.*?)"\)', line).group(1)
        rest = re.sub(r' \$return:[^$]*', ' ', line.split(').return', 1)[1])
        values = []
        parameters = [p.split(':', 1) for p in re.split(r' (?=\$\w+:)', rest)[1:]]
        for (var, ty), (_, following) in zip(parameters, parameters[1:] + [('', '')]):
            if re.fullmatch(r'char( const)?\*', ty) and following != 'size_t':  # ended by a null
                values.append((var, 'user_string_n_quoted(%s, 20)' % var))
            elif not re.search(r'[*&[]', ty) and re.search(r'\b(int|long|short|bool|size_t|lu_byte|lua_Integer|lua_Unsigned'
                                                               r'|unsigned|(Largest)?U?Int(64)?|ArrayIndex|ptrdiff_t'
                                                               r'|ValueType|CommentPlacement)\b', ty):
                values.append((var, var))
        if values and re.fullmatch(PROBED, name):
            yield name, values


def script(program, functions):
    for name, values in functions:
        texts = ('@defined(%s) ? sprint(%s) : "-"' % v for v in values)
        yield 'probe process("%s").function("%s").call ? { println("%s\\t", %s) }\n' % (program, name, name, ', "\\t", '.join(texts))


def calls(ctx, program, text, argv):
    """What each function was called with, in order."""
    to, stp = program + '.out', program + '.stp'
    with open(stp, 'w') as f:
        f.write(text)
    p = ctx.run([ctx.bin('trapless'), '-DRINGSIZE=16777216', '-o', to, '-c', ' '.join(argv), stp], timeout=600)
    assert p.returncode == 0, p.stderr[-2000:]
    of = collections.defaultdict(list)
    with open(to) as f:
        for line in f:
            name, _, values = line.rstrip('\n').partition('\t')
            if re.fullmatch(PROBED, name):
                of[name].append(values)
    return of, p.stdout


def compare(ctx, source, folder, family, more, argv):
    """Values at the entry of optimised functions against those of plain ones, which are called as the source says."""
    of, said = {}, {}
    for level in '-O0', '-O2':
        out = os.path.join(ctx.tmp, 'twin' + family + level, source.package)
        program = compiled(folder, source, family, [level, '-g'], out, more, program=True)
        if level == '-O0':
            functions = list(listed(ctx, program))
        of[level], said[level] = calls(ctx, program, ''.join(script(program, functions)), [program] + argv)
    assert said['-O0'] == said['-O2'] != ''
    compared = values = 0
    for name, plain in of['-O0'].items():
        quick = of['-O2'].get(name, [])
        if len(quick) != len(plain) or name.partition('@')[0] in SEEDED:
            continue  # inlined in places
        compared += 1
        for call, (a, b) in enumerate(zip(plain, quick)):
            pairs = [(x, y) for x, y in zip(a.split('\t'), b.split('\t')) if y != '-']
            values += len(pairs)
            assert all(x == y for x, y in pairs), '%s %s, call %d: %s were passed, %s read' % (family, name, call, a, b)
    print('%s %s: %d values of %d functions are what was passed' % (family, source.package, values, compared))
    return compared, values


def test_parameters_are_what_was_passed(ctx):
    have = dict(sources(ctx))
    for family in families(ctx):
        work = os.path.join(ctx.tmp, 'work.lua')
        with open(work, 'w') as f:
            f.write(LUA_WORK)
        compared, values = compare(ctx, LUA, have[LUA], family, [], [work])
        assert compared > 80 and values > 1000, (compared, values)
        main = os.path.join(ctx.tmp, 'main.cpp')
        with open(main, 'w') as f:
            f.write(JSON_WORK)
        compared, values = compare(ctx, JSON, have[JSON], family, [main], [])
        assert compared > 20 and values > 100, (compared, values)


test_parameters_are_readable_at_entry.long = test_parameters_are_what_was_passed.long = True
test_parameters_are_what_was_passed.once = True
