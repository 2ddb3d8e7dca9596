// SPDX-License-Identifier: MIT
//! What the script is about outside the script: the target, its files, and
//! the images that have been looked at.

use crate::ir::{Image, ImageId};

/// What `-c` and `-x` say.
#[derive(Clone, Debug, Default)]
pub struct TargetSpec {
    /// Absolute path of the program that `process` without a name means.
    pub program: Option<String>,
    pub pid: Option<u32>,
}

/// Files and debug information, opened when they are needed.
#[derive(Debug, Default)]
pub struct World {
    pub target: TargetSpec,
    pub images: Vec<Image>,
}

impl World {
    pub fn new(target: TargetSpec) -> World {
        World {
            target,
            images: Vec::new(),
        }
    }

    /// The number of an image, which is added when it is new.
    pub fn image(&mut self, image: Image) -> ImageId {
        let at = self.images.iter().position(|i| *i == image);
        let at = at.unwrap_or_else(|| {
            self.images.push(image);
            self.images.len() - 1
        });
        ImageId(at as u32)
    }
}
