// SPDX-License-Identifier: MIT
//! How a bit-field is read.

use crate::types::BitField;

/// The storage unit to load for a bit-field: the declared one where the field lies inside it,
/// else the smallest that holds it.
pub(crate) fn storage(
    first: u64,
    width: u64,
    declared: u64,
    little: bool,
) -> Option<(u64, BitField)> {
    let fits = |start: u64, size: u64| start * 8 <= first && first + width <= (start + size) * 8;
    let mut found = None;
    if matches!(declared, 1 | 2 | 4 | 8) {
        let start = first / 8 / declared * declared;
        if fits(start, declared) {
            found = Some((start, declared));
        }
    }
    let (start, size) = match found {
        Some(f) => f,
        None => [1, 2, 4, 8]
            .into_iter()
            .map(|s| (first / 8, s))
            .find(|&(a, s)| fits(a, s))?,
    };
    let from_start = first - start * 8;
    let shift = if little {
        from_start
    } else {
        size * 8 - from_start - width
    };
    let bits = BitField {
        storage: size as u8,
        shift: u8::try_from(shift).ok()?,
        width: u8::try_from(width).ok()?,
    };
    Some((start, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_fields_find_their_storage() {
        let bits = |storage, shift, width| BitField {
            storage,
            shift,
            width,
        };
        assert_eq!(storage(3, 5, 4, true), Some((0, bits(4, 3, 5))));
        assert_eq!(storage(35, 5, 4, true), Some((4, bits(4, 3, 5))));
        assert_eq!(
            storage(30, 5, 4, true),
            Some((3, bits(2, 6, 5))),
            "packed across a unit"
        );
        assert_eq!(storage(3, 5, 4, false), Some((0, bits(4, 24, 5))));
        assert_eq!(storage(4, 64, 8, true), None, "nine bytes");
    }
}
