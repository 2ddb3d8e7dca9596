// SPDX-License-Identifier: MIT
//! ELF notes, one after the other: three words, who made it, and what it says.

use trapless_machine::ByteOrder;

pub(crate) struct Note<'a> {
    pub kind: u64,
    /// With its end.
    pub owner: &'a [u8],
    pub body: &'a [u8],
    /// Bytes of the section before the body.
    pub at: usize,
}

pub(crate) struct Notes<'a> {
    all: &'a [u8],
    next: usize,
    order: ByteOrder,
}

impl<'a> Notes<'a> {
    pub fn new(all: &'a [u8], order: ByteOrder) -> Notes<'a> {
        Notes {
            all,
            next: 0,
            order,
        }
    }

    /// Behind the last one: does something follow that is no whole note?
    pub fn is_torn(&self) -> bool {
        self.next < self.all.len()
    }

    fn split(&self) -> Option<(Note<'a>, usize)> {
        let word = |i: usize| {
            let at = self.next.checked_add(i)?;
            self.order.read_at(self.all, at, 4)
        };
        let (name, desc, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let from = self.next + 12;
        let at = from.checked_add(name.checked_next_multiple_of(4)?)?;
        let end = at.checked_add(desc)?;
        let note = Note {
            kind,
            owner: self.all.get(from..from + name)?,
            body: self.all.get(at..end)?,
            at,
        };
        Some((note, end.checked_next_multiple_of(4)?))
    }
}

impl<'a> Iterator for Notes<'a> {
    type Item = Note<'a>;

    fn next(&mut self) -> Option<Note<'a>> {
        let (note, next) = self.split()?;
        self.next = next;
        Some(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(all: &[u8]) -> (Vec<(u64, usize)>, bool) {
        let mut notes = Notes::new(all, ByteOrder::Little);
        let found = notes.by_ref().map(|n| (n.kind, n.at)).collect();
        (found, notes.is_torn())
    }

    #[test]
    fn torn_notes_end_the_list() {
        assert_eq!(read(b"\x08\0\0\0"), (vec![], true));
        let long = b"\x08\0\0\0\xff\0\0\0\x03\0\0\0stapsdt\0";
        assert_eq!(read(long), (vec![], true));
        let other = b"\x04\0\0\0\0\0\0\0\x01\0\0\0GNU\0";
        assert_eq!(read(other), (vec![(1, 16)], false));
        assert_eq!(read(b""), (vec![], false));
    }
}
