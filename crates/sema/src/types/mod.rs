// SPDX-License-Identifier: MIT
//! Types of what scripts have, and of what C headers declare.

pub mod header;
pub mod infer;
pub(crate) mod reached;
