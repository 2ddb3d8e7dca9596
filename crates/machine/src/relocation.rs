// SPDX-License-Identifier: MIT
//! Relocations by what they ask for.

/// Numbers of those that the dynamic linker applies. `None`: the machine has none of that kind.
#[derive(Debug)]
pub struct DynamicRelocations {
    /// Words with a function's address: of its own, of a linkage table, of what a resolver gives.
    pub glob_dat: Option<u32>,
    pub jump_slot: u32,
    pub irelative: u32,
    /// Words for thread-local storage: the file's number, the distance from the thread pointer, a descriptor.
    pub tls_module: u32,
    pub tls_offset: u32,
    pub tls_descriptor: Option<u32>,
}

/// What a relocation of an object file puts where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixup {
    pub meant: Meant,
    pub value: Value,
}

/// Whose address it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// That of something defined here, or of a jump to what is imported.
    Code,
    /// That of something defined here.
    Defined,
    /// That of the word that holds the address (a slot of a global offset table).
    Slot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// The signed distance from the place, in so many bytes.
    Relative(u8),
    /// The address, a word; the loader adds its own.
    Absolute,
}
