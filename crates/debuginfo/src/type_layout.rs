// SPDX-License-Identifier: MIT
//! Types as SystemTap's `-L` lays them out: `char const*`, `struct point&`, `int (*) (long int)`, where qualifiers stand
//! behind what they qualify and no space before a star. What it leaves out is told: `long int[3]`, `struct ns::S`.

use crate::types::{plain_name, qualifier_name, Type, TypeId, Types};

const DEEPEST: u32 = 64;

impl Types {
    pub fn listed(&self, id: TypeId) -> String {
        self.lay_out(id, String::new(), 0)
    }

    /// `behind`: what of it stands behind the innermost type's name.
    fn lay_out(&self, id: TypeId, behind: String, depth: u32) -> String {
        if depth > DEEPEST {
            return format!("...{behind}");
        }
        let ty = self.get(id);
        match &*ty {
            Type::Pointer { to, .. } => self.lay_out_pointer(*to, "*", behind, depth),
            Type::Reference { to, rvalue, .. } => {
                let sign = if *rvalue { "&&" } else { "&" };
                self.lay_out_pointer(*to, sign, behind, depth)
            }
            Type::Qualified { qualifier, to } => {
                let behind = format!(" {}{behind}", qualifier_name(*qualifier));
                self.lay_out(*to, behind, depth + 1)
            }
            Type::Array { of, counts } => {
                let count = |n: &Option<u64>| n.map_or("[]".to_string(), |n| format!("[{n}]"));
                let counts: String = counts.iter().map(count).collect();
                self.lay_out(*of, behind + &counts, depth + 1)
            }
            Type::Function {
                returns,
                params,
                variadic,
            } => {
                let params = params.iter();
                let mut params: Vec<String> = params
                    .map(|p| self.lay_out(*p, String::new(), depth + 1))
                    .collect();
                params.extend(variadic.then(|| "...".to_string()));
                if params.is_empty() {
                    params.push("void".to_string());
                }
                let behind = format!("{behind} ({})", params.join(", "));
                self.lay_out(*returns, behind, depth + 1)
            }
            plain => plain_name(plain) + &behind,
        }
    }

    fn lay_out_pointer(&self, to: TypeId, sign: &str, behind: String, depth: u32) -> String {
        let wrap = matches!(&*self.get(to), Type::Array { .. } | Type::Function { .. });
        let behind = match wrap {
            true => format!(" ({sign}{behind})"),
            false => format!("{sign}{behind}"),
        };
        self.lay_out(to, behind, depth + 1)
    }
}
