// SPDX-License-Identifier: MIT
//! A profile for pprof, Pyroscope and Grafana (https://github.com/google/pprof/blob/main/proto/README.md). It has a
//! type of values for each value of each event or global with stacks.

use crate::stacks::{Frame, Stacks};
use prost::Message;
use std::collections::HashMap;
use std::io::{self, Write};

/// What of pprof's messages is written here.
mod proto {
    use prost::Message;

    #[derive(Clone, PartialEq, Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub string_table: Vec<String>,
        #[prost(int64, tag = "9")]
        pub time_nanos: i64,
        #[prost(int64, tag = "10")]
        pub duration_nanos: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub r#type: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Mapping {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "5")]
        pub filename: i64,
        #[prost(bool, tag = "7")]
        pub has_functions: bool,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub mapping_id: u64,
        #[prost(uint64, tag = "3")]
        pub address: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function_id: u64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
        #[prost(int64, tag = "3")]
        pub system_name: i64,
    }
}

use proto::{Function, Line, Location, Mapping, Profile, Sample, ValueType};

/// Numbers from `first` on, each thing its own.
struct Numbers<K> {
    known: HashMap<K, u64>,
    first: u64,
}

impl<K: std::hash::Hash + Eq + Clone> Numbers<K> {
    fn from(first: u64) -> Numbers<K> {
        Numbers {
            known: HashMap::new(),
            first,
        }
    }

    /// Its number, and whether it is new.
    fn of(&mut self, key: &K) -> (u64, bool) {
        let new = self.first + self.known.len() as u64;
        let number = *self.known.entry(key.clone()).or_insert(new);
        (number, number == new)
    }
}

struct Building {
    profile: Profile,
    strings: Numbers<String>,
    files: Numbers<String>,
    functions: Numbers<String>,
    locations: Numbers<Frame>,
}

impl Building {
    fn string(&mut self, text: &str) -> i64 {
        let (number, new) = self.strings.of(&text.to_string());
        if new {
            self.profile.string_table.push(text.to_string());
        }
        number as i64
    }

    fn file(&mut self, name: &str) -> u64 {
        if name.is_empty() {
            return 0;
        }
        let (id, new) = self.files.of(&name.to_string());
        if new {
            let filename = self.string(name);
            self.profile.mapping.push(Mapping {
                id,
                filename,
                has_functions: true,
            });
        }
        id
    }

    fn function(&mut self, name: &str) -> u64 {
        let (id, new) = self.functions.of(&name.to_string());
        if new {
            let name = self.string(name);
            self.profile.function.push(Function {
                id,
                name,
                system_name: name,
            });
        }
        id
    }

    fn location(&mut self, frame: &Frame) -> u64 {
        let (id, new) = self.locations.of(frame);
        if new {
            let location = Location {
                id,
                mapping_id: self.file(&frame.module),
                address: frame.address,
                line: vec![Line {
                    function_id: self.function(&frame.name),
                }],
            };
            self.profile.location.push(location);
        }
        id
    }
}

pub fn put(stacks: &Stacks, out: &mut dyn Write) -> io::Result<()> {
    let mut b = Building {
        profile: Profile::default(),
        strings: Numbers::from(0),
        files: Numbers::from(1),
        functions: Numbers::from(1),
        locations: Numbers::from(1),
    };
    b.string(""); // the first one has to be
    let series = stacks.series();
    let types: usize = series.values().map(|s| s.values.len()).sum();
    let mut at = 0;
    for (name, s) in series {
        for value in &s.values {
            let what = ValueType {
                r#type: b.string(&format!("{name}.{value}")),
                unit: b.string("count"),
            };
            b.profile.sample_type.push(what);
        }
        for (frames, values) in &s.samples {
            let mut value = vec![0; types];
            value[at..at + values.len()].copy_from_slice(values);
            let location_id = frames.iter().rev().map(|f| b.location(f)).collect();
            b.profile.sample.push(Sample { location_id, value });
        }
        at += s.values.len();
    }
    let (first, last) = stacks.times.unwrap_or_default();
    b.profile.time_nanos = first as i64;
    b.profile.duration_nanos = last.saturating_sub(first) as i64;
    out.write_all(&b.profile.encode_to_vec())
}
