// SPDX-License-Identifier: MIT
//! Functions that a kernel runs once, as it starts (`__init`), and those that are for nothing in it (`__exit`): their text is
//! gone then, though BTF describes them. No probe can stand there.

use super::kallsyms::{symbols, Symbol};
use crate::elf::Elf;
use std::collections::BTreeSet;

/// That of the kernel that runs here.
const LIVE: &str = "/proc/kallsyms";
const DATA: &str = ".rodata";
/// What goes begins and ends with these; where the kernel lists text alone, with the others.
const BOUNDS: [(&str, &str); 2] = [("__init_begin", "__init_end"), ("_sinittext", "_einittext")];

#[derive(Default)]
pub struct Once(BTreeSet<String>);

impl Once {
    /// `all`: in the order of addresses. Where another that stays has the name it is none.
    fn among(all: &[Symbol]) -> Once {
        let place = |name: &str| all.iter().position(|s| s.1 == name);
        let mut bounds = BOUNDS
            .iter()
            .filter_map(|(from, to)| Some((place(from)?, place(to)?)));
        let Some((from, to)) = bounds.find(|(from, to)| from < to) else {
            return Once::default();
        };
        let is_text = |s: &&Symbol| matches!(s.0, b't' | b'T' | b'w' | b'W');
        let within = all[from..to].iter().filter(is_text);
        let mut once: BTreeSet<String> = within.map(|s| s.1.clone()).collect();
        // The others are a hundred times as many: no set is made of them.
        for stays in all[..from].iter().chain(&all[to..]).filter(is_text) {
            once.remove(&stays.1);
        }
        Once(once)
    }

    /// `elf`: a kernel, unpacked.
    pub fn in_file(elf: &Elf) -> Once {
        let found = symbols(elf.section(DATA), elf.order());
        Once::among(&found.unwrap_or_default())
    }

    /// As the kernel that runs here lists them, to anybody.
    pub fn listed() -> Once {
        let text = std::fs::read_to_string(LIVE).unwrap_or_default();
        Once::among(&text.lines().map_while(own).collect::<Vec<_>>())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, function: &str) -> bool {
        self.0.contains(function)
    }

    /// A line for each, to be kept.
    pub fn text(&self) -> String {
        self.0.iter().map(|name| format!("{name}\n")).collect()
    }

    pub fn from_text(text: &str) -> Once {
        Once(text.lines().map(String::from).collect())
    }
}

/// `ADDRESS KIND NAME`; those of modules, behind all others, have a word more.
fn own(line: &str) -> Option<Symbol> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (kind, name) = (words.next()?, words.next()?);
    let kind = *kind.as_bytes().first()?;
    words.next().is_none().then(|| (kind, name.into()))
}

#[cfg(test)]
mod tests {
    use super::Once;

    fn among(list: &str) -> String {
        let of = |word: &str| (word.as_bytes()[0], word[1..].to_string());
        let all: Vec<_> = list.split_ascii_whitespace().map(of).collect();
        Once::among(&all).text().replace('\n', " ")
    }

    #[test]
    fn what_lies_between_the_bounds_goes() {
        let list = "Tread topen D__init_begin topen T_sinittext Tstart wlate Dtable T_einittext texit R__init_end tclose";
        assert_eq!(among(list), "_einittext _sinittext exit late start ");
        assert_eq!(
            among("Tread T_sinittext Tstart T_einittext tclose"),
            "_sinittext start "
        );
        assert_eq!(among("Tread T_einittext Tstart T_sinittext"), "");
        assert_eq!(among("Tread"), "");
    }
}
