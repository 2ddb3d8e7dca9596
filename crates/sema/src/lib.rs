// SPDX-License-Identifier: MIT
//! trapless sema (being written).
