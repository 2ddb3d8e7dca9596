// SPDX-License-Identifier: MIT
//! Declarations: probes, aliases, functions, globals.

use super::*;
use crate::diag::nearest;
use std::collections::HashMap;

const DECLARATIONS: &[&str] = &["probe", "global", "private", "function"];

impl Parser<'_> {
    pub(super) fn script(mut self, file: FileId) -> Script {
        let mut items = Vec::new();
        let mut globals = HashMap::new();
        while !self.at_end() {
            let before = self.pos;
            if self.item(&mut items, &mut globals).is_err() {
                self.skip_to_declaration(before);
            }
            if self.errors >= MAX_ERRORS {
                break;
            }
        }
        Script { file, items }
    }

    fn skip_to_declaration(&mut self, before: usize) {
        if self.pos == before {
            self.bump();
        }
        while !self.at_end() && !DECLARATIONS.iter().any(|w| self.at_word(w)) {
            self.bump();
        }
    }

    fn item(&mut self, items: &mut Vec<Item>, globals: &mut HashMap<String, Span>) -> Parse<()> {
        if let TokenKind::Embedded(code) = &self.token().kind {
            items.push(Item::EmbeddedC(EmbeddedC {
                code: code.clone(),
                span: self.span(),
            }));
            self.bump();
            return Ok(());
        }
        let start = self.span();
        if self.eat_word("probe") {
            items.push(self.probe(start)?);
        } else if self.eat_word("global") {
            self.globals(false, items, globals)?;
        } else if self.eat_word("function") {
            items.push(self.function(false, start)?);
        } else if self.eat_word("private") {
            if self.eat_word("function") {
                items.push(self.function(true, start)?);
            } else if self.eat_word("global") || !self.at_keyword() {
                self.globals(true, items, globals)?;
            } else {
                return Err(self.expected("`function`, `global` or a name"));
            }
        } else if self.at_op(";") {
            return Err(self.error_here(
                Tag::ParseExpected,
                "a `;` cannot stand between declarations",
                "remove the `;`",
            ));
        } else {
            return Err(self.expected_declaration());
        }
        Ok(())
    }

    fn expected_declaration(&mut self) -> Reported {
        let near = match &self.token().kind {
            TokenKind::Word(word) => nearest(word, DECLARATIONS.to_vec()),
            _ => None,
        };
        let foreign = match &self.token().kind {
            TokenKind::Word(word) => foreign::instead(word),
            _ => None,
        };
        let what = "`probe`, `global`, `private`, `function` or `%{`";
        let message = format!("expected {what}, found {}", self.found());
        self.report(Tag::ParseExpected, message, |d| {
            d.help(near).help(foreign);
        });
        Reported
    }

    // ---- probes ----

    /// Behind `probe`.
    fn probe(&mut self, start: Span) -> Parse<Item> {
        let mut names: Vec<ProbePoint> = Vec::new();
        let mut epilogue_only = false;
        let mut points = Vec::new();
        loop {
            let first = self.pos;
            let found = self.points()?;
            let assign = self.at_op("=") || self.at_op("+=");
            if assign && points.is_empty() && found.len() == 1 {
                self.check_alias_name(&found[0], first)?;
                epilogue_only |= self.at_op("+=");
                self.bump();
                names.extend(found);
                continue;
            }
            if assign {
                return Err(self.error_here(
                    Tag::ParseExpected,
                    "an alias has one name",
                    "write probe NAME = POINT, POINT { ... }",
                ));
            }
            points.extend(found);
            if points.len() > MAX_POINTS {
                return Err(self.too_many_points());
            }
            if !self.eat_op(",") {
                break;
            }
        }
        if !self.at_op("{") {
            let what = if names.is_empty() {
                "`,`, `{`, `=` or `+=`"
            } else {
                "`,` or `{`"
            };
            return Err(self.expected(what));
        }
        let body = self.block()?;
        if names.is_empty() {
            let span = start.to(body.span);
            return Ok(Item::Probe(Probe { points, body, span }));
        }
        self.alias(start, names, points, body, epilogue_only)
    }

    fn check_alias_name(&mut self, name: &ProbePoint, first: usize) -> Parse<()> {
        if name.optional || name.sufficient {
            self.pos = first;
            return Err(self.error_here(
                Tag::ParseExpected,
                "an alias's name cannot be optional",
                "remove the `?` or `!` behind the name",
            ));
        }
        Ok(())
    }

    fn alias(
        &mut self,
        start: Span,
        names: Vec<ProbePoint>,
        points: Vec<ProbePoint>,
        body: Block,
        epilogue_only: bool,
    ) -> Parse<Item> {
        let mut span = start.to(body.span);
        let (mut prologue, mut epilogue) = (Some(body), None);
        if epilogue_only {
            std::mem::swap(&mut prologue, &mut epilogue);
        }
        if self.at_op(",") {
            if epilogue_only {
                return Err(self.error_here(
                    Tag::ParseDuplicate,
                    "an alias with `+=` has one body",
                    "write probe NAME = POINT { before }, { after }",
                ));
            }
            self.bump();
            if !self.at_op("{") {
                return Err(self.expected("`{` of the body that runs afterwards"));
            }
            let block = self.block()?;
            span = start.to(block.span);
            epilogue = Some(block);
        }
        Ok(Item::Alias(Alias {
            names,
            points,
            prologue,
            epilogue,
            span,
        }))
    }

    fn too_many_points(&mut self) -> Reported {
        self.error_here(
            Tag::ParseSize,
            format!("these braces stand for more than {MAX_POINTS} probe points"),
            "use wildcards, or several probes",
        )
    }

    /// One written point; its braces may make it several.
    fn points(&mut self) -> Parse<Vec<ProbePoint>> {
        let start = self.span();
        let mut points = self.point_path()?;
        let condition = if self.at_word("if") {
            self.bump();
            let open = self.expect_op("(")?;
            let condition = self.expr()?;
            self.expect_close(")", open)?;
            Some(condition)
        } else {
            None
        };
        let span = start.to(self.previous());
        let count = points.len();
        for (i, point) in points.iter_mut().enumerate() {
            point.condition = match (&condition, i) {
                (Some(c), 0) => Some(c.clone()),
                (Some(c), _) => Some(self.copy_expr(c)),
                (None, _) => None,
            };
            if count == 1 {
                point.span = span;
            }
        }
        Ok(points)
    }

    fn copy_expr(&self, expr: &Expr) -> Expr {
        struct Refresh<'a>(&'a NodeIds);
        impl crate::visit::VisitMut for Refresh<'_> {
            fn visit_expr(&mut self, expr: &mut Expr) {
                expr.id = self.0.fresh();
                crate::visit::walk_expr_mut(self, expr);
            }
        }
        let mut copy = expr.clone();
        crate::visit::VisitMut::visit_expr(&mut Refresh(self.ids), &mut copy);
        copy
    }

    /// `a.b("x").{c,d}?`
    fn point_path(&mut self) -> Parse<Vec<ProbePoint>> {
        let start = self.span();
        let mut points = vec![ProbePoint {
            components: Vec::new(),
            optional: false,
            sufficient: false,
            condition: None,
            span: start,
        }];
        loop {
            if self.at_op("{") {
                let open = self.span();
                self.bump();
                let inner = self.nested(NEST, |p| p.brace_list(open))?;
                points = self.multiply(points, inner)?;
            } else {
                let component = self.component()?;
                for point in &mut points {
                    point.components.push(component.clone());
                }
            }
            if !self.eat_op(".") {
                break;
            }
        }
        let mark = self.at_op("?") || self.at_op("!");
        let sufficient = self.at_op("!");
        if mark {
            self.bump();
        }
        for point in &mut points {
            if mark {
                point.optional |= !sufficient;
                point.sufficient |= sufficient;
            }
            point.span = start.to(self.previous());
        }
        Ok(points)
    }

    /// Behind `{`, up to and with `}`.
    fn brace_list(&mut self, open: Span) -> Parse<Vec<ProbePoint>> {
        let mut points = Vec::new();
        loop {
            points.extend(self.point_path()?);
            if points.len() > MAX_POINTS {
                return Err(self.too_many_points());
            }
            if !self.eat_op(",") {
                break;
            }
        }
        self.expect_close("}", open)?;
        Ok(points)
    }

    fn multiply(
        &mut self,
        left: Vec<ProbePoint>,
        right: Vec<ProbePoint>,
    ) -> Parse<Vec<ProbePoint>> {
        if left.len().saturating_mul(right.len()) > MAX_POINTS {
            return Err(self.too_many_points());
        }
        let mut out = Vec::with_capacity(left.len() * right.len());
        for l in &left {
            for r in &right {
                let mut point = l.clone();
                point.components.extend(r.components.iter().cloned());
                point.optional |= r.optional;
                point.sufficient |= r.sufficient;
                out.push(point);
            }
        }
        Ok(out)
    }

    fn component(&mut self) -> Parse<Component> {
        let start = self.span();
        let name = self.component_name()?;
        let mut arg = None;
        if self.at_op("(") {
            let open = self.span();
            self.bump();
            arg = Some(self.literal()?);
            self.expect_close(")", open)?;
        }
        Ok(Component {
            name,
            arg,
            span: start.to(self.previous()),
        })
    }

    /// Words and stars that touch each other: `tcp_*`, `**`. Of a pasted argument all have its place.
    fn component_name(&mut self) -> Parse<Ident> {
        let mut name = String::new();
        let mut span = self.span();
        loop {
            let here = self.span();
            let pasted = (span.lo, span.hi) == (here.lo, here.hi);
            let touches = span.file == here.file && (pasted || span.hi == here.lo);
            if !name.is_empty() && (!touches || span.expansion != here.expansion) {
                break;
            }
            match &self.token().kind {
                TokenKind::Word(w) if name.is_empty() || name.ends_with('*') => name.push_str(w),
                TokenKind::Number(_) if name.ends_with('*') => return Err(self.expected("a name")),
                TokenKind::Op("*") => name.push('*'),
                _ => break,
            }
            span = span.to(here);
            self.bump();
        }
        if name.is_empty() {
            return Err(self.expected("a probe point (a name, `*` or `{`)"));
        }
        Ok(Ident { name, span })
    }

    // ---- functions ----

    /// Behind `function`.
    fn function(&mut self, private: bool, start: Span) -> Parse<Item> {
        let name = self.ident("the function's name")?;
        let ret = self.type_suffix()?;
        let open = self.expect_op("(")?;
        let params = self.params(open)?;
        let mut priority = None;
        if self.eat_op(":") {
            let at = self.pos;
            let number = self.number("a priority (a number)")?;
            if number.value <= 0 {
                self.pos = at;
                return Err(self.error_here(
                    Tag::ParseExpected,
                    "a priority is greater than 0",
                    "use 1 or more; overloads with lower numbers are tried first",
                ));
            }
            priority = Some(number);
        }
        let body = if let TokenKind::Embedded(code) = &self.token().kind {
            let code = EmbeddedC {
                code: code.clone(),
                span: self.span(),
            };
            self.bump();
            FunctionBody::EmbeddedC(code)
        } else if self.at_op("{") {
            self.in_function = true;
            let block = self.block();
            self.in_function = false;
            FunctionBody::Script(block?)
        } else {
            return Err(self.expected("`{` or `%{`"));
        };
        let span = start.to(self.previous());
        Ok(Item::Function(Function {
            private,
            name,
            ret,
            params,
            priority,
            body,
            span,
        }))
    }

    fn type_suffix(&mut self) -> Parse<Option<TypeName>> {
        if !self.eat_op(":") {
            return Ok(None);
        }
        if self.eat_word("long") {
            return Ok(Some(TypeName::Long));
        }
        if self.eat_word("string") {
            return Ok(Some(TypeName::String));
        }
        Err(self.expected("`long` or `string`"))
    }

    fn params(&mut self, open: Span) -> Parse<Vec<Param>> {
        let mut params: Vec<Param> = Vec::new();
        while !self.at_op(")") {
            let at = self.pos;
            let name = self.ident("a parameter's name")?;
            if let Some(old) = params.iter().find(|p| p.name.name == name.name) {
                let old = old.name.span;
                self.pos = at;
                let message = format!("parameter `{}` is written twice", name.name);
                self.report(Tag::ParseDuplicate, message, |d| {
                    d.label(old, "first here")
                        .help("give one of them another name");
                });
                return Err(Reported);
            }
            let ty = self.type_suffix()?;
            params.push(Param { name, ty });
            if !self.eat_op(",") && !self.at_op(")") {
                return Err(self.expected("`,` or `)`"));
            }
        }
        self.expect_close(")", open)?;
        Ok(params)
    }

    // ---- globals ----

    /// Behind `global`.
    fn globals(
        &mut self,
        private: bool,
        items: &mut Vec<Item>,
        seen: &mut HashMap<String, Span>,
    ) -> Parse<()> {
        loop {
            let at = self.pos;
            let name = self.ident("the global's name")?;
            if let Some(old) = seen.insert(name.name.clone(), name.span) {
                self.pos = at;
                let message = format!("global `{}` is declared twice", name.name);
                self.report(Tag::ParseDuplicate, message, |d| {
                    d.label(old, "first here").help("remove one of them");
                });
                return Err(Reported);
            }
            items.push(Item::Global(self.global(private, name)?));
            if !self.eat_op(",") {
                break;
            }
        }
        self.eat_op(";");
        Ok(())
    }

    fn global(&mut self, private: bool, name: Ident) -> Parse<Global> {
        let wrap = self.eat_op("%");
        let mut size = None;
        if self.at_op("[") {
            let open = self.span();
            self.bump();
            let at = self.pos;
            let number = self.number("the array's size (a number)")?;
            if number.value <= 0 || number.value > 1_000_000 {
                self.pos = at;
                return Err(self.error_here(
                    Tag::ParseExpected,
                    "an array's size lies between 1 and 1000000",
                    "write another size, or none",
                ));
            }
            size = Some(number);
            self.expect_close("]", open)?;
        }
        let mut init = None;
        if self.at_op("=") {
            if size.is_some() || wrap {
                return Err(self.error_here(
                    Tag::GlobalInit,
                    "an array cannot have an initial value",
                    "fill it in probe begin { ... }",
                ));
            }
            self.bump();
            init = Some(self.literal()?);
        }
        let span = name.span.to(self.previous());
        Ok(Global {
            private,
            name,
            wrap,
            size,
            init,
            span,
        })
    }
}
