// SPDX-License-Identifier: MIT
//! Where globals lie in the session memory, and the constants that describe
//! them in C. Sizes and offsets are those that `runtime/script.h` explains.

use crate::text::{c_string, Text};
use crate::EmitError;
use trapless_sema::ir::{Access, Global, GlobalId, GlobalKind, MapValue, Program, StatsKind, Ty};
use trapless_wire as wire;

/// Globals that are locked start on lines of their own, so that handlers on
/// different processors do not disturb each other.
const LINE: u64 = 64;
const MAP_HEAD: u64 = 32;
const MAP_LINKS: u64 = 16;
const STAT_HEAD: u64 = 64;
const LOG_BUCKETS: u64 = 128;
/// `TL_MAP_START`: buckets that an array has from the start, if it may have so many.
const MAP_START: u64 = 2048;
/// What each array that grows may hold, however little memory there is, and however much. To
/// delete or to sort that many at once takes a handler some ten milliseconds, or seconds.
const GROWN_LEAST: u64 = 2048;
const GROWN_MOST: u64 = 1 << 20;
/// What counts the hits of one probe, in front of the shards.
const HIT: u64 = 8;
/// `struct tl_time`: what its handlers take, behind the hits of all.
const TIME: u64 = 32;
const LIMIT: u64 = 1 << 30;

#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub offset: u32,
    pub size: u32,
    /// Number of its lock; none for a sharded one.
    pub lock: Option<u16>,
}

#[derive(Debug)]
pub(crate) struct Layout {
    pub slots: Vec<Slot>,
    pub globals_size: u32,
    pub shard_size: u32,
    pub nlocks: u32,
    pub max_string: u32,
    hist_elision: u32,
    /// Elements of each global, 0: it is no array.
    capacities: Vec<u32>,
}

/// Bytes of a string in globals, keys and values.
fn string_size(max: u32) -> u64 {
    (u64::from(max) + 4 + 7) & !7
}

fn buckets(kind: StatsKind) -> u64 {
    match kind {
        StatsKind::Plain => 0,
        StatsKind::Log => LOG_BUCKETS,
        StatsKind::Linear { low, high, step } => {
            let span = high.saturating_sub(low).max(0) as u64;
            (span / step.max(1) as u64 + 3).min(4096)
        }
    }
}

fn stat_size(kind: StatsKind) -> u64 {
    STAT_HEAD + 8 * buckets(kind)
}

/// How one array lies in its slot.
struct MapShape {
    buckets: u64,
    entries: u64,
    stride: u64,
    value_off: u64,
    key_off: Vec<u64>,
    size: u64,
}

impl MapShape {
    fn new(keys: &[Ty], value: MapValue, capacity: u32, max_string: u32) -> MapShape {
        let mut at = MAP_LINKS;
        let mut key_off = Vec::new();
        for key in keys {
            key_off.push(at);
            at += value_size(*key, max_string);
        }
        let value_off = at;
        let stride = value_off
            + match value {
                MapValue::Long => 8,
                MapValue::Str => string_size(max_string),
                MapValue::Stats(kind) => stat_size(kind),
            };
        let buckets = u64::from(capacity.max(1)).next_power_of_two();
        let entries = MAP_HEAD + ((4 * buckets + 7) & !7);
        MapShape {
            buckets,
            entries,
            stride,
            value_off,
            key_off,
            size: entries + u64::from(capacity) * stride,
        }
    }
}

/// Elements of each global, 0: it is no array. Those whose number nobody has said share the
/// memory for them equally; what one cannot use is left to the others.
fn capacities(program: &Program) -> Vec<u32> {
    let max_string = program.options.max_string;
    let (mut out, mut growing) = (Vec::new(), Vec::new());
    let mut taken = 0;
    for (n, g) in program.globals.iter().enumerate() {
        let said = match &g.kind {
            GlobalKind::Map {
                keys,
                value,
                capacity: None,
                ..
            } => {
                // A bucket or two for each: their number is a power of two.
                let element = MapShape::new(keys, *value, 1, max_string).stride;
                growing.push((element + 8, n));
                0
            }
            GlobalKind::Map { capacity, .. } => capacity.unwrap_or(0),
            _ => 0,
        };
        taken += size_of(g, said, max_string);
        out.push(said);
    }
    let mut left = (u64::from(program.options.map_mib()) << 20).min(LIMIT.saturating_sub(taken));
    growing.sort_unstable();
    for (k, (bytes, n)) in growing.iter().enumerate() {
        let share = left / (growing.len() - k) as u64;
        let capacity = (share / bytes).clamp(GROWN_LEAST, GROWN_MOST);
        left = left.saturating_sub(capacity * bytes);
        out[*n] = capacity as u32;
    }
    out
}

/// `enum tl_map_limit`.
fn limit_name(sized: bool, capacity: Option<u32>, most: u32) -> &'static str {
    match capacity {
        _ if sized => "TL_MAP_SIZED",
        None if u64::from(most) < GROWN_MOST => "TL_MAP_MEMORY",
        _ => "TL_MAP_MAXENTRIES",
    }
}

fn value_size(ty: Ty, max_string: u32) -> u64 {
    match ty {
        Ty::Long => 8,
        Ty::Str => string_size(max_string),
    }
}

/// Where the times begin in a shard area.
pub(crate) fn times_at(program: &Program) -> u64 {
    HIT * program.probes.len() as u64
}

impl Layout {
    pub fn new(program: &Program) -> Result<Layout, EmitError> {
        let max_string = program.options.max_string;
        let time = if program.options.timing { TIME } else { 0 };
        let (mut globals, mut shards) = (0u64, (HIT + time) * program.probes.len() as u64);
        let (mut slots, mut nlocks) = (Vec::new(), 0u16);
        let capacities = capacities(program);
        for (g, capacity) in program.globals.iter().zip(&capacities) {
            let size = size_of(g, *capacity, max_string).next_multiple_of(8);
            let area = if g.sharded { &mut shards } else { &mut globals };
            let offset = if g.sharded {
                *area
            } else {
                area.next_multiple_of(LINE)
            };
            *area = offset + size;
            if *area > LIMIT {
                return Err(EmitError::GlobalsTooLarge(*area));
            }
            let lock = (!g.sharded).then(|| {
                nlocks += 1;
                nlocks - 1
            });
            slots.push(Slot {
                offset: offset as u32,
                size: size as u32,
                lock,
            });
        }
        Ok(Layout {
            slots,
            globals_size: globals.next_multiple_of(LINE) as u32,
            shard_size: shards.next_multiple_of(LINE) as u32,
            nlocks: u32::from(nlocks),
            max_string,
            hist_elision: program.options.hist_elision,
            capacities,
        })
    }

    pub fn slot(&self, id: GlobalId) -> &Slot {
        &self.slots[id.0 as usize]
    }

    /// The lock numbers of a handler, ascending.
    pub fn locks(&self, wanted: &[(GlobalId, Access)]) -> Vec<u16> {
        let mut numbers: Vec<u16> = wanted
            .iter()
            .filter_map(|(g, _)| self.slot(*g).lock)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The constants that describe arrays and histograms.
    pub fn declare(&self, program: &Program, out: &mut Text) {
        for (n, g) in program.globals.iter().enumerate() {
            match &g.kind {
                GlobalKind::Map {
                    keys,
                    value,
                    capacity,
                    sized,
                    wrap,
                } => {
                    let limit = limit_name(*sized, *capacity, self.capacities[n]);
                    self.declare_map(out, n, g, keys, *value, (limit, *wrap));
                }
                GlobalKind::Stats(kind) => {
                    out.line(format!(
                        "static const struct tl_hist hist{n} __attribute__((unused)) = {};",
                        hist(*kind, g.variance, self.hist_elision)
                    ));
                }
                _ => {}
            }
        }
        out.blank();
    }

    #[allow(clippy::too_many_arguments)] // the fields of one table row
    fn declare_map(
        &self,
        out: &mut Text,
        n: usize,
        g: &Global,
        keys: &[Ty],
        value: MapValue,
        (limit, wrap): (&str, bool),
    ) {
        let capacity = self.capacities[n];
        let shape = MapShape::new(keys, value, capacity, self.max_string);
        let types: Vec<&str> = keys.iter().map(|k| value_name(*k)).collect();
        let offsets: Vec<String> = shape.key_off.iter().map(u64::to_string).collect();
        out.line(format!(
            "static const struct tl_map map{n} __attribute__((unused)) = {{ /* {} */",
            g.name
        ));
        out.line(format!(
            "\t.name = {}, .offset = {}, .capacity = {capacity}, .mask = {}, .most = {}, .entries = {},",
            c_string(g.name.as_bytes()),
            self.slots[n].offset,
            shape.buckets.min(MAP_START) - 1,
            shape.buckets - 1,
            shape.entries
        ));
        let (value_name, hist) = match value {
            MapValue::Long => ("TL_VALUE_LONG", hist(StatsKind::Plain, None, 0)),
            MapValue::Str => ("TL_VALUE_STRING", hist(StatsKind::Plain, None, 0)),
            MapValue::Stats(kind) => ("TL_VALUE_STATS", hist(kind, g.variance, self.hist_elision)),
        };
        out.line(format!(
            "\t.stride = {}, .value_off = {}, .nkeys = {}, .value = {value_name}, .wrap = {}, .limit = {limit},",
            shape.stride,
            shape.value_off,
            keys.len(),
            wrap as u8
        ));
        out.line(format!(
            "\t.one_long = {}, .key_types = {{ {} }}, .key_off = {{ {} }}, .hist = {hist} }};",
            (keys == [Ty::Long]) as u8,
            types.join(", "),
            offsets.join(", ")
        ));
    }

    /// The GLOBALS section.
    pub fn globals(&self, program: &Program, strings: &mut wire::Strings) -> Vec<wire::Global> {
        let one = |((g, slot), capacity): ((&Global, &Slot), &u32)| {
            let mut out = wire::Global {
                name: strings.add(&g.name),
                sharded: g.sharded,
                offset: slot.offset,
                size: slot.size,
                lock: slot.lock.map_or(wire::NONE, u32::from),
                ..wire::Global::default()
            };
            match &g.kind {
                GlobalKind::Long { init } => out.init = *init,
                GlobalKind::Str { init } => {
                    out.ty = wire::Value::String;
                    out.init_string = strings.add(init);
                }
                GlobalKind::Stats(kind) => stats(&mut out, *kind),
                GlobalKind::Map {
                    keys, value, wrap, ..
                } => {
                    out.keys = keys.iter().map(|k| wire_type(*k)).collect();
                    out.capacity = *capacity;
                    out.wrap = *wrap;
                    match value {
                        MapValue::Long => {}
                        MapValue::Str => out.ty = wire::Value::String,
                        MapValue::Stats(kind) => stats(&mut out, *kind),
                    }
                }
            }
            out
        };
        let slots = program.globals.iter().zip(&self.slots);
        slots.zip(&self.capacities).map(one).collect()
    }
}

fn size_of(g: &Global, capacity: u32, max_string: u32) -> u64 {
    match &g.kind {
        GlobalKind::Long { .. } => 8,
        GlobalKind::Str { .. } => string_size(max_string),
        GlobalKind::Stats(kind) => stat_size(*kind),
        GlobalKind::Map { keys, value, .. } => {
            MapShape::new(keys, *value, capacity, max_string).size
        }
    }
}

/// `TL_HIST_ALL` of runtime/script.h.
const KEEP_ALL: u32 = 255;

/// `struct tl_hist` as a C initialiser.
fn hist(kind: StatsKind, variance: Option<u8>, elision: u32) -> String {
    let (number, low, high, step) = hist_fields(kind);
    format!(
        "{{ .kind = {number}, .variance = {}, .shift = {}, .kept = {}, .buckets = {}, .low = {low}LL, .high = {high}LL, .step = {step}LL }}",
        variance.is_some() as u8,
        variance.unwrap_or(0),
        elision.min(KEEP_ALL),
        buckets(kind)
    )
}

fn hist_fields(kind: StatsKind) -> (u8, i64, i64, i64) {
    match kind {
        StatsKind::Plain => (0, 0, 0, 0),
        StatsKind::Log => (1, 0, 0, 0),
        StatsKind::Linear { low, high, step } => (2, low, high, step),
    }
}

/// Room for a local copy of the statistic.
pub(crate) fn local_buckets(kind: StatsKind) -> u64 {
    buckets(kind)
}

fn stats(out: &mut wire::Global, kind: StatsKind) {
    out.ty = wire::Value::Stats;
    (out.hist, out.hist_low, out.hist_high, out.hist_step) = hist_fields(kind);
}

fn value_name(ty: Ty) -> &'static str {
    match ty {
        Ty::Long => "TL_VALUE_LONG",
        Ty::Str => "TL_VALUE_STRING",
    }
}

fn wire_type(ty: Ty) -> wire::Value {
    match ty {
        Ty::Long => wire::Value::Long,
        Ty::Str => wire::Value::String,
    }
}

/// Bytes and offsets of the `@entry` values of one call.
pub(crate) fn call_data(slots: &[Ty], max_string: u32) -> (Vec<u32>, u32) {
    let mut at = 0;
    let mut offsets = Vec::new();
    for ty in slots {
        offsets.push(at);
        at += value_size(*ty, max_string) as u32;
    }
    (offsets, at)
}
