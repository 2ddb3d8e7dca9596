// SPDX-License-Identifier: MIT
//! trapless cli (being written).
