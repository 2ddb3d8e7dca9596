// SPDX-License-Identifier: MIT
//! Intel's XED: a third opinion, and the only one on APX.
use crate::view::{Field, Xed};
use std::sync::Once;
use xed_sys::*;

pub const HERE: bool = true;

static TABLES: Once = Once::new();

pub fn decode(bytes: &[u8], wide: bool) -> Option<Xed> {
    // SAFETY: called once, before any decoding.
    TABLES.call_once(|| unsafe { xed_tables_init() });
    let (mode, width) = if wide {
        (XED_MACHINE_MODE_LONG_64, XED_ADDRESS_WIDTH_64b)
    } else {
        (XED_MACHINE_MODE_LEGACY_32, XED_ADDRESS_WIDTH_32b)
    };
    let mut xedd = std::mem::MaybeUninit::<xed_decoded_inst_t>::uninit();
    // SAFETY: XED's documented call sequence; it reads at most `len` bytes, and what
    // `fields` reads is filled once xed_decode has succeeded.
    unsafe {
        xed_decoded_inst_zero(xedd.as_mut_ptr());
        xed_decoded_inst_set_mode(xedd.as_mut_ptr(), mode, width);
        let len = bytes.len().min(15) as u32;
        if xed_decode(xedd.as_mut_ptr(), bytes.as_ptr(), len) != XED_ERROR_NONE {
            return None;
        }
        Some(fields(xedd.as_ptr()))
    }
}

/// Number of a general register of any width.
unsafe fn number(reg: xed_reg_enum_t) -> Option<u32> {
    let full = xed_get_largest_enclosing_register(reg);
    (XED_REG_RAX..=XED_REG_R31)
        .contains(&full)
        .then(|| full - XED_REG_RAX)
}

unsafe fn fields(d: *const xed_decoded_inst_t) -> Xed {
    let at = xed3_operand_get_pos_disp(d) as u8;
    let mut disp = Field::new(
        at,
        xed_decoded_inst_get_memory_displacement_width(d, 0) as u8,
    );
    let second = (xed3_operand_get_pos_imm1(d) != 0) as u8;
    let mut imm = Field::new(
        xed3_operand_get_pos_imm(d) as u8,
        xed_decoded_inst_get_immediate_width(d) as u8 + second,
    );
    if imm.off == 0 {
        imm = Field::default(); // shifts by one have a 1 there that is not encoded
    }
    let branch = xed_decoded_inst_get_branch_displacement_width(d) as u8;
    if branch != 0 {
        (disp, imm) = (Field::default(), Field::new(at, branch));
    }
    let (mut gp, mut writes_sp) = (0, false);
    let mut add = |reg, written| {
        if let Some(n) = number(reg) {
            gp |= 1 << n;
            writes_sp |= written && n == 4;
        }
    };
    let inst = xed_decoded_inst_inst(d);
    for n in 0..xed_inst_noperands(inst) {
        let op = xed_inst_operand(inst, n);
        let name = xed_operand_name(op);
        if xed_operand_is_register(name) != 0 {
            add(
                xed_decoded_inst_get_reg(d, name),
                xed_operand_written(op) != 0,
            );
        }
    }
    for n in 0..xed_decoded_inst_number_of_memory_operands(d) {
        add(xed_decoded_inst_get_base_reg(d, n), false);
        add(xed_decoded_inst_get_index_reg(d, n), false);
    }
    Xed {
        len: xed_decoded_inst_get_length(d) as u8,
        disp,
        imm,
        gp,
        writes_sp,
    }
}
