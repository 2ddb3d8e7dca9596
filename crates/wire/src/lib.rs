// SPDX-License-Identifier: MIT
//! trapless wire (being written).
