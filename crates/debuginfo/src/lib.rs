// SPDX-License-Identifier: MIT
//! trapless debuginfo (being written).
