// SPDX-License-Identifier: MIT
//! Calls of functions, put together from events of their entries and returns.
//!
//! Where an event has the field `sp`, the stack pointer tells which calls were left without a return (longjmp,
//! exceptions) and which function runs in another one's place (tail calls); `caller` is where an entry returns to.

use crate::event::{Event, Thread, Value};
use crate::module::Module;
use std::collections::HashMap;
use std::sync::Arc;

/// Which calls are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Calls within so many others are not.
    pub depth: usize,
    /// Those that take less are not. Nanoseconds.
    pub least: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth: usize::MAX,
            least: 0,
        }
    }
}

/// What an event says of calls, in an order that nests. `T` is what the writer wants to have back.
#[derive(PartialEq, Eq, Debug)]
pub enum Step<T> {
    /// It may be older than the event that shows that it is wanted.
    Enter { time: u64, call: Shown, with: T },
    /// Of one that was entered. `with` is the return's: none where it was left otherwise.
    Leave {
        time: u64,
        call: Shown,
        with: Option<T>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    pub name: Arc<str>,
    pub entered: u64,
    /// Of how many others it is a part.
    pub depth: usize,
}

/// The calls under way, of all threads.
pub struct Calls<T> {
    ends: HashMap<Arc<str>, (End, Arc<str>)>,
    limits: Limits,
    rings: HashMap<u32, (Thread, Vec<Call<T>>)>,
}

/// Of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Entry,
    Return,
}

struct Call<T> {
    shown: Shown,
    place: Place,
    /// Until it is known to take long enough.
    held: Option<T>,
    /// Its return has come; a function that it has jumped to still runs.
    returned: Option<T>,
}

/// Where on a stack.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Place {
    sp: Option<u64>,
    caller: Option<u64>,
}

/// Frames of one stack that have to do with each other are no farther apart.
const FAR: u64 = 1 << 20;

impl Place {
    fn of(e: &Event<'_>) -> Place {
        let mut place = Place::default();
        for (field, value) in e.fields() {
            let Value::Number(n) = value else { continue };
            match &*field.name {
                "sp" => place.sp = Some(n as u64),
                "caller" => place.caller = Some(n as u64),
                _ => {}
            }
        }
        place
    }

    /// Its frame is gone once another stands there.
    fn is_below(self, other: Place) -> bool {
        match (self.sp, other.sp) {
            (Some(mine), Some(theirs)) => mine < theirs && theirs - mine < FAR,
            _ => false,
        }
    }

    fn shares_frame(self, other: Place) -> bool {
        self.sp.is_some() && self.sp == other.sp
    }
}

/// Behind an entry's name in that of its return.
const RETURN: &str = ".return";
/// What an entry's may have.
const CALL: &str = ".call";

impl<T> Calls<T> {
    /// A function's entry and return both have to be events.
    pub fn new(module: &Module, limits: Limits) -> Calls<T> {
        let names = || module.probes.iter().map(|p| &p.event);
        let mut returns = HashMap::new();
        for event in names() {
            if let Some(name) = event.strip_suffix(RETURN) {
                returns.insert(name, event);
            }
        }
        let mut ends = HashMap::new();
        for event in names() {
            let name = event.strip_suffix(CALL).unwrap_or(event);
            if let Some(back) = returns.get(name) {
                let name: Arc<str> = name.into();
                ends.insert(Arc::clone(event), (End::Entry, Arc::clone(&name)));
                ends.insert(Arc::clone(back), (End::Return, name));
            }
        }
        Calls {
            ends,
            limits,
            rings: HashMap::new(),
        }
    }

    /// Is it a part of a call? Then `tell` hears of what it shows.
    pub fn take(
        &mut self,
        e: &Event<'_>,
        with: impl FnOnce() -> T,
        tell: &mut dyn FnMut(Step<T>),
    ) -> bool {
        let Some((end, name)) = self.ends.get(&e.class.name) else {
            return false;
        };
        let (end, name) = (*end, Arc::clone(name));
        let limits = self.limits;
        let (thread, open) = self.rings.entry(e.ring).or_default();
        if thread != e.thread {
            leave(open, 0, e.time, tell);
            *thread = e.thread.clone();
        }
        let place = Place::of(e);
        ripen(open, e.time, limits, tell);
        match end {
            End::Entry => {
                enter(open, name, place, e.time, with(), tell);
                ripen(open, e.time, limits, tell);
                true
            }
            End::Return => returned(open, &name, place, e.time, with, tell),
        }
    }
}

/// Calls whose time is known to be long enough are told of.
fn ripen<T>(open: &mut [Call<T>], time: u64, limits: Limits, tell: &mut dyn FnMut(Step<T>)) {
    let old_enough = |c: &Call<T>| time.saturating_sub(c.shown.entered) >= limits.least;
    let of_depth = open.len().min(limits.depth);
    for call in open[..of_depth].iter_mut().filter(|c| old_enough(c)) {
        if let Some(with) = call.held.take() {
            tell(Step::Enter {
                time: call.shown.entered,
                call: call.shown.clone(),
                with,
            });
        }
    }
}

fn enter<T>(
    open: &mut Vec<Call<T>>,
    name: Arc<str>,
    place: Place,
    time: u64,
    with: T,
    tell: &mut dyn FnMut(Step<T>),
) {
    let gone = |c: &Call<T>| {
        let again = c.place == place && place.sp.is_some() && c.shown.name == name;
        let other = c.place.shares_frame(place) && c.place.caller != place.caller;
        c.place.is_below(place) || other || again
    };
    let first = open.iter().position(gone).unwrap_or(open.len());
    leave(open, first, time, tell);
    open.push(Call {
        shown: Shown {
            name,
            entered: time,
            depth: open.len(),
        },
        place,
        held: Some(with),
        returned: None,
    });
}

/// False: that call was not seen to begin.
fn returned<T>(
    open: &mut Vec<Call<T>>,
    name: &str,
    place: Place,
    time: u64,
    with: impl FnOnce() -> T,
    tell: &mut dyn FnMut(Step<T>),
) -> bool {
    let is_it = |c: &Call<T>| {
        let same = place.sp.is_none() || c.place.sp.is_none() || c.place.sp == place.sp;
        &*c.shown.name == name && c.returned.is_none() && same
    };
    let Some(at) = open.iter().rposition(is_it) else {
        return false;
    };
    let elsewhere = |c: &Call<T>| !c.place.shares_frame(place);
    let gone = open[at + 1..].iter().position(elsewhere);
    leave(open, gone.map_or(open.len(), |n| at + 1 + n), time, tell);
    open[at].returned = Some(with());
    while open.last().is_some_and(|c| c.returned.is_some()) {
        leave(open, open.len() - 1, time, tell);
    }
    true
}

/// All from `first` on, the newest first.
fn leave<T>(open: &mut Vec<Call<T>>, first: usize, time: u64, tell: &mut dyn FnMut(Step<T>)) {
    for call in open.drain(first..).rev() {
        if call.held.is_none() {
            tell(Step::Leave {
                time,
                call: call.shown,
                with: call.returned,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `>name@sp/caller` is an entry, `<name@sp` a return; each a nanosecond after the one before. What is told of:
    /// `name{`, `name}` and, without a return, `name!`.
    #[track_caller]
    fn check(events: &str, limits: Limits, want: &str) {
        let mut open = Vec::new();
        let mut told = Vec::new();
        let mut tell = |s: Step<()>| told.push(text(&s));
        for (time, event) in events.split(' ').enumerate() {
            let time = time as u64;
            let (name, place) = event[1..].split_once('@').unwrap();
            let (sp, caller) = place.split_once('/').unwrap_or((place, ""));
            let place = Place {
                sp: sp.parse().ok(),
                caller: caller.parse().ok(),
            };
            ripen(&mut open, time, limits, &mut tell);
            match event.starts_with('>') {
                true => enter(&mut open, name.into(), place, time, (), &mut tell),
                false => {
                    returned(&mut open, name, place, time, || (), &mut tell);
                }
            }
            ripen(&mut open, time, limits, &mut tell);
        }
        assert_eq!(told.join(" "), want);
    }

    fn text(step: &Step<()>) -> String {
        match step {
            Step::Enter { call, .. } => format!("{}{{", call.name),
            Step::Leave { call, with, .. } => {
                format!("{}{}", call.name, if with.is_some() { "}" } else { "!" })
            }
        }
    }

    fn all(events: &str, want: &str) {
        check(events, Limits::default(), want);
    }

    #[test]
    fn calls_nest() {
        all(
            ">a@90/1 >b@80/2 <b@80 >b@80/3 <b@80 <a@90",
            "a{ b{ b} b{ b} a}",
        );
    }

    #[test]
    fn names_are_enough_where_events_say_no_more() {
        all(">a@ >b@ >a@ <a@ <a@", "a{ b{ a{ a} b! a}");
    }

    #[test]
    fn a_tail_call_is_a_part_of_who_made_it() {
        all(">a@90/1 >b@90/1 <a@90 <b@90", "a{ b{ b} a}");
    }

    #[test]
    fn frames_below_are_gone() {
        all(
            ">a@90/1 >b@80/2 >c@70/3 >d@80/4 <d@80 <a@90",
            "a{ b{ c{ c! b! d{ d} a}",
        );
    }

    #[test]
    fn what_was_left_in_a_loop_does_not_pile_up() {
        all(">a@90/1 >b@80/2 >b@80/2 >b@80/2", "a{ b{ b! b{ b! b{");
    }

    #[test]
    fn a_handler_on_a_stack_of_its_own_leaves_nothing() {
        all(">a@90/1 >h@9000000/2 <h@9000000 <a@90", "a{ h{ h} a}");
    }

    #[test]
    fn a_return_without_its_entry_tells_nothing() {
        all("<a@90 >b@80/1 <b@80", "b{ b}");
    }

    #[test]
    fn calls_that_are_too_deep_or_too_short_are_left_out() {
        let events = ">a@90/1 >b@80/1 >c@70/1 <c@70 >d@70/1 <d@70 <b@80 <a@90";
        let limits = |depth, least| Limits { depth, least };
        check(events, limits(2, 0), "a{ b{ b} a}");
        check(events, limits(9, 2), "a{ b{ b} a}");
        check(events, limits(9, 7), "a{ a}");
        check(events, limits(9, 8), "");
    }
}
