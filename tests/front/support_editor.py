# SPDX-License-Identifier: MIT
"""An editor's side of the language server protocol."""
import json
import os
import subprocess
import urllib.parse


class Editor:
    """A language server, and what it was asked and has told."""

    def __init__(self, ctx, *args, encodings=(), root=None):
        self.process = ctx.start([ctx.bin('trapless'), '--language-server'] + [str(a) for a in args], text=False,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.count = 0
        self.told = []
        capabilities = {'general': {'positionEncodings': list(encodings)}} if encodings else {}
        params = {'processId': None, 'rootUri': root and uri(root), 'capabilities': capabilities}
        self.server = self.ask('initialize', params)
        self.tell('initialized', {})

    def put(self, message):
        self.raw(json.dumps(message).encode())

    def raw(self, body):
        self.process.stdin.write(b'Content-Length: %d\r\n\r\n' % len(body) + body)
        self.process.stdin.flush()

    def get(self):
        length = None
        while True:
            line = self.process.stdout.readline()
            assert line, 'the server has ended: ' + self.process.stderr.read().decode()
            if not line.strip():
                break
            name, value = line.decode().split(':')
            if name.lower() == 'content-length':
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def tell(self, method, params=None):
        self.put({'jsonrpc': '2.0', 'method': method, 'params': params})

    def answer(self, method, params=None):
        """The whole answer; what else is told meanwhile is kept."""
        self.count += 1
        self.put({'jsonrpc': '2.0', 'id': self.count, 'method': method, 'params': params})
        while True:
            message = self.get()
            if message.get('id') == self.count:
                return message
            self.told.append(message)

    def ask(self, method, params=None):
        answer = self.answer(method, params)
        assert 'error' not in answer, answer
        return answer['result']

    def open(self, path, text):
        self.path, self.version, self.text = path, 1, text
        self.tell('textDocument/didOpen', {'textDocument': {
            'uri': uri(path), 'languageId': 'systemtap', 'version': 1, 'text': text}})

    def change(self, *texts):
        for text in texts:
            self.version += 1
            self.text = text
            self.tell('textDocument/didChange', {'textDocument': {'uri': uri(self.path), 'version': self.version},
                                                 'contentChanges': [{'text': text}]})

    def diagnostics(self):
        """Those of the document's last text."""
        while True:
            message = self.told.pop(0) if self.told else self.get()
            params = message.get('params', {})
            if message.get('method') == 'textDocument/publishDiagnostics' and params.get('version') == self.version:
                return params['diagnostics']

    def at(self, method, text, path=None):
        """Ask about the place of the `^` in a text, which becomes the document's."""
        before, after = text.split('^')
        if self.version == 0 or self.text != before + after:
            self.change(before + after)
        line = before.split('\n')[-1]
        position = {'line': before.count('\n'), 'character': len(line.encode('utf-16-le')) // 2}
        return self.ask('textDocument/' + method, {'textDocument': {'uri': uri(self.path)}, 'position': position})

    def complete(self, text):
        """What may be typed: {word: item}."""
        return {item['label']: item for item in self.at('completion', text)['items']}

    def hover(self, text):
        found = self.at('hover', text)
        return found and found['contents']['value']

    def definitions(self, text):
        """[(path, line from 1)]"""
        found = self.at('definition', text)
        return [(path_of(place['uri']), place['range']['start']['line'] + 1) for place in found]

    def end(self):
        """In order. The exit status."""
        assert self.ask('shutdown') is None
        self.tell('exit')
        return self.process.wait(300)


def uri(path):
    return 'file://' + urllib.parse.quote(os.path.abspath(path))


def path_of(text):
    return urllib.parse.unquote(text[len('file://'):])
