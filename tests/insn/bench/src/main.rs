// SPDX-License-Identifier: MIT
//! Second opinions on the x86 decoder. See docs/decoder.md.
//!
//!     insn-bench cases FILE            one case a row; every row must be reached
//!     insn-bench real FILE...          code of real programs: no difference at all
//!     insn-bench random FILE N SEED    N strings, 64-bit mode and a quarter as many in 32-bit mode
//!     insn-bench every [evex]          every opcode with every ModRM and prefix that selects it
//!     insn-bench speed FILE...         instructions a second
//!     insn-bench show HEX [32]         what everyone says about one string
//!
//! FILE of cases and random is the output of `gen/decoder-tables --cases`.
mod attr;
mod exceptions;
mod ours;
mod refs;
mod source;
mod view;
#[cfg_attr(not(feature = "xed"), path = "no_xed.rs")]
mod xed;

use iced_x86::InstructionInfoFactory;
use ours::Insn;
use refs::Refs;
use source::{Case, Rng, Source};
use std::collections::BTreeMap;
use std::process::exit;
use view::View;

#[derive(Default)]
struct Tally {
    compared: u64,
    valid: u64,
    refs_differ: u64,
    fields_differ: BTreeMap<&'static str, u64>,
    excepted: BTreeMap<usize, u64>,
    apx: u64,
    failures: u64,
    examples: BTreeMap<String, (u64, String)>,
    /// What is counted but not held against us, for `INSN_BENCH_NOTES=1`.
    notes: BTreeMap<String, (u64, String)>,
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}

struct Bench {
    refs: Refs,
    tally: Tally,
    rows: Vec<u64>,
    notes: bool,
    factory: InstructionInfoFactory,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            refs: Refs::new(),
            tally: Tally::default(),
            rows: vec![0; 8192],
            notes: std::env::var_os("INSN_BENCH_NOTES").is_some(),
            factory: InstructionInfoFactory::new(),
        }
    }

    fn fail(&mut self, kind: String, bytes: &[u8], wide: bool) {
        self.tally.failures += 1;
        let bits = if wide { 64 } else { 32 };
        let text = format!(
            "insn-bench show '{}' {bits}",
            hex(&bytes[..bytes.len().min(16)])
        );
        let e = self.tally.examples.entry(kind).or_insert((0, text));
        e.0 += 1;
    }

    fn note(&mut self, kind: String, bytes: &[u8]) {
        if self.notes {
            let e = self
                .tally
                .notes
                .entry(kind)
                .or_insert((0, hex(&bytes[..bytes.len().min(16)])));
            e.0 += 1;
        }
    }

    /// Compare one string; the length that everyone agreed on.
    fn compare(&mut self, bytes: &[u8], wide: bool) -> Option<usize> {
        self.tally.compared += 1;
        let ours = ours::decode(bytes, wide);
        let mine = ours.as_ref().map(|i| ours::view(i, wide));
        if let Some(i) = &ours {
            self.tally.valid += 1;
            self.rows[i.row as usize] += 1;
            self.check_cut(bytes, wide, i.len as usize);
        }
        if exceptions::is_apx(bytes, wide, ours.as_ref()) {
            self.compare_apx(bytes, wide, ours.as_ref());
            return mine.map(|v| v.len as usize);
        }
        let iced = self.refs.iced(bytes, wide);
        let zydis = self.refs.zydis(bytes, wide);
        let a = iced.as_ref().map(|(v, _)| *v);
        if a.map(|v| v.len) != zydis.map(|v| v.len) {
            self.tally.refs_differ += 1;
            let name = iced
                .map(|(_, i)| format!("{:?}", i.code()))
                .unwrap_or_default();
            let (b, x) = (
                zydis.map(|v| v.len),
                xed::decode(bytes, wide).map(|x| x.len),
            );
            let kind = format!(
                "iced {:?} zydis {b:?} xed {x:?} ours {:?} {name}",
                a.map(|v| v.len),
                mine.map(|v| v.len)
            );
            // XED breaks the tie
            let o = mine.map(|v| v.len);
            let most = if x == b { b } else { a.map(|v| v.len) };
            if xed::HERE && (x == a.map(|v| v.len) || x == b) && o != most {
                self.fail(format!("most say {kind}"), bytes, wide);
            }
            self.note(kind, bytes);
            return None;
        }
        if mine.map(|v| v.len) != a.map(|v| v.len) {
            if let Some(n) = exceptions::class(ours.as_ref()) {
                if !exceptions::LIST[n].xed
                    || !xed::HERE
                    || mine.map(|v| v.len) == xed::decode(bytes, wide).map(|x| x.len)
                {
                    *self.tally.excepted.entry(n).or_default() += 1;
                    return mine.map(|v| v.len as usize);
                }
            }
            let name = iced
                .map(|(_, i)| format!("{:?}", i.code()))
                .unwrap_or_else(|| {
                    ours.map(|i| format!("row {} {:x}", i.row, i.opcode))
                        .unwrap_or_default()
                });
            let kind = format!(
                "length {:?} not {:?} {name}",
                mine.map(|v| v.len),
                a.map(|v| v.len)
            );
            self.fail(kind, bytes, wide);
            return None;
        }
        let (mine, a, b) = (mine?, a?, zydis?);
        self.compare_fields(bytes, wide, &mine, &a, &b);
        if let (Some(i), Some((_, instr))) = (&ours, &iced) {
            for what in attr::check(i, instr, &mut self.factory) {
                self.fail(format!("attr {what} {:?}", instr.code()), bytes, wide);
            }
        }
        Some(mine.len as usize)
    }

    fn compare_fields(&mut self, bytes: &[u8], wide: bool, mine: &View, a: &View, b: &View) {
        let mut bad = Vec::new();
        let mut differ = Vec::new();
        macro_rules! field {
            ($f:ident) => {
                if a.$f != b.$f {
                    differ.push(stringify!($f));
                } else if mine.$f != a.$f {
                    bad.push(format!("{} {:?} not {:?}", stringify!($f), mine.$f, a.$f));
                }
            };
        }
        field!(flow);
        field!(disp);
        field!(imm);
        field!(rip);
        field!(target);
        for what in differ {
            *self.tally.fields_differ.entry(what).or_default() += 1;
            if self.notes {
                let name = self
                    .refs
                    .iced(bytes, wide)
                    .map(|(_, i)| format!("{:?}", i.code()));
                self.note(format!("field {what} {}", name.unwrap_or_default()), bytes);
            }
        }
        for what in bad {
            let name = self
                .refs
                .iced(bytes, wide)
                .map(|(_, i)| format!("{:?}", i.code()));
            let kind = format!(
                "{} {}",
                what.split(' ').next().unwrap_or(""),
                name.unwrap_or_default()
            );
            self.fail(kind, bytes, wide);
        }
    }

    fn compare_apx(&mut self, bytes: &[u8], wide: bool, ours: Option<&Insn>) {
        if !xed::HERE {
            return; // nobody else knows it
        }
        self.tally.apx += 1;
        let xed = xed::decode(bytes, wide);
        let len = ours.map(|i| i.len);
        if len != xed.as_ref().map(|x| x.len) {
            self.fail(
                format!("apx {len:?} not {:?}", xed.map(|x| x.len)),
                bytes,
                wide,
            );
            return;
        }
        if let (Some(i), Some(x)) = (ours, xed) {
            for what in attr::check_apx(i, &ours::view(i, wide), &x) {
                self.fail(format!("apx {what} {}.{:x}", i.map, i.opcode), bytes, wide);
            }
        }
    }

    /// One byte less must not do, and nothing behind the instruction may matter.
    fn check_cut(&mut self, bytes: &[u8], wide: bool, len: usize) {
        let exact = ours::decode(&bytes[..len], wide).map(|i| i.len as usize);
        if exact != Some(len) || ours::decode(&bytes[..len - 1], wide).is_some() {
            self.fail("cut short".into(), bytes, wide);
        }
    }

    fn report(&self, name: &str) -> bool {
        let t = &self.tally;
        println!(
            "# {name}: {} strings, {} valid, {} where the references disagree, {:?} in a field, {}",
            t.compared,
            t.valid,
            t.refs_differ,
            t.fields_differ,
            if xed::HERE {
                format!("{} APX against XED", t.apx)
            } else {
                "XED not asked".into()
            }
        );
        for (n, count) in &t.excepted {
            let e = &exceptions::LIST[*n];
            println!("# {name}: exception {} {count} times: {}", e.name, e.why);
        }
        let mut worst: Vec<_> = t.examples.iter().collect();
        worst.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
        for (kind, (n, example)) in worst.iter().take(60) {
            println!("# {name}: {n} x {kind}: {example}");
        }
        let mut notes: Vec<_> = t.notes.iter().collect();
        notes.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
        for (kind, (n, example)) in notes {
            println!("# {name}: note {n} x {kind}: {example}");
        }
        match t.failures {
            0 => println!("ok {name}"),
            n => println!("not ok {name}: {n} unexplained differences"),
        }
        t.failures == 0
    }
}

fn read_cases(path: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut out = Vec::new();
    for line in text.lines() {
        let f: Vec<&str> = line.splitn(5, '\t').collect();
        let [row, bits, head, bytes, text] = f[..] else {
            panic!("not a case: {line}")
        };
        out.push(Case {
            row: row.parse().expect("row"),
            wide: bits == "64",
            head: head.parse().expect("head"),
            bytes: unhex(bytes),
            text: text.to_string(),
        });
    }
    out
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: String = text.chars().filter(|c| c.is_ascii_hexdigit()).collect();
    (0..digits.len() / 2)
        .map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("hex"))
        .collect()
}

/// Every row must be reached by the case that was made for it.
fn cases(path: &str) -> bool {
    let cases = read_cases(path);
    let mut bench = Bench::new();
    let mut missed = 0;
    for c in &cases {
        let mut bytes = c.bytes.clone();
        bytes.resize(18, 0);
        bench.compare(&bytes, c.wide);
        let row = ours::decode(&bytes, c.wide).map(|i| i.row as usize);
        if row != Some(c.row) {
            println!(
                "# row {} is not reached (got {row:?}): {} {}",
                c.row,
                hex(&c.bytes),
                c.text
            );
            missed += 1;
        }
    }
    match missed {
        0 => println!("ok insn-rows-covered"),
        n => println!("not ok insn-rows-covered: {n} rows without a case"),
    }
    bench.report("insn-row-cases") && missed == 0
}

fn real(files: &[String]) -> bool {
    let mut good = true;
    for path in files {
        let name = format!("insn-real-{}", path.rsplit('/').next().unwrap_or(path));
        let Ok(file) = std::fs::read(path) else {
            println!("skip {name}: not here");
            continue;
        };
        let Some((wide, sections)) = source::code_of(&file) else {
            println!("skip {name}: not an x86 ELF file");
            continue;
        };
        let mut bench = Bench::new();
        for code in sections {
            let mut at = 0;
            while at < code.len() {
                at += bench.compare(&code[at..], wide).unwrap_or(1);
            }
        }
        good &= bench.report(&name);
    }
    good
}

fn random(path: &str, count: u64, seed: u64) -> bool {
    let cases = read_cases(path);
    let mut good = true;
    for (wide, count) in [(true, count), (false, count / 4)] {
        let mine: Vec<Case> = read_cases(path)
            .into_iter()
            .filter(|c| c.wide == wide || !wide)
            .collect();
        let mut bench = Bench::new();
        let mut s = Source {
            rng: Rng(seed),
            cases: &mine,
            wide,
        };
        for _ in 0..count {
            let bytes = s.next();
            bench.compare(&bytes, wide);
        }
        let reached = bench.rows.iter().filter(|n| **n > 0).count();
        let name = if wide {
            "insn-random-64"
        } else {
            "insn-random-32"
        };
        println!(
            "# {name}: seed {seed}, {reached} of {} rows seen",
            cases.len()
        );
        good &= bench.report(name);
    }
    good
}

fn every(evex: bool) -> bool {
    let mut good = true;
    for wide in [true, false] {
        let mut bench = Bench::new();
        let mut see = |bytes: &[u8]| {
            bench.compare(bytes, wide);
        };
        if evex {
            source::every_evex(&mut see);
        } else {
            source::every_legacy(wide, &mut see);
            source::every_vex(&mut see);
        }
        let what = if evex { "evex" } else { "opcode" };
        good &= bench.report(&format!("insn-every-{what}-{}", if wide { 64 } else { 32 }));
    }
    good
}

/// The best of several runs over each file: the machine may be busy with other things.
fn speed(files: &[String]) -> bool {
    for path in files {
        let Ok(file) = std::fs::read(path) else {
            println!("skip insn-speed: {path} is not here");
            continue;
        };
        let Some((wide, sections)) = source::code_of(&file) else {
            continue;
        };
        let best = (0..7)
            .map(|_| sweep(&sections, wide))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((n, rate)) = best {
            println!(
                "# {path}: {n} instructions, {:.1} million a second",
                rate / 1e6
            );
        }
    }
    true
}

/// Decode everything once: how many instructions, and how many a second.
fn sweep(sections: &[&[u8]], wide: bool) -> (u64, f64) {
    let (mut n, mut insn) = (0u64, ours::Insn::default());
    let start = std::time::Instant::now();
    for code in sections {
        let mut at = 0;
        while at < code.len() {
            at += ours::decode_into(&mut insn, &code[at..], wide).max(1);
            n += 1;
        }
    }
    (n, n as f64 / start.elapsed().as_secs_f64())
}

fn show(text: &str, wide: bool) -> bool {
    let mut bytes = unhex(text);
    bytes.resize(bytes.len().max(18), 0);
    let refs = Refs::new();
    let ours = ours::decode(&bytes, wide);
    println!(
        "ours  {:?}",
        ours.as_ref().map(|i| (i.row, ours::view(i, wide)))
    );
    let iced = refs.iced(&bytes, wide);
    println!("iced  {:?}", iced.map(|(v, i)| (i.code(), v)));
    println!("zydis {:?}", refs.zydis(&bytes, wide));
    println!(
        "xed   {:?}",
        xed::decode(&bytes, wide).map(|x| (x.len, x.disp, x.imm, x.gp))
    );
    true
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize| args.get(n).and_then(|a| a.parse().ok());
    let good = match args.first().map(String::as_str) {
        Some("cases") if args.len() == 2 => cases(&args[1]),
        Some("real") => real(&args[1..]),
        Some("random") if args.len() == 4 => match (number(2), number(3)) {
            (Some(count), Some(seed)) => random(&args[1], count, seed),
            _ => false,
        },
        Some("every") => every(args.get(1).is_some_and(|a| a == "evex")),
        Some("speed") => speed(&args[1..]),
        Some("show") if args.len() > 1 => show(&args[1], args.get(2).is_none_or(|a| a != "32")),
        _ => {
            eprintln!("usage: insn-bench cases|real|random|every|speed|show ...");
            exit(2);
        }
    };
    exit(!good as i32);
}
