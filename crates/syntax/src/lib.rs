// SPDX-License-Identifier: MIT
//! trapless syntax (being written).
