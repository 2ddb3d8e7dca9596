// SPDX-License-Identifier: MIT
//! Long lists whose items become another list's: what has been handed over is given back to the system meanwhile.

/// Bytes, about, between two times.
const PIECE: usize = 4 << 20;

/// The items of `all`, in order.
pub(crate) fn hand_over<T>(mut all: Vec<T>) -> impl ExactSizeIterator<Item = T> {
    all.reverse();
    Pieces { rest: all }
}

/// The next one stands last.
struct Pieces<T> {
    rest: Vec<T>,
}

impl<T> Iterator for Pieces<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let unused = self.rest.capacity() - self.rest.len();
        if unused * size_of::<T>() > PIECE {
            self.rest.shrink_to_fit();
        }
        self.rest.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }
}

impl<T> ExactSizeIterator for Pieces<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_number_are_kept() {
        let all: Vec<usize> = (0..3 * PIECE / 8).collect();
        let items = hand_over(all.clone());
        assert_eq!(items.len(), all.len());
        assert!(items.eq(all));
        assert_eq!(hand_over(Vec::<String>::new()).next(), None);
    }
}
