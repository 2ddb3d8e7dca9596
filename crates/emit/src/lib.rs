// SPDX-License-Identifier: MIT
//! trapless emit (being written).
