// SPDX-License-Identifier: MIT
//! Constants of enumerations by name.

use crate::binary::Binary;
use crate::die::DieRef;
use crate::error::{Error, Result};
use crate::pattern::NamePattern;
use crate::types::Type;
use gimli::constants as dw;

impl Binary {
    /// The value of `NAME`, or of `scope::NAME`.
    pub(crate) fn find_enumerator(&self, name: &str) -> Result<i64> {
        let dwarf = self.dwarf()?;
        let (scope, last) = match name.rsplit_once("::") {
            Some((scope, last)) => (Some(NamePattern::new(scope)), last),
            None => (None, name),
        };
        for unit in dwarf.units_naming(last.as_bytes()) {
            let index = dwarf.index(unit).iter();
            for e in index.filter(|e| e.tag == dw::DW_TAG_enumeration_type && !e.declaration) {
                let r = DieRef {
                    unit,
                    offset: e.offset,
                };
                let fits = |s: &NamePattern| dwarf.qualified(r).is_some_and(|q| s.matches(&q));
                if !scope.as_ref().is_none_or(fits) {
                    continue;
                }
                let ty = self.types().get(dwarf.type_id(r, self.types()));
                let Type::Enum { values, .. } = &*ty else {
                    continue;
                };
                if let Some(found) = values.iter().find(|v| v.name == last) {
                    return Ok(found.value);
                }
            }
        }
        Err(Error::NoType {
            name: name.into(),
            path: self.path().into(),
        })
    }
}
