// SPDX-License-Identifier: MIT
//! Functions and statements by name, file and line.

use crate::binary::Binary;
use crate::demangle::{demangle, nearest, nearest_functions, strip_clone, whole_of_part};
use crate::die::{text, DieRef};
use crate::dwarf::Dwarf;
use crate::error::{Error, Result};
use crate::function::{Function, FunctionKind, Inlines, LineSpec, Pattern, ProbeSite, Statement};
use crate::glob;
use crate::lines::Row;
use crate::location::{LocOp, Location};
use crate::owners::{Owner, Owners};
use crate::parameters::{self, Parameters};
use crate::pattern::NamePattern;
use crate::source::SourcePos;
use crate::symbol::SymbolKind;
use gimli::{constants as dw, AttributeValue};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Out-of-line functions by entry.
type Found = BTreeMap<u64, Function>;

/// What the inlined instances of a function share: there may be thousands of them.
struct Names {
    own: Option<Arc<str>>,
    linkage: Option<Arc<str>>,
}

impl Names {
    fn of(dwarf: &Dwarf, origin: DieRef) -> Names {
        Names {
            own: dwarf.qualified(origin).map(Arc::from),
            linkage: dwarf.linkage_name(origin).map(|n| text(n).into()),
        }
    }
}

impl Binary {
    pub(crate) fn find_functions(&self, p: &Pattern, inlines: Inlines) -> Result<Vec<Function>> {
        let names = NamePattern::new(&p.function);
        let mut found = Found::new();
        let mut instances = Vec::new();
        if inlines != Inlines::Only {
            self.by_symbol(&names, &mut found);
        }
        let must = inlines == Inlines::Only || p.file.is_some();
        let ask = must || !p.is_glob() || inlines != Inlines::No;
        // Not even opening the debug file where symbols are enough.
        if ask || found.is_empty() {
            match self.dwarf() {
                Ok(dwarf) => self.by_dwarf(dwarf, &names, inlines, &mut found, &mut instances),
                Err(_) if must => {
                    return Err(self.no_symbols().unwrap_or_else(|| self.no_source()));
                }
                // With a full symbol table, a name that is not there is a wrong name.
                Err(_) if found.is_empty() && !self.elf.has_section(".symtab") => {
                    let unnamed = || self.not_exported(&p.function);
                    return Err(self.no_symbols().unwrap_or_else(unnamed));
                }
                Err(_) => {}
            }
        }
        let mut all = instances;
        if inlines != Inlines::Only {
            all.extend(found.into_values());
        }
        if let Some(file) = &p.file {
            self.keep_file(&mut all, file)?;
        }
        if p.line != LineSpec::None {
            self.keep_lines(&mut all, p)?;
        }
        if let Some(parameters) = &p.parameters {
            self.keep_overloads(&mut all, parameters)?;
        }
        if all.is_empty() {
            return Err(self.none_found(p, inlines));
        }
        // Stable, without room for half of them once more.
        all.sort_by_cached_key(|f| (f.entry, f.kind == FunctionKind::Inlined));
        Ok(all)
    }

    /// Whether a symbol matches, without a look at the debug information.
    pub(crate) fn has_symbol(&self, p: &Pattern) -> bool {
        let mut found = Found::new();
        self.by_symbol(&NamePattern::new(&p.function), &mut found);
        !found.is_empty()
    }

    fn by_symbol(&self, names: &NamePattern<'_>, found: &mut Found) {
        let mut fragments: Option<HashMap<&str, Vec<Range<u64>>>> = None;
        for s in &self.symbols().entries {
            if !s.kind.is_code() || !self.is_code(s.addr) {
                continue;
            }
            let Some(name) = names.match_symbol(s.name) else {
                continue;
            };
            let ifunc = s.kind == SymbolKind::Ifunc;
            if let Some(f) = found.get_mut(&s.addr) {
                // A second name of the same code.
                f.exported |= s.exported;
                if ifunc {
                    f.kind = FunctionKind::Ifunc;
                }
                continue;
            }
            let end = s.addr.saturating_add(s.size.max(1));
            let mut ranges: Vec<_> = std::iter::once(s.addr..end).collect();
            let fragments = fragments.get_or_insert_with(|| self.fragments());
            if let Some(cold) = fragments.get(s.name) {
                ranges.extend(cold.iter().cloned());
            }
            let f = Function {
                name: name.into(),
                linkage_name: Some(s.name.into()),
                kind: if ifunc {
                    FunctionKind::Ifunc
                } else {
                    FunctionKind::OutOfLine
                },
                entry: s.addr,
                size: s.size,
                ranges,
                exported: s.exported,
                die: None,
            };
            found.insert(s.addr, f);
        }
    }

    /// The symbols of functions' parts, where it is clear whose they are.
    fn fragments(&self) -> HashMap<&str, Vec<Range<u64>>> {
        let mut all: HashMap<&str, Vec<Range<u64>>> = HashMap::new();
        for s in &self.symbols().entries {
            let Some(base) = whole_of_part(s.name).filter(|_| s.size > 0) else {
                continue;
            };
            if self.symbols().entries_named(base).count() == 1 {
                all.entry(base)
                    .or_default()
                    .push(s.addr..s.addr.saturating_add(s.size));
            }
        }
        all
    }

    fn by_dwarf(
        &self,
        dwarf: &Dwarf,
        names: &NamePattern<'_>,
        inlines: Inlines,
        found: &mut Found,
        instances: &mut Vec<Function>,
    ) {
        let last = names.last();
        // Type arguments have spaces here and there.
        let many = glob::is_glob(last) || last.contains('<');
        let mut units = match many {
            true => (0..dwarf.unit_count() as u32).collect(),
            false => dwarf.units_naming(last.as_bytes()),
        };
        let mut origins = HashSet::new();
        let mut matched = Vec::new();
        collect(dwarf, names, &units, &mut origins, &mut matched);
        if !many && !origins.is_empty() {
            // Instances in units that name the function only by reference.
            let list: Vec<DieRef> = origins.iter().copied().collect();
            let mut more = dwarf.units_referring(&list);
            more.retain(|n| units.binary_search(n).is_err());
            collect(dwarf, names, &more, &mut origins, &mut matched);
            units.extend(more);
        }
        if inlines != Inlines::Only {
            for r in matched {
                self.add_out_of_line(dwarf, r, found);
            }
        }
        if inlines == Inlines::No || !origins.iter().any(|r| dwarf.may_be_inlined(*r)) {
            return;
        }
        for n in units {
            let mut known = HashMap::new();
            for (at, origin) in dwarf.inlined(n, |o| origins.contains(&o)) {
                let names = known.entry(origin);
                let names = names.or_insert_with(|| Names::of(dwarf, origin));
                instances.extend(self.instance(dwarf, at, names));
            }
        }
    }

    fn add_out_of_line(&self, dwarf: &Dwarf, r: DieRef, found: &mut Found) {
        let mut ranges = dwarf.ranges(r);
        let Some(entry) = self.entry_of(dwarf, r) else {
            return;
        };
        if !self.is_code(entry) {
            return;
        }
        // The part with the entry first.
        if let Some(i) = ranges.iter().position(|r| r.contains(&entry)) {
            ranges.swap(0, i);
        }
        let symbols = || {
            self.symbols()
                .entries_at(entry)
                .filter(|s| s.kind.is_code())
        };
        let symbol = symbols().next();
        // gcc names the rest of a split function (`f.part.0`) by its symbol only.
        let rest = symbol.is_some() && symbols().all(|s| strip_clone(s.name).is_none());
        if rest && !found.contains_key(&entry) {
            return;
        }
        let f = found.entry(entry).or_insert_with(|| Function {
            name: "".into(),
            linkage_name: symbol.map(|s| s.name.into()),
            kind: FunctionKind::OutOfLine,
            entry,
            size: ranges.first().map_or(0, |r| r.end - r.start),
            ranges: Vec::new(),
            exported: symbol.is_some_and(|s| s.exported),
            die: None,
        });
        // A symbol's name stays: it is the one without debug information, too.
        if f.name.is_empty() {
            f.name = dwarf.qualified(r).unwrap_or_default().into();
        }
        if !ranges.is_empty() {
            f.ranges = ranges;
        }
        if f.linkage_name.is_none() {
            f.linkage_name = dwarf.linkage_name(r).map(|n| text(n).into());
        }
        f.die = Some(r);
    }

    fn instance(&self, dwarf: &Dwarf, at: DieRef, names: &Names) -> Option<Function> {
        let mut ranges = dwarf.ranges(at);
        // gcc also tells where a copy is that has no instruction of its own left.
        let entry = self.entry_of(dwarf, at)?;
        if !self.is_code(entry) {
            return None;
        }
        if let Some(i) = ranges.iter().position(|r| r.contains(&entry)) {
            ranges.swap(0, i);
        }
        Some(Function {
            name: names.own.clone()?,
            linkage_name: names.linkage.clone(),
            kind: FunctionKind::Inlined,
            entry,
            size: ranges.first().map_or(0, |r| r.end - r.start),
            ranges,
            exported: false,
            die: Some(at),
        })
    }

    fn keep_file(&self, all: &mut Vec<Function>, file: &str) -> Result<()> {
        let dwarf = self.dwarf()?;
        let mut seen = HashSet::new();
        all.retain(|f| match self.stands_at(f) {
            Some(pos) if file_matches(file, &pos.file) => true,
            pos => {
                seen.extend(pos.map(|p| p.file));
                false
            }
        });
        if all.is_empty() && !has_file(dwarf, file) {
            return Err(self.no_file(dwarf, file));
        }
        Ok(())
    }

    /// Those that have code for one of the lines, or are declared there.
    fn keep_lines(&self, all: &mut Vec<Function>, p: &Pattern) -> Result<()> {
        let dwarf = self.dwarf()?;
        let file = p.file.as_deref().unwrap_or("*");
        let (mut first, mut seen) = (None, BTreeSet::new());
        all.retain(|f| {
            let spans = self.spans(p, std::slice::from_ref(f));
            let inside = |addr: u64| f.ranges.iter().any(|r| r.contains(&addr));
            let unit: Vec<u32> = dwarf.unit_at(f.entry).into_iter().collect();
            let rows = self.rows_of(dwarf, &unit, file, &inside);
            first = first.or(spans.iter().flatten().next().map(|s| s.0));
            let lines: Vec<u64> = rows.iter().map(|(_, r)| u64::from(r.line)).collect();
            seen.extend(&lines);
            let declared = self.stands_at(f).map(|d| d.line);
            let mut all = lines.iter().copied().chain(declared);
            all.any(|l| is_among(l, spans.as_deref()))
        });
        match first.filter(|_| all.is_empty()) {
            Some(line) => Err(no_line(file, line, seen)),
            None => Ok(()),
        }
    }

    /// The lines that are meant, relative ones for these functions; `None`: all.
    pub(crate) fn spans(&self, p: &Pattern, functions: &[Function]) -> Option<Vec<(u64, u64)>> {
        match &p.line {
            LineSpec::Lines(spans) => Some(spans.clone()),
            LineSpec::Relative(n) => {
                let declared = functions.iter().find_map(|f| self.stands_at(f));
                let line = declared.map_or(0, |d| d.line).saturating_add(*n);
                Some(vec![(line, line)])
            }
            LineSpec::All | LineSpec::None => None,
        }
    }

    fn keep_overloads(&self, all: &mut Vec<Function>, parameters: &Parameters) -> Result<()> {
        let fits = |f: &Function| f.linkage_name.as_ref().is_some_and(|l| parameters.fit(l));
        if all.is_empty() || all.iter().any(fits) {
            all.retain(fits);
            return Ok(());
        }
        let full = |f: &Function| parameters::signature(f.linkage_name.as_ref()?);
        let full = |f: &Function| full(f).unwrap_or_else(|| f.name.to_string());
        let mut known: Vec<String> = all.iter().map(full).collect();
        known.sort();
        known.dedup();
        Err(Error::NoOverload {
            function: all[0].name.to_string(),
            path: self.path().into(),
            known,
        })
    }

    pub(crate) fn no_file(&self, dwarf: &Dwarf, file: &str) -> Error {
        let base = |p: &str| p.rsplit('/').next().unwrap_or(p).to_owned();
        let mut known = Vec::new();
        for n in 0..dwarf.unit_count() as u32 {
            known.extend(dwarf.files(n).iter().map(|f| base(f)));
        }
        let nearest = nearest(&base(file), known.iter().map(String::as_str), 5);
        Error::NoFile {
            file: file.into(),
            path: self.path().into(),
            nearest,
        }
    }

    fn none_found(&self, p: &Pattern, inlines: Inlines) -> Error {
        if inlines == Inlines::Also || self.find_functions(p, Inlines::Also).is_err() {
            return self.no_function(&p.function);
        }
        Error::OtherKind {
            pattern: p.function.clone(),
            path: self.path().into(),
            inlined: inlines == Inlines::No,
        }
    }

    fn no_function(&self, pattern: &str) -> Error {
        Error::NoFunction {
            pattern: pattern.into(),
            path: self.path().into(),
            nearest: self.nearest_functions(pattern),
        }
    }

    fn not_exported(&self, pattern: &str) -> Error {
        Error::NotExported {
            pattern: pattern.into(),
            path: self.path().into(),
            build_id: self.build_id(),
            server: self.search.servers.any(),
            nearest: self.nearest_functions(pattern),
        }
    }

    fn nearest_functions(&self, pattern: &str) -> Vec<String> {
        let code = self.symbols().entries.iter().filter(|e| e.kind.is_code());
        nearest_functions(pattern, code.map(|e| e.name), 5)
    }

    /// The entry that describes `f`.
    pub(crate) fn function_die(&self, f: &Function) -> Result<DieRef> {
        if let Some(r) = f.die {
            return Ok(r);
        }
        let dwarf = self.dwarf()?;
        if let Some(r) = dwarf.subprogram_at(f.entry) {
            return Ok(r);
        }
        self.check_split(dwarf, f.entry)?;
        Err(Error::NoDebugInfoAt {
            path: self.path().into(),
            pc: f.entry,
        })
    }

    /// Say so if the unit's contents are elsewhere.
    pub(crate) fn check_split(&self, dwarf: &Dwarf, pc: u64) -> Result<()> {
        match dwarf.unit_at(pc).and_then(|n| dwarf.missing_split(n)) {
            Some(dwo) => Err(Error::SplitDwarf { dwo }),
            None => Ok(()),
        }
    }

    pub(crate) fn function_decl(&self, f: &Function) -> Option<SourcePos> {
        self.dwarf().ok()?.declared_at(self.function_die(f).ok()?)
    }

    /// Where it is declared; of what is not (gcc's lambdas) where its code begins.
    fn stands_at(&self, f: &Function) -> Option<SourcePos> {
        self.function_decl(f).or_else(|| self.find_source(f.entry))
    }

    pub(crate) fn find_site(&self, f: &Function) -> Result<ProbeSite> {
        let plain = ProbeSite {
            pc: f.entry,
            entry: f.entry,
            prologue_end: None,
            parameters_need_prologue: false,
        };
        let Ok(dwarf) = self.dwarf() else {
            return Ok(plain);
        };
        let Ok(die) = self.function_die(f) else {
            return Ok(plain);
        };
        if f.kind == FunctionKind::Inlined || self.goes_on_at(f.entry) {
            return Ok(plain);
        }
        // The unit's line table is read for those only who need it.
        if !self.stores_parameters(dwarf, die, f.entry) {
            return Ok(plain);
        }
        let range = f.ranges.first().cloned().unwrap_or(f.entry..f.entry);
        let prologue_end = dwarf.lines(die.unit).and_then(|l| l.prologue_end(&range));
        let later = prologue_end.filter(|p| *p > f.entry);
        Ok(ProbeSite {
            pc: later.unwrap_or(f.entry),
            prologue_end: later,
            parameters_need_prologue: later.is_some(),
            ..plain
        })
    }

    /// Unoptimised code stores its parameters in the frame first and describes only that place:
    /// one expression for the whole function, relative to a frame that is not set up yet.
    pub(crate) fn stores_parameters(&self, dwarf: &Dwarf, die: DieRef, entry: u64) -> bool {
        let base = dwarf.own_attr(die, dw::DW_AT_frame_base);
        // A register as frame base (clang) has its value only behind the prologue.
        let register_base = matches!(base, Some(AttributeValue::Exprloc(e))
            if e.0.slice().first().is_some_and(|b| (0x50..=0x8f).contains(b)));
        let place = self.place(dwarf, die.unit, entry, Some(die));
        let registers = &self.machine.abi.registers;
        dwarf.children(die).into_iter().any(|(child, tag)| {
            if tag != dw::DW_TAG_formal_parameter {
                return false;
            }
            let Some(v @ AttributeValue::Exprloc(e)) = dwarf.own_attr(child, dw::DW_AT_location)
            else {
                return false;
            };
            // DW_OP_fbreg
            if register_base && e.0.slice().first() == Some(&0x91) {
                return true;
            }
            match place.location(v) {
                Ok(Some(Location::Memory(ops))) => match ops[..] {
                    [LocOp::Reg(r), LocOp::PlusConst(n), ..] if r == registers.stack_pointer => {
                        (n as i64) < 0
                    }
                    [LocOp::Reg(r), ..] => r == registers.frame_pointer,
                    _ => false,
                },
                _ => false,
            }
        })
    }

    // Statements.

    pub(crate) fn find_statements(&self, p: &Pattern, near: bool) -> Result<Vec<Statement>> {
        if p.line == LineSpec::None {
            return Ok(self.function_starts(&self.find_functions(p, Inlines::Also)?));
        }
        if let (LineSpec::Relative(n), true) = (&p.line, p.is_glob()) {
            return self.relative_to_each(p, *n, near);
        }
        let dwarf = self.dwarf().map_err(|_| self.no_source())?;
        let file = p.file.as_deref().unwrap_or("*");
        let functions = match p.function.as_str() {
            "*" => None,
            f => {
                let named = Pattern {
                    function: f.into(),
                    parameters: p.parameters.clone(),
                    file: None,
                    line: LineSpec::None,
                };
                Some(self.find_functions(&named, Inlines::Also)?)
            }
        };
        let spans = self.spans(p, functions.as_deref().unwrap_or_default());
        let units: Vec<u32> = match &functions {
            Some(fs) => {
                let mut u: Vec<u32> = fs.iter().filter_map(|f| dwarf.unit_at(f.entry)).collect();
                u.sort_unstable();
                u.dedup();
                u
            }
            None => (0..dwarf.unit_count() as u32).collect(),
        };
        let inside = |addr: u64| match &functions {
            None => true,
            Some(fs) => fs
                .iter()
                .any(|f| f.ranges.iter().any(|r| r.contains(&addr))),
        };
        let mut rows = self.rows_of(dwarf, &units, file, &inside);
        if rows.is_empty() && !has_file(dwarf, file) {
            return Err(self.no_file(dwarf, file));
        }
        let mut owners = Owners::new(self, dwarf);
        if let Some(functions) = &functions {
            rows = without_copies(owners.own(functions, &rows), rows, spans.as_deref());
        }
        let lines: BTreeSet<u64> = rows.iter().map(|(_, r)| u64::from(r.line)).collect();
        let wanted = match spans {
            Some(spans) if near => Some(nearest_lines(&lines, &spans)),
            spans => spans,
        };
        rows.retain(|(_, r)| is_among(u64::from(r.line), wanted.as_deref()));
        if let (true, Some(&(line, _))) = (rows.is_empty(), wanted.iter().flatten().next()) {
            return Err(no_line(file, line, lines));
        }
        Ok(self.first_of_each(dwarf, rows, &mut owners))
    }

    /// `f*@file+3`: of each function the line that far from its own first one, where it has code there.
    fn relative_to_each(&self, p: &Pattern, n: u64, near: bool) -> Result<Vec<Statement>> {
        let mut of_function = Pattern {
            line: LineSpec::None,
            ..p.clone()
        };
        let functions = self.find_functions(&of_function, Inlines::Also)?;
        let first = |f: &Function| Some((f.name.clone(), self.stands_at(f)?.line));
        let first: BTreeSet<_> = functions.iter().filter_map(first).collect();
        let (mut found, mut problem) = (Vec::new(), self.no_function(&p.function));
        for (name, line) in first {
            let line = line.saturating_add(n);
            of_function.function = name.to_string();
            of_function.line = LineSpec::Lines(vec![(line, line)]);
            match self.find_statements(&of_function, near) {
                Ok(more) => found.extend(more),
                Err(e) => problem = e,
            }
        }
        match found.is_empty() {
            true => Err(problem),
            false => Ok(found),
        }
    }

    fn function_starts(&self, functions: &[Function]) -> Vec<Statement> {
        let start = |f: &Function| Statement {
            addr: f.entry,
            source: self.find_source(f.entry).unwrap_or(SourcePos {
                file: String::new(),
                line: 0,
                column: 0,
            }),
            function: f.name.to_string(),
            caller: None,
        };
        functions.iter().map(start).collect()
    }

    fn rows_of<'d>(
        &self,
        dwarf: &'d Dwarf,
        units: &[u32],
        file: &str,
        inside: &dyn Fn(u64) -> bool,
    ) -> Vec<(u32, &'d Row)> {
        let mut out = Vec::new();
        for &n in units {
            let files = dwarf.files(n);
            let right: Vec<bool> = files.iter().map(|f| file_matches(file, f)).collect();
            if !right.contains(&true) {
                continue;
            }
            let Some(lines) = dwarf.lines(n) else {
                continue;
            };
            let held = |(code, r): &(Range<u64>, &Row)| r.is_stmt || !code.is_empty();
            for (_, r) in lines.pieces().filter(held) {
                let file = right.get(r.file as usize).copied().unwrap_or(false);
                if file && r.line != 0 && self.is_code(r.addr) && inside(r.addr) {
                    out.push((n, r));
                }
            }
        }
        out
    }

    /// One address for each line in each function or inlined instance: the lowest that begins a
    /// statement, or, where optimisation left none, the lowest.
    fn first_of_each(
        &self,
        dwarf: &Dwarf,
        mut rows: Vec<(u32, &Row)>,
        owners: &mut Owners,
    ) -> Vec<Statement> {
        rows.sort_by_key(|(_, r)| (!r.is_stmt, r.addr));
        let mut seen = HashSet::new();
        let mut out: Vec<Statement> = Vec::new();
        for (n, row) in rows {
            let owner = owners.of(row);
            if !seen.insert((row.line, row.file, n, owner.map(|o| o.die))) {
                continue;
            }
            let file = dwarf
                .files(n)
                .get(row.file as usize)
                .cloned()
                .unwrap_or_default();
            let function = owner
                .and_then(|o| dwarf.qualified(o.origin))
                .or_else(|| self.symbols().at(row.addr).map(|s| s.name.to_owned()));
            out.push(Statement {
                addr: row.addr,
                source: SourcePos {
                    file,
                    line: u64::from(row.line),
                    column: u64::from(row.column),
                },
                function: function.unwrap_or_default(),
                caller: owner
                    .filter(|o| !o.innermost)
                    .and_then(|o| self.caller(dwarf, o))
                    .map(Box::new),
            });
        }
        out.sort_by_key(|s| (s.addr, s.source.line));
        out
    }

    fn caller(&self, dwarf: &Dwarf, owner: Owner) -> Option<Function> {
        let names = Names::of(dwarf, owner.origin);
        let found = self.instance(dwarf, owner.die, &names)?;
        let kind = match dwarf.die(owner.die).ok()?.tag() {
            dw::DW_TAG_subprogram => FunctionKind::OutOfLine,
            _ => FunctionKind::Inlined,
        };
        Some(Function { kind, ..found })
    }

    pub(crate) fn find_source(&self, addr: u64) -> Option<SourcePos> {
        let dwarf = self.dwarf().ok()?;
        let n = dwarf.unit_at(addr)?;
        let row = dwarf.lines(n)?.row_at(addr).filter(|r| r.line != 0)?;
        let file = dwarf.files(n).get(row.file as usize)?.clone();
        Some(SourcePos {
            file,
            line: u64::from(row.line),
            column: u64::from(row.column),
        })
    }
}

fn no_line(file: &str, line: u64, lines: BTreeSet<u64>) -> Error {
    let mut nearest: Vec<u64> = lines.into_iter().collect();
    nearest.sort_by_key(|l| (l.abs_diff(line), *l < line));
    nearest.truncate(6);
    Error::NoLine {
        file: file.into(),
        line,
        nearest,
    }
}

/// The function's own rows; where they have none of the lines that are asked for, those of what is inlined into it, too.
fn without_copies<'d>(
    own: Vec<(u32, &'d Row)>,
    all: Vec<(u32, &'d Row)>,
    spans: Option<&[(u64, u64)]>,
) -> Vec<(u32, &'d Row)> {
    let asked = |rows: &[(u32, &Row)]| rows.iter().any(|r| is_among(u64::from(r.1.line), spans));
    match !asked(&own) && asked(&all) {
        true => all,
        false => own,
    }
}

/// Whether the line is in one of these; `None`: all are.
pub(crate) fn is_among(line: u64, spans: Option<&[(u64, u64)]>) -> bool {
    spans.is_none_or(|s| s.iter().any(|(a, b)| (*a..=*b).contains(&line)))
}

/// Where there is no code for what was asked for, the closest line that has some.
fn nearest_lines(lines: &BTreeSet<u64>, spans: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let closest = |n: u64| lines.iter().min_by_key(|l| (l.abs_diff(n), **l < n));
    let near = |&(a, b): &(u64, u64)| match lines.range(a..=b).next() {
        Some(_) => (a, b),
        None => closest(a).map_or((a, b), |l| (*l, *l)),
    };
    spans.iter().map(near).collect()
}

/// The entries that match: all of them as possible origins, those with code apart.
fn collect(
    dwarf: &Dwarf,
    names: &NamePattern<'_>,
    units: &[u32],
    origins: &mut HashSet<DieRef>,
    matched: &mut Vec<DieRef>,
) {
    for &n in units {
        for e in dwarf.index(n) {
            if e.tag != dw::DW_TAG_subprogram {
                continue;
            }
            let r = DieRef {
                unit: n,
                offset: e.offset,
            };
            let own = e.name.and_then(|n| std::str::from_utf8(n).ok());
            let linkage = e.linkage.and_then(|n| std::str::from_utf8(n).ok());
            let by_name = own.is_some_and(|o| {
                let by_linkage = || linkage.and_then(demangle); // Rust's has traits and types
                let matches = |name: Option<String>| name.is_some_and(|n| names.matches(&n));
                NamePattern::part(names.last(), o)
                    && (names.is_simple() || matches(dwarf.qualified(r)) || matches(by_linkage()))
            });
            if !by_name && !linkage.is_some_and(|l| names.is_exactly(l)) {
                continue;
            }
            origins.insert(r);
            let fragment = linkage.is_some_and(|l| strip_clone(l).is_none());
            if (e.low.is_some() || e.has_ranges) && !fragment {
                matched.push(r);
            }
        }
    }
}

fn has_file(dwarf: &Dwarf, file: &str) -> bool {
    (0..dwarf.unit_count() as u32).any(|n| dwarf.files(n).iter().any(|f| file_matches(file, f)))
}

/// Whether the trailing parts of `path` match the pattern's parts one by one.
pub(crate) fn file_matches(pattern: &str, path: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let parts = |s| -> Vec<&str> { str::split(s, '/').filter(|p| *p != ".").collect() };
    let (pattern, path) = (parts(pattern), parts(path));
    pattern.len() <= path.len()
        && pattern
            .iter()
            .rev()
            .zip(path.iter().rev())
            .all(|(p, n)| glob::matches(p, n))
}

#[cfg(test)]
mod tests {
    use super::file_matches;

    #[test]
    fn files_match_by_trailing_parts() {
        assert!(file_matches("a.c", "/src/x/a.c"));
        assert!(file_matches("x/a.c", "/src/./x/./a.c"));
        assert!(file_matches("/src/x/a.c", "/src/x/a.c"));
        assert!(file_matches("*.c", "/src/x/a.c"));
        assert!(!file_matches("a.c", "/src/x/aa.c"));
        assert!(!file_matches("y/a.c", "/src/x/a.c"));
        assert!(!file_matches("/x/a.c", "/src/x/a.c"));
    }
}
