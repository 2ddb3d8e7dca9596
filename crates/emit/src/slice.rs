// SPDX-License-Identifier: MIT
//! Slices of arrays: `a[*, k]` in `foreach`, `delete` and `in` walks the array
//! and leaves out what does not match.

use crate::body::{Body, Value};
use trapless_sema::ir::{GlobalId, GlobalKind, Slice, Ty};
use trapless_syntax::span::Span;

/// A key that is given: its number, its type, its value.
pub(crate) type SliceKey = (usize, Ty, Value);

impl Body<'_, '_> {
    /// The keys that are given, computed once, whatever the loop changes.
    pub fn slice_keys(&mut self, slice: &Slice) -> Vec<SliceKey> {
        let given = slice.iter().enumerate();
        let given = given.filter_map(|(n, key)| Some((n, key.as_ref()?)));
        given.map(|(n, e)| (n, e.ty, self.kept(e))).collect()
    }

    /// On with the loop where an element does not match.
    pub fn skip_others(&mut self, it: &str, slice: &[SliceKey]) {
        for (n, ty, value) in slice {
            match ty {
                Ty::Long => self.line(format!(
                    "if (tl_iter_long(&{it}, {n}) != {value}) continue;"
                )),
                Ty::Str => {
                    let key = self.string();
                    self.call(format!("tl_iter_str(&{it}, {n}, {key});"));
                    self.line(format!("if (tl_str_cmp({key}, {value})) continue;"));
                }
            }
        }
    }

    pub fn in_slice(&mut self, map: GlobalId, slice: &Slice, span: Span) -> Value {
        let found = self.long("0");
        self.each_of_slice(map, slice, span, |body, _| {
            body.line(format!("{found} = 1;"));
            body.line("break;");
        });
        found
    }

    pub fn delete_slice(&mut self, map: GlobalId, slice: &Slice, span: Span) {
        self.each_of_slice(map, slice, span, |body, it| {
            let keys = body.keys_at(map, it);
            body.call(format!("tl_map_delete(run, &map{}, {keys});", map.0));
        });
    }

    fn each_of_slice(
        &mut self,
        map: GlobalId,
        slice: &Slice,
        span: Span,
        each: impl FnOnce(&mut Self, &str),
    ) {
        self.open("");
        let slice = self.slice_keys(slice);
        let it = format!("it{}", self.number());
        self.frame(64);
        self.line(format!("struct tl_iter {it};"));
        self.call(format!(
            "tl_iter_begin(run, &{it}, &map{}, TL_SORT_NONE, 1, TL_COUNT, TL_NO_LIMIT);",
            map.0
        ));
        self.open(&format!("while (tl_iter_next(&{it}))"));
        self.spend(1, span);
        self.skip_others(&it, &slice);
        each(self, &it);
        self.close();
        self.close();
    }

    /// All keys of the element at which the walk stands, as a C array.
    fn keys_at(&mut self, map: GlobalId, it: &str) -> Value {
        let kind = &self.unit.program.globals[map.0 as usize].kind;
        let types = match kind {
            GlobalKind::Map { keys, .. } => keys.clone(),
            _ => Vec::new(),
        };
        let mut words = Vec::new();
        for (n, ty) in types.iter().enumerate() {
            words.push(match ty {
                Ty::Long => format!("TL_LONG(tl_iter_long(&{it}, {n}))"),
                Ty::Str => {
                    let key = self.string();
                    self.call(format!("tl_iter_str(&{it}, {n}, {key});"));
                    format!("TL_STR({key})")
                }
            });
        }
        self.value_array(&words)
    }

    /// A `struct tl_value` for each word.
    pub fn value_array(&mut self, words: &[String]) -> Value {
        let name = format!("k_{}", self.number());
        self.frame(16 * words.len() as u32);
        self.line(format!(
            "const struct tl_value {name}[] = {{ {} }};",
            words.join(", ")
        ));
        name
    }
}
