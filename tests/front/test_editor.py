# SPDX-License-Identifier: MIT
"""What an editor is answered by `trapless --language-server`."""
import os
import shutil

from support_editor import Editor, uri
from support_front import trapless

once = 'nothing is probed'


def edited(ctx, *args, **kw):
    """A server, and the path of a program that was built with -g."""
    editor = Editor(ctx, *args, **kw)
    editor.open(os.path.join(ctx.tmp, 'a script.stp'), '')
    return editor, ctx.target('edited', cflags=('-O0', '-g'))


def codes(diagnostics):
    return [d['code'] for d in diagnostics]


def test_editor_diagnostics(ctx):
    editor, path = edited(ctx)
    assert editor.server['capabilities']['positionEncoding'] == 'utf-16'
    assert editor.diagnostics() == []
    editor.change('probe begin {\n  s = "\U0001f600" . nosuch()\n  log(unset)\n}')
    error, warning = editor.diagnostics()
    assert (error['code'], error['severity'], error['source']) == ('NAME_UNKNOWN', 1, 'trapless'), error
    assert error['range'] == {'start': {'line': 1, 'character': 13}, 'end': {'line': 1, 'character': 19}}, error
    assert 'no function `nosuch`' in error['message'] and '\nnext step: ' in error['message'], error
    assert (warning['code'], warning['severity']) == ('NEVER_ASSIGNED', 2), warning
    editor.change('probe process("%s").function("shape_area") { println($scale, $heigth) }' % path)
    unknown, = editor.diagnostics()
    assert unknown['code'] == 'CTX_VAR_UNKNOWN' and 'width' in unknown['message'], unknown
    editor.change('global a\nglobal b\nglobal a probe begin { a = b = 1 }')
    twice, = editor.diagnostics()
    first = twice['relatedInformation'][0]['location']
    assert first['uri'] == uri(editor.path) and first['range']['start']['line'] == 0, twice
    # What only a command line can tell is no error.
    editor.change('probe process.function("main") { }')
    assert [(d['code'], d['severity']) for d in editor.diagnostics()] == [('PROCESS_TARGET', 3)]
    editor.change('function no_probe() { return 1 }')
    assert editor.diagnostics() == []
    editor.tell('textDocument/didClose', {'textDocument': {'uri': uri(editor.path)}})
    assert editor.end() == 0
    assert editor.process.stderr.read() == b''


def test_editor_columns_in_bytes(ctx):
    editor, _ = edited(ctx, encodings=('utf-16', 'utf-8'))
    assert editor.server['capabilities']['positionEncoding'] == 'utf-8'
    editor.change('probe begin { s = "\U0001f600" . nosuch() }')
    error, = editor.diagnostics()
    assert error['range']['start']['character'] == 27, error


def test_editor_text_that_is_being_typed(ctx):
    """Only the last text counts."""
    editor, _ = edited(ctx)
    editor.change('probe beg', 'probe begin {', 'probe begin { x = "', 'probe begin { nosuch() }')
    assert codes(editor.diagnostics()) == ['NAME_UNKNOWN']
    versions = [m['params']['version'] for m in editor.told if 'version' in m.get('params', {})]
    assert versions == sorted(versions) and editor.version not in versions, versions
    editor.change('probe begin { if (1 { nosuch( }')
    assert editor.diagnostics()[0]['code'].startswith('PARSE_')
    assert 'nosuch' not in editor.complete('probe begin { log("a") } probe end { nos^')


def test_editor_completes_points(ctx):
    editor, path = edited(ctx)
    program = 'probe process("%s")' % path
    assert {'probe', 'function', 'global'} <= set(editor.complete('^'))
    assert {'process', 'begin', 'timer', 'mine.own'} <= set(editor.complete('probe mine.own = begin {} probe ^'))
    assert 'ms' in editor.complete('probe timer.^')
    assert list(editor.complete('probe process("%s^' % path[:-4])) == [path]
    assert 'sh' in editor.complete('probe process("s^')
    assert {'function', 'statement', 'library', 'mark', 'plt', 'begin'} <= set(editor.complete(program + '.^'))
    functions = editor.complete(program + '.function("shape_^').items()
    assert [(name, item['detail']) for name, item in functions] == \
        [('shape_area', 'edited.c:15'), ('shape_count', 'edited.c:26')]
    # Also within what is already closed.
    assert 'main' in editor.complete(program + '.function("m^").call { println("x") }')
    suffixes = set(editor.complete(program + '.function("shape_area").^'))
    assert {'call', 'return', 'inline', 'exported', 'label', 'callee'} <= suffixes, suffixes
    assert 'statement' not in suffixes
    assert list(editor.complete(program + '.function("shape_area").label("^')) == ['negative']
    assert list(editor.complete(program + '.function("shape_area@^')) == ['shape_area@edited.c']
    lines = editor.complete(program + '.statement("*@edited.c:^')
    assert lines['*@edited.c:21']['detail'] == 'shape_area' and '*@edited.c:1' not in lines, lines
    assert 'libc.so.6' in editor.complete(program + '.library("^')
    assert 'malloc' in editor.complete(program + '.library("libc.so.6").function("mallo^')
    marks = 'probe process("%s")' % ctx.target('marks')
    assert 'registers' in editor.complete(marks + '.mark("^')
    assert 'registers' in editor.complete(marks + '.provider("targets").mark("^')
    assert 'total' in editor.complete(marks + '.data("t^')
    assert set(editor.complete(marks + '.provider("targets").^')) == {'mark', 'hook'}
    hooks = 'probe process("%s")' % ctx.target('hooked', ldflags=(os.path.join(ctx.root, 'tests', 'targets', 'hooked_other.c'),))
    assert 'net:packet_in' in editor.complete(hooks + '.hook("^')
    assert list(editor.complete(hooks + '.provider("net").hook("^')) == ['packet_in']
    variables = editor.complete(hooks + '.hook("net:packet_in") { println($^')
    assert variables['$len']['detail'] == 'uint32_t' and variables['$data']['detail'] == 'const void *', variables
    assert set(editor.complete(hooks + '.hook("kinds:others") { println($n->^ }')) == {'value', 'name', 'next'}
    assert editor.complete('# probe process.^') == {}


def test_editor_completes_handlers(ctx):
    editor, path = edited(ctx)
    handler = 'probe process("%s").function("shape_area") { ' % path
    variables = editor.complete(handler + 'println($^')
    assert variables['$shape']['detail'] == 'const struct shape *', variables
    assert 'rbp' in variables['$shape']['documentation'] and '$$vars' in variables, variables
    assert '$return' not in variables
    assert '$return' in editor.complete(handler.replace(' {', '.return {') + 'println($^')
    assert set(editor.complete(handler + 'x = $shape->^ }')) == {'name', 'corners', 'next'}
    assert set(editor.complete(handler + 'x = $shape->next->corners[1]->^')) == {'x', 'y'}
    # One that the document itself names.
    alias = 'probe area = process("%s").function("shape_area") { } probe area { println($sc^' % path
    assert list(editor.complete(alias)) == ['$scale']
    text = 'global hits\n// Adds.\nfunction sum(a, b) { return a + b }\nprobe begin { mine = 1 ^ }'
    words = editor.complete(text)
    assert words['sum']['detail'] == 'sum (a, b)' and words['sum']['documentation'] == 'Adds.', words['sum']
    assert words['execname']['detail'] == 'execname:string ()' and words['execname']['documentation']
    assert {'hits', 'mine', 'printf', 'foreach'} <= set(words)
    # What aliases set, also where no program is named.
    given = 'probe given = process("%s").function("shape_area") { mine = 1; text = "a" } ' % path
    words = editor.complete(given + 'probe given { ^ }')
    assert (words['mine']['detail'], words['text']['detail']) == ('long', 'string'), words
    assert 'mine' not in editor.complete(given + 'probe begin { ^ }')
    assert {'filename', 'dfd', 'name', 'argstr'} <= set(editor.complete('probe syscall.openat { ^'))
    assert 'retstr' in editor.complete('probe syscall.openat.return { println(^')
    text = '@define twice(x) %( (@x * 2) %) probe begin { @^'
    assert {'@count', '@cast', '@twice'} <= set(editor.complete(text))
    edit = editor.complete('probe begin { print(exec^name()) }')['execname']['textEdit']
    assert [edit['range'][end]['character'] for end in ('start', 'end')] == [20, 24], edit


def test_editor_hover(ctx):
    editor, path = edited(ctx)
    probe = 'global hits\nprobe process("%s").fun%%sction("shape_area") { hi%%sts[execname()]++; ' % path
    assert 'const struct shape *shape' in editor.hover(probe % ('', '') + 'f($sha^pe) }')
    assert 'in memory at rbp' in editor.hover(probe % ('', '') + 'f($sha^pe) }')
    assert 'struct point corners[4]' in editor.hover(probe % ('', '') + 'f($shape->cor^ners[0]->x) }')
    assert 'execname:string ()' in editor.hover(probe.replace('execname', 'exec^name') % ('', '') + '}')
    assert 'long[string]' in editor.hover(probe % ('', '^') + '}')
    point = editor.hover(probe % ('^', '') + '}')
    assert point.startswith('1 place\n') and 'edited.c:15' in point and '0x' in point, point
    many = editor.hover('probe process("%s").function("*^") { }' % path)
    assert ' places\n' in many and ' more' in many, many
    none = editor.hover('probe process("%s").function("shape_are^") { }' % path)
    assert none.startswith('no place: ') and 'shape_area' in none, none
    assert editor.hover('probe begin { ^ }') is None
    opened = editor.hover('probe syscall.openat { println(file^name) }')
    assert 'filename:string' in opened and 'set by the alias' in opened, opened


def test_editor_definition(ctx):
    editor, path = edited(ctx)
    text = 'global hits\n@define twice(x) %( @x %)\nfunction own() { return 1 }\nprobe mine = begin { }\n'
    here = [(editor.path, 1)]
    assert editor.definitions(text + 'probe mine { h^its = own() }') == here
    assert editor.definitions(text + 'probe mine { hits = o^wn() }') == [(editor.path, 3)]
    assert editor.definitions(text + 'probe mine { hits = @tw^ice(1) }') == [(editor.path, 2)]
    assert editor.definitions(text + 'probe mi^ne { hits = 1 }') == [(editor.path, 4)]
    (file, line), = editor.definitions('probe begin { log(exec^name()) }')
    assert os.path.samefile(file, os.path.join(ctx.root, 'tapset/context.stp'))
    with open(file) as f:
        assert 'function execname' in f.read().split('\n')[line - 1]
    source = os.path.join(ctx.root, 'tests/targets/edited.c')
    probe = 'probe process("%s").function("shape_area^") { f($width) }' % path
    assert editor.definitions(probe) == [(source, 15)]
    assert editor.definitions(probe.replace('^', '').replace('$width', '$wi^dth')) == [(source, 17)]
    assert editor.definitions('probe begin { nosuch^() }') == []


def test_editor_folders_and_command(ctx):
    """What the command line says holds for all scripts."""
    tapset = os.path.join(ctx.tmp, 'library')
    os.mkdir(tapset)
    with open(os.path.join(tapset, 'mine.stp'), 'w') as f:
        f.write('/** from_folder - given with -I */\nfunction from_folder:long () { return 1 }\n'
                'probe mine.alias = begin { }\n')
    with open(os.path.join(tapset, 'mine.stpm'), 'w') as f:
        f.write('@define of_folder %( 1 %)\n')
    path = ctx.target('edited', cflags=('-O0', '-g'))
    editor, _ = edited(ctx, '-I', tapset, '-c', path, 'word')
    editor.change('probe process.function("shape_area"), mine.alias { println(@1, from_folder(), @of_folder) }')
    assert editor.diagnostics() == []
    assert list(editor.complete('probe mine^')) == ['mine.alias']
    assert editor.complete('probe begin { from_f^')['from_folder']['documentation'] == 'given with -I'
    assert 'shape_area' in editor.complete('probe process.function("^')
    assert editor.definitions('probe begin { x = @of_fol^der }') == [(os.path.join(tapset, 'mine.stpm'), 1)]
    p = trapless(ctx, '--language-server', '-c', '/no/such/program')
    assert p.returncode == 2 and 'PROGRAM_UNKNOWN' in p.stderr, p.stderr
    assert trapless(ctx, '--language-server', '-e', 'probe begin {}').returncode == 2


def test_editor_program_that_is_built_again(ctx):
    editor, path = edited(ctx, root=ctx.tmp)
    shutil.copy(path, os.path.join(ctx.tmp, 'program'))
    text = 'probe process("./program").function("^'
    assert 'shape_area' in editor.complete(text)
    shutil.copy(ctx.target('marks'), os.path.join(ctx.tmp, 'program'))
    assert 'forms' in editor.complete(text) and 'shape_area' not in editor.complete(text)
    os.truncate(os.path.join(ctx.tmp, 'program'), 100)
    assert editor.complete(text) == {}
    editor.change('probe process("./program").function("main") { }')
    assert codes(editor.diagnostics()) == ['FILE_CORRUPT']
    shutil.copy(path, os.path.join(ctx.tmp, 'program'))
    editor.tell('textDocument/didSave', {'textDocument': {'uri': uri(editor.path)}})
    assert editor.diagnostics() == []


def test_editor_outline(ctx):
    editor, _ = edited(ctx)
    editor.change('global hits\nfunction own() { return 1 }\nprobe begin, end { hits = own() }\nprobe a = end { }')
    symbols = editor.ask('textDocument/documentSymbol', {'textDocument': {'uri': uri(editor.path)}})
    assert [s['name'] for s in symbols] == ['hits', 'own', 'begin, end', 'a'], symbols
    assert [s['range']['start']['line'] for s in symbols] == [0, 1, 2, 3], symbols


def test_editor_protocol(ctx):
    """What is wrong is answered as the protocol says, and nothing of it ends the server."""
    editor, _ = edited(ctx)
    for body in (b'{nope', b'[]', b'"text"', b'\xff\xfe', b'{"id": 1}'):
        editor.raw(body)
        message = editor.get()
        while 'method' in message:
            message = editor.get()
        assert message['id'] is None and message['error']['code'] == -32700, message
    editor.process.stdin.write(b'Nonsense\r\n\r\n')
    assert editor.answer('textDocument/nosuch', {})['error']['code'] == -32601
    assert editor.answer('textDocument/hover', {'position': 1})['error']['code'] == -32602
    place = {'textDocument': {'uri': 'file:///not/open'}, 'position': {'line': 0, 'character': 0}}
    assert editor.answer('textDocument/hover', place)['error']['code'] == -32602
    assert editor.answer('initialize', {'capabilities': {}})['error']['code'] == -32600
    editor.tell('textDocument/didChange', {'no': 'such'})
    editor.tell('$/nosuch', {})
    far = {'textDocument': {'uri': uri(editor.path)}, 'position': {'line': 1 << 30, 'character': 1 << 30}}
    assert editor.ask('textDocument/hover', far) is None
    assert editor.ask('shutdown') is None
    assert editor.answer('textDocument/hover', far)['error']['code'] == -32600
    editor.tell('exit')
    assert editor.process.wait(300) == 0


def test_editor_is_gone(ctx):
    editor, _ = edited(ctx)
    editor.process.stdin.close()
    assert editor.process.wait(300) == 1
    editor, _ = edited(ctx)
    editor.tell('exit')
    assert editor.process.wait(300) == 1
    assert trapless(ctx, '--language-server').returncode == 0, 'nobody was there'


def mangled(dice, text):
    """A piece of it is missing, doubled, or something else."""
    a, b = sorted(dice.randrange(len(text) + 1) for _ in range(2))
    b = min(b, a + dice.choice((1, 10, 200)))
    other = dice.choice(('', text[a:b] * 2, '"', '{', '}', '%(', '%{', '/*', '(', '@', '$', '->', '\0', '\xdf', '\U0001f600'))
    return text[:a] + other + text[b:]


def test_editor_any_text(ctx):
    """Broken scripts, asked about in every way at any place."""
    dice = ctx.dice('any text')
    editor, path = edited(ctx, '-c', ctx.target('edited', cflags=('-O0', '-g')))
    texts = ['probe process.function("shape_*"), process("%s").statement("main@edited.c:*") if (1) { $shape->x @cast($a, "b") }' % path]
    for folder in ('examples', 'tests/scripts/parse'):
        names = sorted(os.listdir(os.path.join(ctx.root, folder)))
        for name in dice.sample([n for n in names if n.endswith('.stp')], 10):
            with open(os.path.join(ctx.root, folder, name), errors='replace') as f:
                texts.append(f.read())
    for n in range(2000 if ctx.long else 200):
        text = mangled(dice, dice.choice(texts))
        at = dice.randrange(len(text) + 1)
        marked = text[:at].replace('^', '') + '^' + text[at:].replace('^', '')
        editor.at(dice.choice(('completion', 'hover', 'definition')), marked)
        if n % 8 == 0:
            editor.diagnostics()
    editor.change('probe begin { nosuch() }')
    assert codes(editor.diagnostics()) == ['NAME_UNKNOWN']
    assert editor.end() == 0
