// SPDX-License-Identifier: MIT
//! What is packed: kernels for boot loaders, little debug files.

use std::io::Read;
use std::num::NonZeroUsize;
use xz4rust::{XzDecoder, XzReader, DICT_SIZE_MIN};

/// A kernel is some 60 MB; damaged data may want more than there is.
const LARGEST: u64 = 512 << 20;

/// Bytes that xz may want to look back: twice what kernels are packed with.
const DICTIONARY: usize = 256 << 20;
const BUFFER: NonZeroUsize = NonZeroUsize::new(64 << 10).unwrap();

type Open = fn(&[u8]) -> Option<Vec<u8>>;

/// How a format begins, what it is called, and what reads it.
const FORMATS: &[(&[u8], &str, Option<Open>)] = &[
    (b"\x7fELF", "nothing", Some(|b| Some(b.to_vec()))),
    (b"\x1f\x8b", "gzip", Some(gzip)),
    (b"\xfd7zXZ\0", "xz", Some(xz)),
    (b"\x28\xb5\x2f\xfd", "zstd", Some(zstd)),
    (b"\x5d\0\0", "LZMA", Some(lzma)),
    (b"\x02\x21\x4c\x18", "LZ4", None),
    (b"BZh", "bzip2", None),
    (b"\x89LZO", "LZO", None),
];

/// The kernel's ELF file, or why there is none.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    let format = FORMATS.iter().find(|f| packed.starts_with(f.0));
    let Some((_, name, open)) = format else {
        return Err("it is packed in a way that is not known".into());
    };
    let open = open.ok_or_else(|| format!("it is packed by {name}, which is not read"))?;
    open(packed).ok_or_else(|| format!("it is packed by {name}, and damaged"))
}

/// All of it; `None` where it breaks off.
fn whole(from: impl Read) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    from.take(LARGEST).read_to_end(&mut out).ok()?;
    Some(out)
}

fn gzip(packed: &[u8]) -> Option<Vec<u8>> {
    whole(flate2::read::GzDecoder::new(packed))
}

pub fn xz(packed: &[u8]) -> Option<Vec<u8>> {
    let from = std::io::Cursor::new(packed.to_vec());
    let decoder = XzDecoder::in_heap_with_alloc_dict_size(DICT_SIZE_MIN, DICTIONARY);
    whole(XzReader::new_with_buffer_size_and_decoder(
        from, BUFFER, decoder,
    ))
}

fn zstd(packed: &[u8]) -> Option<Vec<u8>> {
    whole(ruzstd::decoding::StreamingDecoder::new(packed).ok()?)
}

fn lzma(packed: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    lzma_rs::lzma_decompress(&mut std::io::BufReader::new(packed), &mut out).ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_is_named() {
        assert_eq!(unpack(b"\x7fELFxy"), Ok(b"\x7fELFxy".to_vec()));
        for (bytes, word) in [
            (&b"\x02\x21\x4c\x18...."[..], "LZ4"),
            (b"\xfd7zXZ\0....", "damaged"),
            (b"MZ", "not known"),
        ] {
            assert!(unpack(bytes).unwrap_err().contains(word), "{word}");
        }
    }
}
