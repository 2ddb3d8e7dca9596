// SPDX-License-Identifier: MIT
//! Separate debug files: by build-id, by `.gnu_debuglink`, from a server, inside `.gnu_debugdata`.

use crate::elf::hex;
use crate::elf::Elf;
use crate::search::SearchPath;
use crate::unpack;
use std::path::{Path, PathBuf};

/// The separate debug file of `elf`: first by build-id, then by link name and checksum.
pub(crate) fn find(elf: &Elf, search: &SearchPath) -> Option<Elf> {
    if let Some(id) = &elf.build_id {
        let mut places = by_build_id(id, search).into_iter();
        if let Some(found) = places.find_map(|path| with_id(&path, id)) {
            return Some(found);
        }
    }
    by_link(elf, search).or_else(|| {
        let id = elf.build_id.as_ref()?;
        with_id(&search.servers.cached(id)?, id)
    })
}

fn with_id(path: &Path, id: &[u8]) -> Option<Elf> {
    let found = Elf::open(path).ok()?;
    (found.build_id.as_deref() == Some(id)).then_some(found)
}

/// The debug file of a build-id, from a server.
pub(crate) fn fetch(id: &[u8], search: &SearchPath) -> Option<Elf> {
    with_id(&search.servers.fetch(id)?, id)
}

fn by_link(elf: &Elf, search: &SearchPath) -> Option<Elf> {
    let (name, crc) = link(elf)?;
    let own = elf.path.canonicalize().unwrap_or_else(|_| elf.path.clone());
    let dir = own.parent()?;
    let mut places = vec![dir.join(&name), dir.join(".debug").join(&name)];
    // The target's idea of the folder, below each folder of debug files.
    let inner = dir.strip_prefix(&search.root).unwrap_or(dir);
    let inner = inner.strip_prefix("/").unwrap_or(inner);
    for d in &search.debug {
        places.push(search.host_path(&d.join(inner).join(&name)));
    }
    places.into_iter().filter(|p| *p != own).find_map(|p| {
        let bytes = Elf::open(&p).ok()?;
        (crc32(bytes.storage.bytes()) == crc).then_some(bytes)
    })
}

fn by_build_id(id: &[u8], search: &SearchPath) -> Vec<PathBuf> {
    if id.len() < 2 {
        return Vec::new();
    }
    let name = format!(".build-id/{}/{}.debug", hex(&id[..1]), hex(&id[1..]));
    search
        .debug
        .iter()
        .map(|d| search.host_path(&d.join(&name)))
        .collect()
}

fn link(elf: &Elf) -> Option<(String, u32)> {
    let s = elf.section(".gnu_debuglink");
    let end = memchr::memchr(0, s)?;
    let name = std::str::from_utf8(&s[..end]).ok()?;
    let at = (end + 4) & !3;
    let crc: [u8; 4] = s.get(at..at + 4)?.try_into().ok()?;
    let crc = match elf.endian {
        object::Endianness::Little => u32::from_le_bytes(crc),
        object::Endianness::Big => u32::from_be_bytes(crc),
    };
    let safe = !name.is_empty() && !name.contains('/');
    safe.then(|| (name.to_owned(), crc))
}

/// The file of shared entries that `dwz` made: path relative to the debug file, then by build-id.
pub(crate) fn find_alternate(debug: &Elf, search: &SearchPath) -> Option<Elf> {
    let s = debug.section(".gnu_debugaltlink");
    let end = memchr::memchr(0, s)?;
    let name = Path::new(std::str::from_utf8(&s[..end]).ok()?);
    let id = s.get(end + 1..)?;
    let own = debug
        .path
        .canonicalize()
        .unwrap_or_else(|_| debug.path.clone());
    let mut places = vec![match name.is_absolute() {
        true => search.host_path(name),
        false => own.parent()?.join(name),
    }];
    places.extend(by_build_id(id, search));
    let here = places.into_iter().find_map(|p| with_id(&p, id));
    here.or_else(|| fetch(id, search))
}

/// The little ELF file in `.gnu_debugdata`: function symbols that `.dynsym` lacks.
pub(crate) fn mini(elf: &Elf) -> Option<Elf> {
    let packed = elf.section(".gnu_debugdata");
    if packed.is_empty() {
        return None;
    }
    Elf::from_vec(&elf.path, unpack::xz(packed)?).ok()
}

/// The CRC-32 of `.gnu_debuglink` (the common, reflected one), eight bytes at a time.
pub(crate) fn crc32(data: &[u8]) -> u32 {
    let step = |c: u32| (c >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(c & 1));
    let mut tables = [[0u32; 256]; 8];
    for (i, entry) in tables[0].iter_mut().enumerate() {
        *entry = (0..8).fold(i as u32, |c, _| step(c));
    }
    for t in 1..8 {
        tables[t] = tables[t - 1].map(|c| (c >> 8) ^ tables[0][(c & 255) as usize]);
    }
    let mut c = !0u32;
    let mut chunks = data.chunks_exact(8);
    for w in &mut chunks {
        let low = c ^ u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
        let mut next = 0;
        for (i, b) in low
            .to_le_bytes()
            .into_iter()
            .chain(w[4..].iter().copied())
            .enumerate()
        {
            next ^= tables[7 - i][b as usize];
        }
        c = next;
    }
    for &b in chunks.remainder() {
        c = (c >> 8) ^ tables[0][((c ^ u32::from(b)) & 255) as usize];
    }
    !c
}

#[cfg(test)]
mod tests {
    #[test]
    fn crc_is_the_common_one() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(super::crc32(b"12345678"), 0x9ae0_daaf);
        assert_eq!(super::crc32(b""), 0);
    }
}
