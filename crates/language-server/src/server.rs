// SPDX-License-Identifier: MIT
//! The loop: messages in, answers out, one after the other. Requests are answered at once; a document is looked at when
//! nobody has said anything for a moment, so that of texts that follow each other quickly only the last one is.

use crate::analysis::Analysis;
use crate::settings::Settings;
use crate::text::{path_of, Columns};
use crate::wire::{self, Incoming};
use crate::{completion, definition, diagnostics, hover, symbols};
use lsp_server::{ErrorCode, Message, Notification, Request, Response};
use lsp_types as lsp;
use lsp_types::notification::{self as told, Notification as _};
use lsp_types::request::{self as asked, Request as _};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::Duration;

/// How long nobody has to say anything.
const QUIET: Duration = Duration::from_millis(50);

/// Answer until the editor says `exit`, or is gone. True: it has said so as it should, or never said anything.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    output: impl Write,
    settings: Settings,
) -> io::Result<bool> {
    let (sender, receiver) = channel();
    // Ends with the process where the stream stays open.
    std::thread::spawn(move || {
        while let Some(incoming) = wire::read(&mut input) {
            if sender.send(incoming).is_err() {
                return;
            }
        }
    });
    let mut server = Server {
        output,
        analysis: Analysis::new(settings),
        columns: Columns::default(),
        state: State::New,
        documents: BTreeMap::new(),
        changed: BTreeSet::new(),
    };
    server.run(&receiver)?;
    let in_order = State::Exited { in_order: true };
    Ok(server.state == in_order || server.state == State::New)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Running,
    ShutDown,
    Exited { in_order: bool },
}

struct Document {
    uri: lsp::Uri,
    version: i32,
    text: String,
}

struct Server<W> {
    output: W,
    analysis: Analysis,
    columns: Columns,
    state: State,
    /// By URI.
    documents: BTreeMap<String, Document>,
    /// Those that have not been looked at since.
    changed: BTreeSet<String>,
}

/// Why there is no answer.
type Refusal = (ErrorCode, String);

impl<W: Write> Server<W> {
    fn run(&mut self, receiver: &Receiver<Incoming>) -> io::Result<()> {
        while !matches!(self.state, State::Exited { .. }) {
            let incoming = match self.changed.is_empty() {
                true => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => receiver.recv_timeout(QUIET),
            };
            match incoming {
                Ok(Incoming::Message(message)) => self.message(*message)?,
                Ok(Incoming::Malformed(why)) => wire::write_parse_error(&mut self.output, &why)?,
                Err(RecvTimeoutError::Timeout) => self.look()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        Ok(())
    }

    fn send(&mut self, message: impl Into<Message>) -> io::Result<()> {
        message.into().write(&mut self.output)
    }

    /// Tell what is wrong in the documents that have changed.
    fn look(&mut self) -> io::Result<()> {
        for key in std::mem::take(&mut self.changed) {
            let Some(document) = self.documents.get(&key) else {
                continue;
            };
            let path = path_of(&document.uri);
            let checked = self.analysis.check(path.as_deref(), &document.text);
            let settings = &self.analysis.settings;
            let list = diagnostics::of(&checked, &document.uri, self.columns, settings);
            let (uri, version) = (document.uri.clone(), Some(document.version));
            self.publish(uri, list, version)?;
        }
        Ok(())
    }

    fn publish(
        &mut self,
        uri: lsp::Uri,
        list: Vec<lsp::Diagnostic>,
        version: Option<i32>,
    ) -> io::Result<()> {
        let params = lsp::PublishDiagnosticsParams::new(uri, list, version);
        let method = told::PublishDiagnostics::METHOD.to_string();
        self.send(Notification::new(method, params))
    }

    fn message(&mut self, message: Message) -> io::Result<()> {
        match message {
            Message::Request(request) => {
                let id = request.id.clone();
                let response = match self.request(request) {
                    Ok(value) => Response::new_ok(id, value),
                    Err((code, why)) => Response::new_err(id, code as i32, why),
                };
                self.send(response)
            }
            Message::Notification(notification) => self.notification(notification),
            // We ask nothing.
            Message::Response(_) => Ok(()),
        }
    }

    fn request(&mut self, request: Request) -> Result<Value, Refusal> {
        let Request { method, params, .. } = request;
        let refuse = |code, why: &str| Err((code, format!("{method}: {why}")));
        match (self.state, method.as_str()) {
            (State::New, asked::Initialize::METHOD) => self.initialize(parsed(params)?),
            (State::New, _) => refuse(ErrorCode::ServerNotInitialized, "initialize comes first"),
            (State::Running, asked::Initialize::METHOD) => {
                refuse(ErrorCode::InvalidRequest, "this has been done")
            }
            (State::Running, asked::Shutdown::METHOD) => {
                self.state = State::ShutDown;
                Ok(Value::Null)
            }
            (State::Running, asked::Completion::METHOD) => {
                let params: lsp::CompletionParams = parsed(params)?;
                self.completion(&params.text_document_position)
            }
            (State::Running, asked::HoverRequest::METHOD) => {
                let params: lsp::HoverParams = parsed(params)?;
                self.hover(&params.text_document_position_params)
            }
            (State::Running, asked::GotoDefinition::METHOD) => {
                let params: lsp::GotoDefinitionParams = parsed(params)?;
                self.definition(&params.text_document_position_params)
            }
            (State::Running, asked::DocumentSymbolRequest::METHOD) => {
                let params: lsp::DocumentSymbolParams = parsed(params)?;
                let text = self.text(&params.text_document.uri)?;
                value(symbols::symbols(&self.analysis, text, self.columns))
            }
            (State::Running, _) => refuse(ErrorCode::MethodNotFound, "not known here"),
            (State::ShutDown | State::Exited { .. }, _) => {
                refuse(ErrorCode::InvalidRequest, "the server is shut down")
            }
        }
    }

    fn initialize(&mut self, params: lsp::InitializeParams) -> Result<Value, Refusal> {
        enter_folder(&params);
        let general = params.capabilities.general;
        let offered = general.and_then(|g| g.position_encodings);
        self.columns = Columns::negotiate(offered.as_deref());
        self.state = State::Running;
        let triggers = [".", "\"", "$", "@", ">", "/", ":", "("];
        let capabilities = lsp::ServerCapabilities {
            position_encoding: Some(self.columns.kind()),
            text_document_sync: Some(
                lsp::TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(lsp::TextDocumentSyncKind::FULL),
                    save: Some(true.into()),
                    ..lsp::TextDocumentSyncOptions::default()
                }
                .into(),
            ),
            completion_provider: Some(lsp::CompletionOptions {
                trigger_characters: Some(triggers.map(str::to_string).into()),
                ..lsp::CompletionOptions::default()
            }),
            hover_provider: Some(lsp::HoverProviderCapability::Simple(true)),
            definition_provider: Some(lsp::OneOf::Left(true)),
            document_symbol_provider: Some(lsp::OneOf::Left(true)),
            ..lsp::ServerCapabilities::default()
        };
        value(lsp::InitializeResult {
            capabilities,
            server_info: Some(lsp::ServerInfo {
                name: "trapless".to_string(),
                version: Some(env!("CARGO_PKG_VERSION").to_string()),
            }),
        })
    }

    fn completion(&mut self, at: &lsp::TextDocumentPositionParams) -> Result<Value, Refusal> {
        let (text, offset) = self.place(at)?;
        let (analysis, columns) = (&mut self.analysis, self.columns);
        value(completion::complete(analysis, &text, offset, columns))
    }

    fn hover(&mut self, at: &lsp::TextDocumentPositionParams) -> Result<Value, Refusal> {
        let (text, offset) = self.place(at)?;
        let (analysis, columns) = (&mut self.analysis, self.columns);
        value(hover::hover(analysis, &text, offset, columns))
    }

    fn definition(&mut self, at: &lsp::TextDocumentPositionParams) -> Result<Value, Refusal> {
        let (text, offset) = self.place(at)?;
        let (analysis, columns) = (&mut self.analysis, self.columns);
        let uri = &at.text_document.uri;
        value(definition::definition(
            analysis, uri, &text, offset, columns,
        ))
    }

    fn text(&self, uri: &lsp::Uri) -> Result<&String, Refusal> {
        let document = self.documents.get(uri.as_str());
        let missing = || {
            (
                ErrorCode::InvalidParams,
                format!("{}: not open", uri.as_str()),
            )
        };
        document.map(|d| &d.text).ok_or_else(missing)
    }

    fn place(&self, at: &lsp::TextDocumentPositionParams) -> Result<(String, usize), Refusal> {
        let text = self.text(&at.text_document.uri)?;
        Ok((text.clone(), self.columns.offset(text, at.position)))
    }

    fn notification(&mut self, notification: Notification) -> io::Result<()> {
        let Notification { method, params } = notification;
        match (self.state, method.as_str()) {
            (state, told::Exit::METHOD) => {
                self.state = State::Exited {
                    in_order: state == State::ShutDown,
                };
            }
            (State::Running, told::DidOpenTextDocument::METHOD) => {
                if let Ok(params) = parsed::<lsp::DidOpenTextDocumentParams>(params) {
                    let document = params.text_document;
                    self.put(document.uri, document.version, document.text);
                }
            }
            (State::Running, told::DidChangeTextDocument::METHOD) => {
                if let Ok(params) = parsed::<lsp::DidChangeTextDocumentParams>(params) {
                    let document = params.text_document;
                    if let Some(last) = params.content_changes.into_iter().next_back() {
                        self.put(document.uri, document.version, last.text);
                    }
                }
            }
            // Its program may be another one by now.
            (State::Running, told::DidSaveTextDocument::METHOD) => {
                if let Ok(params) = parsed::<lsp::DidSaveTextDocumentParams>(params) {
                    self.changed
                        .insert(params.text_document.uri.as_str().to_string());
                }
            }
            (State::Running, told::DidCloseTextDocument::METHOD) => {
                if let Ok(params) = parsed::<lsp::DidCloseTextDocumentParams>(params) {
                    let uri = params.text_document.uri;
                    self.documents.remove(uri.as_str());
                    self.changed.remove(uri.as_str());
                    return self.publish(uri, Vec::new(), None);
                }
            }
            // Notifications are not answered, and others mean nothing here.
            _ => {}
        }
        Ok(())
    }

    fn put(&mut self, uri: lsp::Uri, version: i32, text: String) {
        let key = uri.as_str().to_string();
        self.changed.insert(key.clone());
        let document = Document { uri, version, text };
        self.documents.insert(key, document);
    }
}

/// Paths in scripts are those of the folder that the editor has opened.
fn enter_folder(params: &lsp::InitializeParams) {
    let folders = params.workspace_folders.as_deref().unwrap_or_default();
    #[allow(deprecated)]
    let root = folders.first().map(|f| &f.uri).or(params.root_uri.as_ref());
    if let Some(folder) = root.and_then(path_of) {
        // Where that cannot be, paths are those of whoever has started us.
        let _ = std::env::set_current_dir(folder);
    }
}

fn parsed<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(|e| (ErrorCode::InvalidParams, e.to_string()))
}

fn value(answer: impl serde::Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(answer).map_err(|e| (ErrorCode::InternalError, e.to_string()))
}
