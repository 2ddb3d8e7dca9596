// SPDX-License-Identifier: MIT
//! Records, and the head of the raw stream.

pub const RAW_MAGIC: u32 = 0x5741_5254;
/// Of a record without its payload.
pub const RECORD_SIZE: usize = 16;

/// The first word of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct What(pub u64);

impl What {
    /// Of the whole record, in bytes.
    pub fn size(self) -> u32 {
        (self.0 as u32 & 0x3f_ffff) * 8
    }

    pub fn kind(self) -> u8 {
        (self.0 >> 22) as u8 & 31
    }

    pub fn id(self) -> u16 {
        (self.0 >> 27) as u16
    }

    pub fn probe(self) -> u32 {
        (self.0 >> 43) as u32
    }
}

/// What the id of a text says (`enum tl_text`).
pub mod text {
    pub const MORE: u16 = 1;
    pub const STACK: u16 = 2;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    Link = 1,
    Printf,
    Text,
    Error,
    Warning,
    Thread,
    Lost,
    End,
    Command,
    CommandText,
    Switch,
    Hits,
}

impl RecordKind {
    const ALL: [RecordKind; 12] = [
        RecordKind::Link,
        RecordKind::Printf,
        RecordKind::Text,
        RecordKind::Error,
        RecordKind::Warning,
        RecordKind::Thread,
        RecordKind::Lost,
        RecordKind::End,
        RecordKind::Command,
        RecordKind::CommandText,
        RecordKind::Switch,
        RecordKind::Hits,
    ];

    pub fn of(number: u8) -> Option<RecordKind> {
        Self::ALL.into_iter().find(|k| *k as u8 == number)
    }
}
