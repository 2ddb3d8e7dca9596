// SPDX-License-Identifier: MIT
//! File contents with a lifetime of their own. The only `unsafe` of this crate.
#![allow(unsafe_code)]

use crate::error::{Error, Result};
use memmap2::Mmap;
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;

/// A mapped file and the sections decompressed from it.
///
/// DWARF readers are full of references into the file; a borrow would make every owner of both
/// self-referential. So `bytes` and `keep` hand out `'static` slices under one rule, kept inside
/// this crate: *whoever stores such a slice stores the `Arc<Storage>` beside it, and no public
/// function returns one*.
pub(crate) struct Storage {
    map: Option<Mmap>,
    kept: Mutex<Vec<Box<[u8]>>>,
}

impl Storage {
    pub fn open(path: &Path) -> Result<Storage> {
        let io = |e: std::io::Error| Error::Io {
            path: path.into(),
            why: e.to_string(),
        };
        // Before it is opened: that would wait for a pipe's writer.
        let meta = std::fs::metadata(path).map_err(io)?;
        if !meta.is_file() {
            let folder = meta.is_dir();
            return Err(Error::Io {
                path: path.into(),
                why: if folder {
                    "it is a folder"
                } else {
                    "it is not a regular file"
                }
                .into(),
            });
        }
        let file = File::open(path).map_err(io)?;
        if meta.len() == 0 {
            // Also /proc files, which have no size to map.
            return Ok(Storage {
                map: None,
                kept: Mutex::default(),
            });
        }
        // SAFETY: a private, read-only mapping. Nothing here relies on the bytes staying the same:
        // every read is bounds-checked against the mapping. A file cut short meanwhile would raise
        // SIGBUS; programs that run cannot be written to (ETXTBSY), and packages replace files by
        // renaming.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        Ok(Storage {
            map: Some(map),
            kept: Mutex::default(),
        })
    }

    pub fn from_vec(data: Vec<u8>) -> (Storage, &'static [u8]) {
        let s = Storage {
            map: None,
            kept: Mutex::default(),
        };
        let bytes = s.keep(data);
        (s, bytes)
    }

    /// The whole file.
    pub fn bytes(&self) -> &'static [u8] {
        let b: &[u8] = self.map.as_deref().unwrap_or(&[]);
        // SAFETY: the mapping never moves and lives as long as `self`; see the rule above.
        unsafe { std::slice::from_raw_parts(b.as_ptr(), b.len()) }
    }

    /// Store a buffer; it lives as long as `self`.
    pub fn keep(&self, data: Vec<u8>) -> &'static [u8] {
        let b = data.into_boxed_slice();
        // SAFETY: the heap block of a box does not move, and `kept` only grows; see the rule above.
        let s = unsafe { std::slice::from_raw_parts(b.as_ptr(), b.len()) };
        self.kept.lock().unwrap_or_else(|e| e.into_inner()).push(b);
        s
    }
}
