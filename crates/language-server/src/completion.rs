// SPDX-License-Identifier: MIT
//! What may be typed at the cursor.

mod points;
mod words;

use crate::analysis::Analysis;
use crate::cursor::{self, At, Cursor};
use crate::text::Columns;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, Documentation, Range,
    TextEdit,
};

/// More are asked for again, when more has been typed.
const MOST: usize = 1000;

/// Something that may be typed.
#[derive(Debug, Default)]
pub struct Choice {
    pub text: String,
    /// Its type, signature, or where it is.
    pub detail: Option<String>,
    pub words: Option<String>,
    pub kind: Option<CompletionItemKind>,
}

impl Choice {
    pub fn new(text: impl Into<String>, kind: CompletionItemKind) -> Choice {
        Choice {
            text: text.into(),
            kind: Some(kind),
            ..Choice::default()
        }
    }

    pub fn detail(mut self, detail: impl Into<String>) -> Choice {
        self.detail = Some(detail.into());
        self
    }
}

pub fn complete(
    analysis: &mut Analysis,
    text: &str,
    offset: usize,
    columns: Columns,
) -> CompletionList {
    let cursor = cursor::at(text, offset);
    let mut choices = choices(analysis, text, &cursor);
    choices.retain(|c| c.text.starts_with(&cursor.word));
    choices.sort_by(|a, b| a.text.cmp(&b.text));
    choices.dedup_by(|a, b| a.text == b.text);
    let range = columns.range(text, cursor.start, offset);
    let is_incomplete = choices.len() > MOST;
    choices.truncate(MOST);
    CompletionList {
        is_incomplete,
        items: choices.into_iter().map(|c| item(c, range)).collect(),
    }
}

fn choices(analysis: &mut Analysis, text: &str, cursor: &Cursor) -> Vec<Choice> {
    match &cursor.at {
        At::Nothing => Vec::new(),
        At::Top => words::declarations(),
        At::Point(parts) => points::words(analysis, text, parts),
        At::PointText(parts) => points::texts(analysis, parts, &cursor.word),
        At::Word => words::words(analysis, text, cursor),
        At::Variable => words::variables(analysis, text, cursor),
        At::Member(names) => words::members(analysis, text, cursor, names),
        At::Operator => words::operators(analysis, text),
    }
}

fn item(choice: Choice, range: Range) -> CompletionItem {
    CompletionItem {
        text_edit: Some(CompletionTextEdit::Edit(TextEdit {
            range,
            new_text: choice.text.clone(),
        })),
        label: choice.text,
        kind: choice.kind,
        detail: choice.detail,
        documentation: choice.words.map(Documentation::String),
        ..CompletionItem::default()
    }
}
