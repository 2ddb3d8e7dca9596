# SPDX-License-Identifier: MIT
"""Names of C++ and Rust functions: as stacks show them, and as probe points take them."""
import os
import re
import shutil

CXX = r"""
#include <string>
#include <vector>
namespace outer { namespace inner {
template <class T> struct stack {
	std::vector<T> items;
	__attribute__((noinline)) void put(T t) { items.push_back(t); asm volatile("" ::: "memory"); }
	__attribute__((noinline)) long operator[](int i) const { asm volatile(""); return i; }
};
__attribute__((noinline)) std::string tagged(int n) { asm volatile(""); return std::string(n, 'x'); }
} }
namespace { __attribute__((noinline)) int hidden(int n) { asm volatile(""); return n + 1; } }
__attribute__((noinline)) int over(int n) { return hidden(n); }
__attribute__((noinline)) int over(const char *s) { return hidden(*s); }
int main()
{
	outer::inner::stack<int> a;
	outer::inner::stack<const char *> b;
	a.put(1);
	b.put("b");
	return (int)a[2] + over(1) + over("c") + (int)outer::inner::tagged(3).size() > 400;
}
"""
RUST = r"""
struct Stack<T> { items: Vec<T> }
impl<T> Stack<T> {
    #[inline(never)] fn put(&mut self, t: T) -> usize { self.items.push(t); self.items.len() }
}
trait Shape { fn area(&self, n: u64) -> u64; }
struct Square(u64);
struct Circle(u64);
impl Shape for Square { #[inline(never)] fn area(&self, n: u64) -> u64 { std::hint::black_box(self.0 * n) } }
impl Shape for Circle { #[inline(never)] fn area(&self, n: u64) -> u64 { std::hint::black_box(self.0 + n) } }
mod deep { pub mod down { #[inline(never)] pub fn twice<T: super::super::Shape>(t: T) -> u64 { 2 * t.area(2) } } }
fn main() {
    let (mut a, mut b) = (Stack { items: vec![] }, Stack { items: vec![] });
    println!("{}", a.put(1u8) + b.put("b") + (deep::down::twice(Square(1)) + deep::down::twice(Circle(1))) as usize);
}
"""


def listed(ctx, program, pattern):
    p = ctx.run([ctx.bin('trapless'), '-l', 'process("%s").function("%s")' % (program, pattern)], timeout=300)
    return sorted({re.sub('@.*', '', n) for n in re.findall(r'function\("(.*)"\)', p.stdout)})


def stacks(ctx, program, point):
    text = 'probe process.function("%s") { print_ubacktrace_brief(); println(usymname(uaddr()), " | ", usymdata(uaddr())) }' % point
    p = ctx.run([ctx.bin('trapless'), '-e', text, '-c', program], timeout=300)
    assert p.returncode == 0, p.stderr
    return re.sub(r'(\+0x\w+)\n', r'\1 ', p.stdout)  # a stack in one line


def built(ctx, compiler, name, source, *flags):
    file, program = os.path.join(ctx.tmp, name), os.path.join(ctx.tmp, name.replace('.', '-') + ''.join(flags[-1:]).replace('=', ''))
    with open(file, 'w') as f:
        f.write(source)
    p = ctx.run([compiler, '-O1' if compiler != 'rustc' else '-Copt-level=1', '-g', '-o', program, file, *flags], timeout=300)
    assert p.returncode == 0, p.stderr
    stripped = program + '.stripped'
    assert ctx.run(['strip', '-g', '-o', stripped, program]).returncode == 0
    return program, stripped


def test_cxx(ctx):
    for program in built(ctx, 'g++', 'names.cc', CXX):
        put = ['outer::inner::stack<char const*>::put', 'outer::inner::stack<int>::put']
        for pattern, want in [
            ('put', put), ('stack::put', put), ('outer::*::put', []), ('outer::**::put', put), ('outer::*put', put), ('out*::*::*::p?t', put), ('*inner::**', None),
            ('stack<int>::put', put[1:]), ('::outer::**::put', put), ('stack<char *>::put', put[:1]),
            ('outer::put', []), ('::inner::stack::put', []), ('stack<long>::put', []),
            ('tagged', ['outer::inner::tagged']), ('over', ['over']), ('over(int)', ['over']), ('over(*)', ['over']),
            ('hidden', ['(anonymous namespace)::hidden']), ('stack<int>::operator[]', ['outer::inner::stack<int>::operator[]']),
        ]:
            names = listed(ctx, program, pattern)
            assert set(put) < set(names) if want is None else names == want, (program, pattern, names)
        out = stacks(ctx, program, 'hidden')
        assert re.search(r'^\(anonymous namespace\)::hidden\+0x0 over\+0x\w+ main\+0x\w+ ', out, re.M), out
        assert '(anonymous namespace)::hidden | (anonymous namespace)::hidden+0x0/0x' in out, out
        assert re.search(r'^outer::inner::stack<int>::put\+0x0 main\+0x', stacks(ctx, program, 'put'), re.M)


def test_rust(ctx):
    if not shutil.which('rustc'):
        ctx.skip('there is no rustc')
    for mangling in ('the default', 'v0'):
        flags = ['-Csymbol-mangling-version=' + mangling] if mangling == 'v0' else []
        for program in built(ctx, 'rustc', 'names.rs', RUST, *flags):
            area = ['<names::Circle as names::Shape>::area', '<names::Square as names::Shape>::area']
            put = ['names::Stack<&str>::put', 'names::Stack<u8>::put']
            twice = ['names::deep::down::twice<names::%s>' % t for t in ('Circle', 'Square')]
            for pattern, want in [
                ('area', area), ('Square::area', area[1:]), ('names::Circle::area', area[:1]), ('Shape::area', area),
                ('<Square as Shape>::area', area[1:]), ('<* as names::Shape>::*', area), (area[0], area[:1]), ('Square::put', []),
                ('Stack::put', put), ('Stack<*>::put', put), ('names::*put', put), ('names::Stack*::put', put),
                ('twice', twice), ('deep::down::twice*', twice), ('names::*twice*', twice), ('deep::twice', []),
            ]:
                names = listed(ctx, program, pattern)
                if '<T>' in ' '.join(names) or 'twice' in names[0:1] + [n[-5:] for n in names]:  # old symbols have no type arguments
                    want = sorted({re.sub(r'(twice)<.*>$', r'\1', re.sub('Stack<.*?>', 'Stack<T>', w)) for w in want})
                    names = sorted(set(names))
                assert names == want, (program, pattern, names)
            out = stacks(ctx, program, 'Square::area')
            assert re.search(r'^<names::Square as names::Shape>::area\+0x0 names::deep::down::twice\S*\+0x\w+ names::main\+0x', out, re.M), out
