// SPDX-License-Identifier: MIT
//! A kernel's functions and types, out of BTF that a compiler has made.

use std::path::{Path, PathBuf};
use std::process::Command;
use trapless_debuginfo::*;

const SOURCE: &str = "
    enum color { RED = 3, GREEN };
    struct file;
    struct inner { int first; char name[8]; };
    struct thing {
        int low : 3;
        unsigned high : 9;
        const char *text;
        struct thing *next;
        union { long number; struct inner in; };
        enum color color;
        struct file *file;
        int many[];
    };
    typedef struct thing thing_t;
    typedef struct { long a, b, c; } large;
    int thing_get(thing_t *thing, unsigned long n) { return thing->low + thing->high + n; }
    int thing_put(thing_t *thing, int n) { return thing->color + n; }
    void thing_drop(struct thing *thing, __int128 wide, char c) { thing->next = 0; thing->number = wide + c; }
";

fn dir(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("kernel")
        .join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A folder with a `vmlinux` that is no more than this source.
fn kernel_of(name: &str, target: &str) -> Kernel {
    let folder = dir(name);
    std::fs::write(folder.join("kernel.c"), SOURCE).unwrap();
    let built = Command::new("clang")
        .args(["-target", target, "-O1", "-g", "-w", "-c", "-o"])
        .arg(folder.join("vmlinux"))
        .arg(folder.join("kernel.c"))
        .status()
        .expect("clang (make deps installs it)");
    assert!(built.success());
    let folder = folder.to_str().unwrap();
    Kernel::open(Some(folder), None, Default::default(), Types::new()).unwrap()
}

fn both() -> [Kernel; 2] {
    [kernel_of("little", "bpfel"), kernel_of("big", "bpfeb")]
}

#[test]
fn functions_are_found_by_name_and_pattern() {
    for k in both() {
        let names = |pattern| {
            let found = k.functions(pattern);
            found.iter().map(|f| f.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("thing_get"), ["thing_get"]);
        assert_eq!(names("thing_?[eu]t"), ["thing_get", "thing_put"]);
        assert!(names("thing").is_empty());
        assert_eq!(k.nearest("thing_gte"), ["thing_get", "thing_put"]);
    }
}

#[test]
fn parameters_are_passed_as_the_convention_has_it() {
    let arguments = <&trapless_machine::Machine>::default()
        .abi
        .passing
        .arguments;
    for k in both() {
        let of = |name: &str| k.parameters(&k.functions(name)[0]);
        let (get, put) = (of("thing_get"), of("thing_put"));
        let names: Vec<&str> = get.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["thing", "n"]);
        assert_eq!(k.types().name(get[0].ty), "thing_t *");
        assert_eq!(get[1].location, Some(Location::Register(arguments[1])));
        assert_eq!(put.len(), 2);
        // The wide one takes two registers.
        assert_eq!(
            of("thing_drop")[2].location,
            Some(Location::Register(arguments[3]))
        );
        let get = k.functions("thing_get").remove(0);
        assert_eq!(k.types().name(k.return_value(&get).unwrap().ty), "int");
        let drop = k.functions("thing_drop").remove(0);
        assert_eq!(k.return_value(&drop).unwrap_err().tag(), "RETURN_VOID");
    }
}

#[test]
fn types_are_what_the_source_says() {
    let little = kernel_of("types", "bpfel");
    let (k, types) = (&little, little.types());
    let thing = k.find_type("struct thing").unwrap();
    let size = |name| types.size(types.member(thing, name).unwrap().ty);
    let at = |name| types.member(thing, name).unwrap();
    let field = |shift, width| {
        Some(BitField {
            storage: 4,
            shift,
            width,
        })
    };
    assert_eq!(types.size(thing), Some(56));
    assert_eq!((at("low").offset, at("low").bits), (0, field(0, 3)));
    assert_eq!((at("high").offset, at("high").bits), (0, field(3, 9)));
    assert_eq!(
        (at("next").offset, at("number").offset, at("in").offset),
        (16, 24, 24)
    );
    assert_eq!((size("many"), size("in")), (None, Some(12)));
    assert!(types.is_signed(at("low").ty) && !types.is_signed(at("high").ty));
    assert_eq!(types.name(at("text").ty), "const char *");
    assert_eq!(
        types.name(k.find_type("struct thing **").unwrap()),
        "struct thing **"
    );
    assert_eq!(
        types.strip(k.find_type("thing_t").unwrap()),
        types.strip(thing)
    );
    assert_eq!(
        types.name(k.find_type("unsigned long").unwrap()),
        "unsigned long"
    );
    assert_eq!(
        k.find_type("struct absent").unwrap_err().tag(),
        "TYPE_UNKNOWN"
    );
    assert_eq!(
        (
            k.enumerator("RED"),
            k.enumerator("GREEN"),
            k.enumerator("BLUE")
        ),
        (Some(3), Some(4), None)
    );
}

/// As a boot loader starts it: two sectors, then what a command makes of `vmlinux`.
fn packed(folder: &Path, command: &[&str]) {
    let out = Command::new(command[0])
        .args(&command[1..])
        .arg(folder.join("vmlinux"))
        .output()
        .expect(command[0]);
    assert!(out.status.success());
    let mut file = vec![0; 1024];
    file[0x1f1] = 1;
    file[0x202..0x206].copy_from_slice(b"HdrS");
    let length = (out.stdout.len() + 4) as u32;
    file[0x24c..0x250].copy_from_slice(&length.to_le_bytes());
    file.extend([&out.stdout[..], b"size"].concat());
    std::fs::create_dir_all(folder.join("image/boot")).unwrap();
    std::fs::write(folder.join("image/boot/vmlinuz-6.1.0-test"), file).unwrap();
}

#[test]
fn packed_kernels_are_unpacked_once() {
    let little = kernel_of("packed", "bpfel");
    let folder = little.path().parent().unwrap();
    let cache = folder.join("cache");
    let _ = std::fs::remove_dir_all(&cache);
    let image = folder.join("image");
    let named = image.to_str();
    let (machine, gzip) = (Default::default(), ["gzip", "-nc"]);
    let xz = ["xz", "-c", "--check=crc32", "--x86", "--lzma2"];
    for (n, command) in [&gzip[..], &xz[..]].into_iter().enumerate() {
        packed(folder, command);
        for _ in 0..2 {
            let k = Kernel::open(named, Some(&cache), machine, Types::new()).unwrap();
            assert_eq!(k.functions("*"), little.functions("*"));
        }
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), n + 1);
    }
    assert_eq!(release_of(named.unwrap()), "6.1.0-test");
    assert_eq!(release_of("6.12"), "6.12");
}

#[test]
fn what_is_not_there_is_told() {
    let tag = |folder: &str| {
        let opened = Kernel::open(Some(folder), None, Default::default(), Types::new());
        opened.map(|_| ()).unwrap_err().tag()
    };
    let folder = dir("none");
    let file = folder.join("vmlinux");
    assert_eq!(tag("/nowhere/at/all"), "KERNEL_FILES");
    std::fs::copy(std::env::current_exe().unwrap(), &file).unwrap();
    assert_eq!(tag(folder.to_str().unwrap()), "KERNEL_FILES", "no BTF");
    std::fs::write(&file, "text").unwrap();
    assert_eq!(tag(folder.to_str().unwrap()), "FILE_NOT_ELF");
}

#[test]
fn damaged_btf_never_panics() {
    let folder = dir("damaged");
    let whole = kernel_of("damaged-source", "bpfel");
    let bytes = std::fs::read(whole.path()).unwrap();
    let at = bytes.windows(4).position(|w| w == [0x9f, 0xeb, 1, 0]);
    let at = at.expect("BTF");
    let file = folder.join("vmlinux");
    for n in 0..1500 {
        let mut damaged = bytes.clone();
        damaged[at + n % 750] = (n * 37) as u8 ^ 0x85;
        std::fs::write(&file, damaged).unwrap();
        let opened = Kernel::open(folder.to_str(), None, Default::default(), Types::new());
        let Ok(k) = opened else { continue };
        for f in k.functions("*") {
            let _ = (k.parameters(&f).len(), k.return_value(&f).is_ok());
        }
        for name in ["struct thing", "thing_t", "large", "enum color"] {
            let Ok(ty) = k.find_type(name) else { continue };
            let _ = (k.types().name(ty), k.types().member_names(ty));
        }
    }
}

/// A module's file as kbuild leaves it: compiled, and not linked.
fn module_in(folder: &Path, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts/sema/lines.c");
    let modules = folder.join("lib/modules");
    std::fs::create_dir_all(&modules).unwrap();
    let file = modules.join("lines.ko");
    let built = Command::new("cc")
        .args(["-O1", "-g", "-c", "-o"])
        .arg(&file)
        .arg(source)
        .args(flags)
        .status();
    assert!(built.expect("a C compiler").success());
    file
}

/// The line of lines.c that has this mark.
fn line(mark: &str) -> u64 {
    let source = include_str!("../../../tests/scripts/sema/lines.c");
    let marked = format!("/* {mark} */");
    let at = source.lines().position(|l| l.contains(&marked)).unwrap();
    at as u64 + 1
}

fn lines_of(kernel: &Kernel) -> Result<KernelDebug> {
    let info = DebugInfo::new(SearchPath {
        servers: Servers::default(),
        ..SearchPath::host()
    });
    info.of_kernel(&kernel.module("lines").unwrap())
}

#[test]
fn a_module_that_is_not_linked_has_lines_and_locals() {
    for flags in [
        &[][..],
        &["-gz=zlib"][..],
        &["-gdwarf-4", "-ffunction-sections"][..],
    ] {
        let kernel = kernel_of("lines", "bpfel");
        module_in(kernel.path().parent().unwrap(), flags);
        let debug = lines_of(&kernel).unwrap();
        let binary = &debug.binary;
        let text = format!("*@lines.c:{}", line("added"));
        let found = binary
            .statements(&Pattern::parse(&text).unwrap(), false)
            .unwrap();
        let at = debug.at(found[0].addr).unwrap();
        assert_eq!(&*at.function, "lines_sum", "{flags:?}");
        assert!(at.offset > 0);
        let cx = binary.context_at(found[0].addr).unwrap();
        let sum = binary.variable(&cx, "sum").unwrap();
        assert!(binary.locate(&sum, &cx).unwrap().is_readable());
        let copies = Pattern::parse("lines_double").unwrap();
        let copies = binary.functions(&copies, Inlines::Only).unwrap();
        assert_eq!(&*debug.at(copies[0].entry).unwrap().function, "lines_sum");
        let calls = binary.global("calls", None).unwrap();
        assert!(binary.locate_global(&calls).unwrap().is_of_file());
        // What runs once is no code.
        let once = format!("*@lines.c:{}", line("once"));
        let once = binary.statements(&Pattern::parse(&once).unwrap(), false);
        assert!(once.map_or(true, |s| s.iter().all(|s| !binary.is_code(s.addr))));
        assert!(kernel
            .module("lines")
            .unwrap()
            .exported()
            .unwrap()
            .contains("lines_sum"));
    }
}

#[test]
fn debug_information_may_lie_beside_a_module() {
    let kernel = kernel_of("beside", "bpfel");
    let folder = kernel.path().parent().unwrap();
    let file = module_in(folder, &[]);
    let strip = |words: &[&str], to: &Path| {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        let done = Command::new("objcopy")
            .args(words)
            .args([&file, to])
            .status();
        assert!(done.unwrap().success());
    };
    let beside = folder.join("lib/modules/lines.ko.debug");
    let packaged = folder.join("usr/lib/debug/lib/modules/lines.ko");
    for path in [&beside, &packaged] {
        let _ = std::fs::remove_file(path);
    }
    let whole = folder.join("whole");
    std::fs::copy(&file, &whole).unwrap();
    strip(&["--strip-debug"], &folder.join("bare"));
    for path in [beside, packaged] {
        std::fs::copy(&whole, &file).unwrap();
        strip(&["--only-keep-debug"], &path);
        std::fs::copy(folder.join("bare"), &file).unwrap();
        let debug = lines_of(&kernel).unwrap();
        assert_eq!(debug.binary.path(), path);
        let sum = debug
            .binary
            .functions(&Pattern::parse("lines_sum").unwrap(), Inlines::No);
        assert_eq!(sum.unwrap().len(), 1);
        std::fs::remove_file(path).unwrap();
        let none = lines_of(&kernel).map(|_| ()).unwrap_err();
        assert_eq!(none.tag(), "DEBUGINFO_NONE");
        assert!(none
            .to_string()
            .contains("usr/lib/debug/lib/modules/lines.ko,"));
    }
}

#[test]
fn damaged_modules_never_panic() {
    let kernel = kernel_of("damaged-module", "bpfel");
    let file = module_in(kernel.path().parent().unwrap(), &[]);
    let whole = std::fs::read(&file).unwrap();
    for n in 0..400 {
        let mut damaged = whole.clone();
        // Headers, sections' headers at the end, and what lies between.
        let at = match n % 4 {
            0 => n % 64,
            1 => whole.len() - 1 - n * 5,
            _ => n * whole.len() / 400,
        };
        damaged[at] ^= (n * 37) as u8 | 0x11;
        std::fs::write(&file, damaged).unwrap();
        if kernel.module("lines").is_err() {
            continue;
        }
        let Ok(debug) = lines_of(&kernel) else {
            continue;
        };
        let all = Pattern::parse("*@lines.c:*").unwrap();
        for s in debug.binary.statements(&all, false).unwrap_or_default() {
            let _ = debug.at(s.addr);
            let Ok(cx) = debug.binary.context_at(s.addr) else {
                continue;
            };
            for v in debug.binary.variables(&cx).unwrap_or_default() {
                let _ = debug.binary.locate(&v, &cx);
            }
        }
    }
}
