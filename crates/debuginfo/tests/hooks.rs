// SPDX-License-Identifier: MIT
//! Static hooks, as compilers and linkers leave them, and tables that must not be believed.

mod common;
#[path = "../../../tests/fuzz/random.rs"]
mod random;
use common::*;
use object::{Object, ObjectSection};
use random::{deadline, Random};
use std::path::{Path, PathBuf};
use std::time::Instant;
use trapless_debuginfo::*;

const SOURCES: [&str; 2] = ["hooks.c", "hooks_other.c"];

fn hooked(name: &str, compiler: &str, options: &[&str]) -> PathBuf {
    build_of(name, compiler, options, &SOURCES)
}

fn described(h: &Hook) -> String {
    let parameters: Vec<String> = h
        .parameters
        .iter()
        .map(|p| {
            let sign = if p.signed { "-" } else { "" };
            format!("{} {}:{:?} {sign}{}", p.ty, p.name, p.class, p.size)
        })
        .collect();
    format!("{} ({})", h.full_name(), parameters.join(", "))
}

const ALL: [&str; 4] = [
    "demo:tick (long i:Number -8, const char * word:Pointer 8)",
    "kind:by_value (struct pair pr:Other 16, float fl:Float 4, short n:Number -2)",
    "net:packet_in (const struct packet * p:Pointer 8, uint32_t len:Number 4, unsigned char c:Number 1, double d:Float 8)",
    "sec:may_open (const char * path:Pointer 8, int flags:Number -4)",
];

fn check(what: &str, path: &Path) {
    let bin = open(path);
    let table = bin.hooks();
    assert_eq!(table.damaged, [], "{what}");
    let mut found: Vec<String> = table.hooks.iter().map(described).collect();
    found.sort();
    assert_eq!(found, ALL, "{what}");
    for h in &table.hooks {
        let own = format!("tl_hook_{}_{}_call", h.provider, h.name);
        // Sanitizers and linkers add to names, a stripped file has none.
        let at = bin.symbols().at(h.mark).map(|s| s.name.to_string());
        assert!(at.is_none_or(|at| at.starts_with(&own)), "{what}: {own}");
        let unread = |p: &&HookParameter| matches!(p.place, Operand::Unreadable(_));
        assert_eq!(h.parameters.iter().find(unread), None, "{what}");
        assert!(matches!(h.parameters[0].place, Operand::Memory { .. }));
    }
    let marks = bin.marks();
    let of_hooks = |m: &&Mark| table.hooks.iter().any(|h| h.mark == m.addr);
    assert_eq!(marks.iter().filter(of_hooks).count(), 4, "{what}");
    assert_eq!(marks.len(), 4, "{what}: {marks:?}");
}

#[test]
fn hooks_of_every_build() {
    let ways: [(&str, &[&str]); 12] = [
        ("O0", &["-O0"]),
        ("O1", &["-O1"]),
        ("O2", &["-O2", "-g"]),
        ("O3", &["-O3"]),
        ("Os", &["-Os"]),
        ("fixed", &["-O2", "-fno-pie", "-no-pie"]),
        ("pie", &["-O2", "-fPIC", "-pie"]),
        ("static", &["-O2", "-static"]),
        ("lto", &["-O2", "-flto"]),
        ("gc", &["-O2", "-ffunction-sections", "-Wl,--gc-sections"]),
        ("shared", &["-O2", "-fPIC", "-shared"]),
        ("stripped", &["-O2", "-s"]),
    ];
    for cc in ["gcc", "clang"] {
        for (way, options) in ways {
            let name = format!("hooks-{cc}-{way}");
            check(&name, &hooked(&name, cc, options));
        }
    }
    for cc in ["g++", "clang++"] {
        for way in ["-O0", "-O2"] {
            let name = format!("hooks-{cc}{way}");
            check(&name, &hooked(&name, cc, &[way, "-x", "c++"]));
        }
    }
}

#[test]
fn without_the_notes_of_marks() {
    let path = hooked("hooks-unmarked", "gcc", &["-O2"]);
    run("objcopy", &["-R", ".note.stapsdt", path.to_str().unwrap()]);
    let bin = open(&path);
    assert!(bin.marks().is_empty());
    let table = bin.hooks();
    assert_eq!((table.hooks.len(), table.damaged.len()), (4, 0));
    for p in table.hooks.iter().flat_map(|h| &h.parameters) {
        assert!(matches!(p.place, Operand::Unreadable(why) if why.contains("is gone")));
    }
}

/// A file with hooks, and where its table lies in it.
struct Original {
    bytes: Vec<u8>,
    table: std::ops::Range<usize>,
    marks: std::ops::Range<usize>,
}

fn original(name: &str, compiler: &str) -> Original {
    let bytes = std::fs::read(hooked(name, compiler, &["-O1", "-g"])).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let range = |section: &str| {
        let section = file.section_by_name(section).unwrap();
        let (from, size) = section.file_range().unwrap();
        from as usize..(from + size) as usize
    };
    let (table, marks) = (range(".note.trapless"), range(".note.stapsdt"));
    Original {
        bytes,
        table,
        marks,
    }
}

/// Where in the file the text begins, from `from` on.
fn find(bytes: &[u8], from: usize, text: &str) -> usize {
    let mut all = bytes[from..].windows(text.len());
    from + all.position(|w| w == text.as_bytes()).unwrap()
}

/// Change the row of net:packet_in, whose name begins at the given place, and read the file.
fn damaged(original: &Original, change: impl FnOnce(&mut [u8], usize)) -> HookTable {
    let mut bytes = original.bytes.clone();
    let name = find(&bytes, original.table.start, "net:packet_in");
    change(&mut bytes, name);
    let path = dir("fixtures").join("hooks-damaged.bin");
    std::fs::write(&path, bytes).unwrap();
    open(&path).hooks()
}

fn add(bytes: &mut [u8], at: usize, n: i32) {
    let word: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
    let sum = i32::from_le_bytes(word).wrapping_add(n);
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn damaged_rows_are_refused_by_name() {
    let good = original("hooks-good", "gcc");
    const FAR: i32 = 0x4000_0000;
    let net = "net:packet_in";
    type Change = fn(&mut [u8], usize);
    let changes: [(Change, &str, &str); 13] = [
        (
            |b, at| add(b, at - 16, FAR),
            net,
            "no memory that can be written",
        ),
        (
            |b, at| add(b, at - 16, 1),
            net,
            "no memory that can be written",
        ),
        (
            |b, at| add(b, at - 12, FAR),
            net,
            "its function lies outside",
        ),
        (|b, at| add(b, at - 8, -FAR), net, "its mark lies outside"),
        (
            |b, at| add(b, at - 8, 1),
            net,
            "the instruction at its mark",
        ),
        (
            |b, at| add(b, at - 12, 64),
            net,
            "no mark of it is in its function",
        ),
        (|b, at| b[at + 3] = b'_', "row ", "of the form"),
        (|b, at| b[at] = b'"', "row ", "of the form"),
        (|b, at| b[at] = 0xff, "row ", "has no end"),
        (|b, at| b[at + 13] = b'x', net, "its result has no type"),
        // The length of the row, which then ends with a name's first letters, or within a parameter.
        (|b, at| add(b, at - 16 - 20, -2), net, "has no end"),
        (|b, at| add(b, at - 16 - 20, -8), net, "has no end"),
        (
            |b, at| add(b, at - 16 - 20, FAR),
            "row ",
            "ends within a row",
        ),
    ];
    for (i, (change, name, why)) in changes.into_iter().enumerate() {
        let table = damaged(&good, change);
        let told = &table.damaged;
        let named = |d: &&DamagedHook| d.name.starts_with(name) || d.name.ends_with("packet_in");
        assert!(
            told.iter().filter(named).any(|d| d.why.contains(why)),
            "{i}: {told:?}"
        );
        let left = table.hooks.iter().filter(|h| h.full_name() == net).count();
        assert_eq!(left, 0, "{i}");
        // Behind a wrong length nothing is a row.
        if !told.iter().any(|d| d.why.contains("within a row")) {
            assert_eq!(table.hooks.len(), 3, "{i}: {told:?}");
        }
    }
}

#[test]
fn hooks_that_share_something_are_refused() {
    let good = original("hooks-shared", "gcc");
    let all = good.bytes.clone();
    let other = find(&all, good.table.start, "kind:by_value");
    let like_the_other = |word: usize| {
        let all = &all;
        move |b: &mut [u8], at: usize| {
            let value: [u8; 4] = all[other - word..other - word + 4].try_into().unwrap();
            b[at - word..at - word + 4].copy_from_slice(&value);
            add(b, at - word, other as i32 - at as i32);
        }
    };
    let table = damaged(&good, |b, at| {
        like_the_other(12)(b, at);
        like_the_other(8)(b, at);
    });
    let names: Vec<&str> = table.damaged.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["net:packet_in", "kind:by_value"], "{table:?}");
    assert!(table.damaged[0].why.contains("--icf"), "{table:?}");
    let table = damaged(&good, like_the_other(16));
    assert!(
        table.damaged[0].why.contains("counter overlaps"),
        "{table:?}"
    );
    assert_eq!((table.hooks.len(), table.damaged.len()), (2, 2));
}

#[test]
fn damaged_tables_never_panic() {
    let mut random = Random::new(22);
    let originals = [
        original("hooks-fuzz-gcc", "gcc"),
        original("hooks-fuzz-clang", "clang"),
    ];
    let path = dir("fixtures").join("hooks-fuzzed.bin");
    let end = deadline(2);
    let mut rounds = 0;
    while Instant::now() < end || rounds < 50 {
        let original = &originals[rounds % 2];
        let mut bytes = original.bytes.clone();
        let ranges = [&original.table, &original.table, &original.marks];
        let range = ranges[random.below(3)].clone();
        let mut part = bytes[range.clone()].to_vec();
        random.damage(&mut part);
        bytes[range.start..range.start + part.len()].copy_from_slice(&part);
        std::fs::write(&path, &bytes).unwrap();
        let bin = open(&path);
        let types = bin.types();
        for hook in bin.hooks().hooks {
            assert!(bin.is_code(hook.mark) && bin.is_code(hook.function));
            for p in &hook.parameters {
                let _ = (types.listed(p.type_in(types, 8)), p.as_argument());
            }
        }
        let _ = bin.marks();
        rounds += 1;
    }
    println!("{rounds} damaged tables");
}
