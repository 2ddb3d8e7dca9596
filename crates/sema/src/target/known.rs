// SPDX-License-Identifier: MIT
//! Types that `--pretty` recognises: a row for each, and for each way its members have been named.

/// The way to a part, member by member; pointers are followed, and members of bases are found by their names alone.
/// `:NAME` is the base whose name begins so.
pub(super) type Path = &'static [&'static str];

/// How a value is shown.
pub(super) enum Shape {
    /// So many bytes from there on.
    Text { at: Path, length: Path },
    /// Elements side by side.
    Row { first: Path, of: Of, count: Count },
    /// What the pointer there leads to, or `nullptr`.
    Pointer(Path),
    /// That part.
    Part(Path),
    /// That part where a word is not 0, else the text.
    Perhaps {
        there: Path,
        value: Path,
        none: &'static str,
    },
}

/// The type of elements.
pub(super) enum Of {
    /// What the pointer to the first one says.
    Pointer,
    /// What the container was made with.
    Argument(usize),
}

pub(super) enum Count {
    Is(Path),
    /// As many as there are up to this pointer.
    UpTo(Path),
}

pub(super) struct Known {
    /// The type's name; how it begins, where that ends in a sign. Empty: it has none.
    name: &'static str,
    pub(super) shape: Shape,
}

impl Known {
    pub(super) fn fits(&self, name: &str) -> bool {
        match self.name.ends_with(|c: char| c.is_ascii_punctuation()) {
            true => name.starts_with(self.name),
            false => name == self.name,
        }
    }
}

const fn known(name: &'static str, shape: Shape) -> Known {
    Known { name, shape }
}

const fn text(name: &'static str, at: Path, length: Path) -> Known {
    known(name, Shape::Text { at, length })
}

const fn row(name: &'static str, first: Path, of: Of, count: Count) -> Known {
    known(name, Shape::Row { first, of, count })
}

/// The first row whose name fits and whose members are there is taken.
#[rustfmt::skip]
pub(super) const KNOWN: &[Known] = &[
    // C++: libstdc++
    text("std::__cxx11::basic_string<char,", &["_M_dataplus", "_M_p"], &["_M_string_length"]),
    text("std::basic_string_view<char,", &["_M_str"], &["_M_len"]),
    row("std::vector<", &["_M_impl", "_M_start"], Of::Pointer, Count::UpTo(&["_M_impl", "_M_finish"])),
    known("std::array<", Shape::Part(&["_M_elems"])),
    known("std::optional<", Shape::Perhaps {
        there: &["_M_payload", "_M_engaged"],
        value: &["_M_payload", "_M_payload", "_M_value"],
        none: "nullopt",
    }),
    known("std::unique_ptr<", Shape::Pointer(
        &["_M_t", "_M_t", ":std::_Tuple_impl<0", ":std::_Head_base<0", "_M_head_impl"])),
    known("std::shared_ptr<", Shape::Pointer(&["_M_ptr"])),
    // Rust; its texts and enums are known without --pretty, too (rust.rs)
    row("alloc::vec::Vec<", &["buf", "inner", "ptr", "pointer", "pointer"], Of::Argument(0), Count::Is(&["len"])),
    row("alloc::vec::Vec<", &["buf", "ptr", "pointer", "pointer"], Of::Argument(0), Count::Is(&["len"])),
    row("&[", &["data_ptr"], Of::Pointer, Count::Is(&["length"])),
    row("&mut [", &["data_ptr"], Of::Pointer, Count::Is(&["length"])),
    row("alloc::boxed::Box<[", &["data_ptr"], Of::Pointer, Count::Is(&["length"])),
    known("alloc::rc::Rc<", Shape::Part(&["ptr", "pointer", "value"])),
    known("alloc::sync::Arc<", Shape::Part(&["ptr", "pointer", "data"])),
    // Go: its own compiler, and gccgo
    text("string", &["str"], &["len"]),
    text("", &["__data"], &["__length"]),
    row("[]", &["array"], Of::Pointer, Count::Is(&["len"])),
    row("", &["__values"], Of::Pointer, Count::Is(&["__count"])),
];
