// SPDX-License-Identifier: MIT
//! An expression of the script.

use crate::ast::Type;
use crate::types::Ty;

#[derive(Clone, Debug)]
pub struct Value {
    pub text: String,
    pub ty: Ty,
    /// no brackets are needed around it
    pub atom: bool,
    /// of a pointer: to what
    pub points: Option<Type>,
    /// members may be read by -> as it stands
    pub chain: bool,
}

impl Value {
    pub fn atom(text: impl Into<String>, ty: Ty) -> Value {
        Value {
            text: text.into(),
            ty,
            atom: true,
            points: None,
            chain: false,
        }
    }

    pub fn number(text: impl Into<String>) -> Value {
        Value::atom(text, Ty::Number)
    }

    pub fn compound(text: String, ty: Ty) -> Value {
        Value {
            atom: false,
            ..Value::atom(text, ty)
        }
    }

    pub fn chain(text: String) -> Value {
        Value {
            chain: true,
            ..Value::number(text)
        }
    }

    pub fn pointer(self, to: &str) -> Value {
        let points = Some(Type {
            name: to.to_string(),
            is_struct: true,
            pointers: 1,
        });
        Value { points, ..self }
    }

    /// As a part of something larger.
    pub fn part(&self) -> String {
        match self.atom {
            true => self.text.clone(),
            false => format!("({})", self.text),
        }
    }

    pub fn is_text(&self) -> bool {
        matches!(self.ty, Ty::Text | Ty::Stack)
    }
}
