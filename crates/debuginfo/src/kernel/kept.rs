// SPDX-License-Identifier: MIT
//! What was read of a packed kernel, for the next time: to unpack one takes a second. A file has the
//! length of the build-id, that id, the tracepoints' systems up to a zero,
//! the functions that run once up to another, and the BTF.

use super::find::{Files, Told};
use super::once::Once;
use super::systems::Systems;
use crate::binary::stamp;
use crate::leftover;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// Of files that have other parts.
const FORM: u32 = 2;

/// Another file of that name, or one that was written since, has another.
fn file_of(folder: &Path, kernel: &Path) -> Option<PathBuf> {
    let path = kernel.canonicalize().ok()?;
    let mut hash = std::hash::DefaultHasher::new();
    (FORM, &path, stamp(&path)?).hash(&mut hash);
    Some(folder.join(format!("kernel-{:016x}.kept", hash.finish())))
}

pub fn get(folder: &Path, kernel: &Path) -> Option<Files> {
    let bytes = std::fs::read(file_of(folder, kernel)?).ok()?;
    let (length, rest) = bytes.split_first()?;
    let (build_id, rest) = rest.split_at_checked((*length).into())?;
    let mut texts = rest.splitn(3, |b| *b == 0);
    let mut text = || std::str::from_utf8(texts.next()?).ok();
    let told = Told {
        systems: Systems::from_text(text()?),
        once: Once::from_text(text()?),
    };
    Some(Files {
        path: kernel.into(),
        btf: texts.next()?.to_vec(),
        build_id: build_id.to_vec(),
        told: Some(told),
    })
}

/// That it cannot be kept is no error.
pub fn put(folder: &Path, files: &Files) -> Option<()> {
    let to = file_of(folder, &files.path)?;
    let length = u8::try_from(files.build_id.len()).ok()?;
    let told = files.told.as_ref()?;
    let (systems, once) = (told.systems.text(), told.once.text());
    let parts = [
        &[length],
        &files.build_id[..],
        systems.as_bytes(),
        &[0],
        once.as_bytes(),
        &[0],
        &files.btf,
    ];
    leftover::whole(&to, &parts.concat()).ok()
}
