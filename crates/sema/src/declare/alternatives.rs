// SPDX-License-Identifier: MIT
//! `!`: once a point that has it is found, those behind it are left out. This is of the list in which it stands, be that a
//! probe's or an alias': what follows the alias' name in another list is no part of it.

use crate::declare::unit::{Choice, Turn, Unit};
use crate::points::Place;
use std::collections::HashMap;
use trapless_syntax::ast::ProbePoint;

/// Numbers for lists and turns.
#[derive(Default)]
pub struct Numbers {
    lists: u32,
    turns: u32,
}

impl Numbers {
    /// The points of a list, each with its choice where there is one.
    pub fn list<'p>(
        &mut self,
        points: &'p [ProbePoint],
    ) -> impl Iterator<Item = (&'p ProbePoint, Option<Choice>)> {
        let some = points.iter().any(|p| p.sufficient);
        self.lists += 1;
        let list = self.lists;
        points.iter().enumerate().map(move |(place, p)| {
            let sufficient = p.sufficient;
            let choice = Choice {
                list,
                place,
                sufficient,
            };
            (p, some.then_some(choice))
        })
    }

    pub fn turn(&mut self, choices: Vec<Choice>) -> Turn {
        self.turns += 1;
        Turn {
            at: self.turns,
            choices,
        }
    }
}

/// The places of each unit's points, in their turns. `leaders`: units whose places are another's have none.
pub fn resolve(
    units: &[Unit],
    leaders: &[usize],
    mut find: impl FnMut(&ProbePoint) -> Vec<Place>,
) -> Vec<Vec<Place>> {
    let mut turns: Vec<(&Turn, usize, &ProbePoint)> = Vec::new();
    for (n, u) in units.iter().enumerate().filter(|(n, _)| leaders[*n] == *n) {
        turns.extend(u.turns.iter().zip(&u.points).map(|(t, p)| (t, n, p)));
    }
    turns.sort_by_key(|(t, ..)| t.at);
    let mut places: Vec<Vec<Place>> = units.iter().map(|_| Vec::new()).collect();
    // The place in a list behind which nothing more is looked for.
    let mut last: HashMap<u32, usize> = HashMap::new();
    for (turn, n, point) in turns {
        let is_behind = |c: &Choice| last.get(&c.list).is_some_and(|l| *l < c.place);
        if turn.choices.iter().any(is_behind) {
            continue;
        }
        let found = find(point);
        if !found.is_empty() {
            let enough = turn.choices.iter().filter(|c| c.sufficient);
            last.extend(enough.map(|c| (c.list, c.place)));
        }
        crate::points::append(&mut places[n], found);
    }
    places
}
