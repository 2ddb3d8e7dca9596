// SPDX-License-Identifier: MIT
//! Constants of the traced program's enumerations.

use super::{resolved, From, Source};
use crate::points::Context;
use crate::world::World;
use trapless_debuginfo::{Type, TypeId, Types};
use trapless_syntax::ast::{self};

/// The constants of an enumeration, each value once.
pub fn constants(source: &Source, name: &str) -> Option<Vec<(i64, String)>> {
    constants_in(source.types(), source.find_type(name).ok()?)
}

/// Those of the type of a variable.
pub fn constants_of(
    target: &ast::Target,
    context: Option<&Context>,
    world: &mut World,
) -> Option<Vec<(i64, String)>> {
    let value = resolved(
        target,
        From {
            context,
            auto: None,
            kept: None,
        },
        world,
    )?;
    constants_in(value.types.types(), value.ty)
}

fn constants_in(types: &Types, ty: TypeId) -> Option<Vec<(i64, String)>> {
    let Type::Enum { values, .. } = &*types.get(types.strip_refs(ty)) else {
        return None;
    };
    let mut seen = std::collections::HashSet::new();
    let first = values.iter().filter(|v| seen.insert(v.value));
    Some(first.map(|v| (v.value, v.name.clone())).collect())
}
