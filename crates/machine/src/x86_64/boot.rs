// SPDX-License-Identifier: MIT
//! The file that a boot loader starts (Documentation/arch/x86/boot.rst): real-mode code, a head, and the kernel, packed.

use crate::ByteOrder::Little;

const SECTOR: usize = 512;
/// setup_sects: so many follow the first one, before the code that runs in protected mode.
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
/// payload_offset and payload_length, from protocol 2.08 on.
const PAYLOAD: usize = 0x248;
/// Of the kernel when unpacked: the payload's last word.
const SIZE: usize = 4;

/// The packed kernel in such a file; `None`: it is another kind of file.
pub fn payload(file: &[u8]) -> Option<&[u8]> {
    if file.get(MAGIC..MAGIC + 4)? != b"HdrS" {
        return None;
    }
    let sectors = match file.get(SETUP_SECTORS)? {
        0 => 4,
        n => usize::from(*n),
    };
    let word = |at| Little.read_at(file, at, 4).map(|n| n as usize);
    let (offset, length) = (word(PAYLOAD)?, word(PAYLOAD + 4)?);
    let start = (1 + sectors) * SECTOR + offset;
    file.get(start..start.checked_add(length.checked_sub(SIZE)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packed_kernel_is_found() {
        let mut file = vec![0; 3 * SECTOR];
        file[SETUP_SECTORS] = 1;
        file[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        Little.write(&mut file[PAYLOAD..PAYLOAD + 4], 16);
        Little.write(&mut file[PAYLOAD + 4..PAYLOAD + 8], 6 + 4);
        file[2 * SECTOR + 16..2 * SECTOR + 22].copy_from_slice(b"packed");
        assert_eq!(payload(&file), Some(&b"packed"[..]));
        Little.write(&mut file[PAYLOAD + 4..PAYLOAD + 8], 5000);
        assert_eq!(payload(&file), None, "it ends before");
        assert_eq!(payload(b"\x7fELF"), None);
    }
}
