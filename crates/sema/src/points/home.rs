// SPDX-License-Identifier: MIT
//! Where handlers run: in a kernel, or in processes.

use crate::points::Place;

/// A kernel? With `-r` (`asked`) it is one, unless all that is probed is of processes.
pub fn is_kernel(asked: bool, places: &[Vec<Place>]) -> bool {
    let of_process = |p: &Place| p.kind.is_of_target();
    asked && !places.iter().flatten().any(of_process)
}
