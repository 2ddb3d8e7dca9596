// SPDX-License-Identifier: MIT
//! Statements.

use super::*;

/// Words that start a statement or a declaration: good places to go on.
const RESTART: &[&str] = &[
    "break", "continue", "delete", "for", "foreach", "function", "global", "if", "next", "private",
    "probe", "return", "try", "while",
];

impl Parser<'_> {
    /// `{ ... }`, at the `{`. Errors inside are reported and passed over.
    pub(super) fn block(&mut self) -> Parse<Block> {
        let open = self.expect_op("{")?;
        self.nested(2, |p| p.block_rest(open))
    }

    fn block_rest(&mut self, open: Span) -> Parse<Block> {
        let mut stmts = Vec::new();
        loop {
            if self.at_op("}") {
                let span = open.to(self.span());
                self.bump();
                return Ok(Block { stmts, span });
            }
            if self.at_end() {
                self.expect_close("}", open)?;
            }
            let before = self.pos;
            match self.stmt() {
                Ok(stmt) => stmts.push(stmt),
                Err(Reported) => {
                    if self.errors >= MAX_ERRORS || !self.skip_to_statement(before) {
                        return Err(Reported);
                    }
                }
            }
        }
    }

    /// Go to where the next statement may start; false when a declaration or
    /// the end comes first.
    fn skip_to_statement(&mut self, before: usize) -> bool {
        let failed_at = self.pos;
        let mut depth = 0usize;
        loop {
            let token = self.token();
            match &token.kind {
                TokenKind::Eof => return false,
                TokenKind::Op("{" | "(" | "[") => depth += 1,
                TokenKind::Op("}") if depth == 0 => return true,
                TokenKind::Op("}" | ")" | "]") => depth = depth.saturating_sub(1),
                TokenKind::Op(";") if depth == 0 => {
                    self.bump();
                    return true;
                }
                TokenKind::Word(w)
                    if matches!(w.as_str(), "probe" | "function" | "global")
                        && (token.starts_line || self.pos == failed_at) =>
                {
                    return false;
                }
                TokenKind::Word(w) if depth == 0 && self.pos > before => {
                    let moved = self.pos > failed_at;
                    if moved && (token.starts_line || RESTART.contains(&w.as_str())) {
                        return true;
                    }
                }
                TokenKind::At(_) if depth == 0 && token.starts_line && self.pos > failed_at => {
                    return true;
                }
                _ => {}
            }
            self.bump();
        }
    }

    pub(super) fn stmt(&mut self) -> Parse<Stmt> {
        self.nested(STMT, |p| p.stmt_inner())
    }

    fn stmt_inner(&mut self) -> Parse<Stmt> {
        let start = self.span();
        let kind = match &self.token().kind {
            TokenKind::Op(";") => {
                self.bump();
                StmtKind::Empty
            }
            TokenKind::Op("{") => StmtKind::Block(self.block()?),
            TokenKind::Word(w) if is_keyword(w) => {
                let word = w.clone();
                self.keyword_stmt(&word)?
            }
            TokenKind::Embedded(code) => {
                let code = EmbeddedC {
                    code: code.clone(),
                    span: start,
                };
                self.bump();
                self.eat_op(";");
                StmtKind::EmbeddedC(code)
            }
            _ => {
                let expr = self.expr()?;
                self.eat_op(";");
                StmtKind::Expr(expr)
            }
        };
        Ok(Stmt {
            kind,
            span: start.to(self.previous()),
        })
    }

    fn keyword_stmt(&mut self, word: &str) -> Parse<StmtKind> {
        match word {
            "if" => return self.if_stmt(),
            "while" => return self.while_stmt(),
            "for" => return self.for_stmt(),
            "foreach" => return self.foreach_stmt(),
            "try" => return self.try_stmt(),
            "return" => return self.return_stmt(),
            _ => {}
        }
        let kind = match word {
            "delete" => {
                self.bump();
                StmtKind::Delete(self.expr()?)
            }
            "break" | "continue" | "next" => {
                self.bump();
                match word {
                    "break" => StmtKind::Break,
                    "continue" => StmtKind::Continue,
                    _ => StmtKind::Next,
                }
            }
            "else" => {
                return Err(self.error_here(
                    Tag::ParseExpected,
                    "`else` without `if`",
                    "remove the `;` or `}` too many before `else`",
                ))
            }
            _ => return Err(self.expected("a statement")),
        };
        self.eat_op(";");
        Ok(kind)
    }

    /// `( EXPR )`
    fn condition(&mut self) -> Parse<Expr> {
        let open = self.expect_op("(")?;
        let cond = self.expr()?;
        self.expect_close(")", open)?;
        Ok(cond)
    }

    /// A chain of `else if` is read in a loop, so that its length is no depth.
    fn if_stmt(&mut self) -> Parse<StmtKind> {
        let mut arms = Vec::new();
        let mut otherwise = None;
        loop {
            let start = self.span();
            self.expect_word("if")?;
            let cond = self.condition()?;
            let then = self.stmt()?;
            arms.push((start, cond, then));
            if !self.eat_word("else") {
                break;
            }
            if !self.at_word("if") {
                otherwise = Some(Box::new(self.stmt()?));
                break;
            }
            self.deeper(1)?;
        }
        let end = self.previous();
        let mut result = None;
        while let Some((start, cond, then)) = arms.pop() {
            let kind = StmtKind::If {
                cond,
                then: Box::new(then),
                otherwise,
            };
            if arms.is_empty() {
                result = Some(kind);
                break;
            }
            otherwise = Some(Box::new(Stmt {
                kind,
                span: start.to(end),
            }));
        }
        result.ok_or(Reported)
    }

    fn while_stmt(&mut self) -> Parse<StmtKind> {
        self.bump();
        let cond = self.condition()?;
        if self.at_op("}") {
            return Err(self.error_here(
                Tag::ParseExpected,
                "this `while` has no body",
                "there is no `do ... while`: write while (1) { ...; if (!x) break }; an empty body is `;`",
            ));
        }
        let body = Box::new(self.stmt()?);
        Ok(StmtKind::While { cond, body })
    }

    fn for_stmt(&mut self) -> Parse<StmtKind> {
        self.bump();
        let open = self.expect_op("(")?;
        let part = |p: &mut Self, end: &str| -> Parse<Option<Expr>> {
            if p.at_op(end) {
                return Ok(None);
            }
            p.expr().map(Some)
        };
        let init = part(self, ";")?;
        self.expect_op(";")?;
        let cond = part(self, ";")?;
        self.expect_op(";")?;
        let step = part(self, ")")?;
        self.expect_close(")", open)?;
        let body = Box::new(self.stmt()?);
        Ok(StmtKind::For {
            init,
            cond,
            step,
            body,
        })
    }

    fn try_stmt(&mut self) -> Parse<StmtKind> {
        self.bump();
        let body = self.block()?;
        self.expect_word("catch")?;
        let mut message = None;
        if self.at_op("(") {
            let open = self.span();
            self.bump();
            message = Some(self.ident("the message's variable")?);
            self.expect_close(")", open)?;
        }
        let handler = self.block()?;
        Ok(StmtKind::Try {
            body,
            message,
            handler,
        })
    }

    fn return_stmt(&mut self) -> Parse<StmtKind> {
        if !self.in_function {
            return Err(self.error_here(
                Tag::ParseExpected,
                "`return` outside a function",
                "write `next` to leave a probe handler",
            ));
        }
        self.bump();
        let value = if self.at_op(";") || self.at_op("}") {
            None
        } else {
            Some(self.expr()?)
        };
        self.eat_op(";");
        Ok(StmtKind::Return(value))
    }

    /// `foreach ([VALUE [+|-] =] KEYS in BASE [SLICE] [SORT] [limit N]) BODY`
    fn foreach_stmt(&mut self) -> Parse<StmtKind> {
        self.bump();
        let open = self.expect_op("(")?;
        let mut sort: Option<Sort> = None;
        let mut value = None;
        if let Some(sign) = self.value_prefix() {
            value = Some(self.ident("a variable")?);
            if sign {
                self.sort_mark(&mut sort, SortBy::Value)?;
            }
            self.expect_op("=")?;
        }
        let keys = self.foreach_keys(&mut sort)?;
        self.expect_word("in")?;
        let base = self.indexable()?;
        let mut slice = None;
        if self.at_op("[") {
            let bracket = self.span();
            self.bump();
            slice = Some(self.keys(bracket)?);
        }
        self.foreach_order(&mut sort)?;
        let mut limit = None;
        if self.eat_word("limit") {
            limit = Some(self.expr()?);
        }
        self.expect_close(")", open)?;
        let body = self.stmt()?;
        let foreach = Foreach {
            value,
            keys,
            base,
            slice,
            sort,
            limit,
            body,
        };
        Ok(StmtKind::Foreach(Box::new(foreach)))
    }

    /// Whether `NAME =` or `NAME + =` comes; true for the sorted form.
    fn value_prefix(&self) -> Option<bool> {
        if !matches!(self.token().kind, TokenKind::Word(_)) {
            return None;
        }
        let next = self.token_at(1);
        if next.is_op("=") {
            return Some(false);
        }
        let sign = next.is_op("+") || next.is_op("-");
        (sign && self.token_at(2).is_op("=")).then_some(true)
    }

    fn foreach_keys(&mut self, sort: &mut Option<Sort>) -> Parse<Vec<Ident>> {
        let mut keys = Vec::new();
        if !self.at_op("[") {
            keys.push(self.ident("a key variable")?);
            self.sort_mark(sort, SortBy::Key(0))?;
            return Ok(keys);
        }
        let open = self.span();
        self.bump();
        loop {
            keys.push(self.ident("a key variable")?);
            self.sort_mark(sort, SortBy::Key(keys.len() - 1))?;
            if !self.eat_op(",") {
                break;
            }
        }
        self.expect_close("]", open)?;
        Ok(keys)
    }

    /// Behind the array: `+`, `-`, `@sum +` ...
    fn foreach_order(&mut self, sort: &mut Option<Sort>) -> Parse<()> {
        let TokenKind::At(name) = &self.token().kind else {
            return self.sort_mark(sort, SortBy::Value);
        };
        let Some(op) = StatOp::ALL.iter().copied().find(|op| op.name() == name) else {
            return Err(self.expected("`@count`, `@sum`, `@min`, `@max`, `@avg` or `)`"));
        };
        self.bump();
        if !self.at_op("+") && !self.at_op("-") {
            return Err(self.error_here(
                Tag::ForeachSort,
                format!("expected a direction, found {}", self.found()),
                "write + for ascending or - for descending",
            ));
        }
        self.sort_mark(sort, SortBy::Aggregate(op))
    }

    /// An optional `+` or `-`.
    fn sort_mark(&mut self, sort: &mut Option<Sort>, by: SortBy) -> Parse<()> {
        let descending = self.at_op("-");
        if !descending && !self.at_op("+") {
            return Ok(());
        }
        let span = self.span();
        if let Some(old) = sort {
            let old = old.span;
            self.report(
                Tag::ForeachSort,
                "a second sort direction".to_string(),
                |d| {
                    d.label(old, "the first one").help("keep one of them");
                },
            );
            return Err(Reported);
        }
        self.bump();
        *sort = Some(Sort {
            by,
            descending,
            span,
        });
        Ok(())
    }
}
