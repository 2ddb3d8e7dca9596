// SPDX-License-Identifier: MIT
//! Functions of the script that the translation brings along.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Helper {
    Elapsed,
    Join,
    Clock,
    Frames,
}

impl Helper {
    pub fn text(self) -> &'static str {
        match self {
            Helper::Elapsed => "global began\nprobe begin(-1000) { began = gettimeofday_ns() }\n",
            Helper::Join => JOIN,
            Helper::Clock => CLOCK,
            Helper::Frames => FRAMES,
        }
    }
}

const JOIN: &str = "\
function joined:string (list:long, between:string) {
\tall = \"\"
\tfor (n = 0; n < 16; n++) {
\t\taddress = user_int64(list + 8 * n)
\t\tif (!address) break
\t\tall = all . (n ? between : \"\") . user_string_nofault(address)
\t}
\treturn all
}
";

const FRAMES: &str = "\
function frames:string (stack:string, count:long) {
\trest = stack
\twhile (count-- > 0) {
\t\tat = strpos(rest, \"\\n\")
\t\tif (at < 0) return stack
\t\trest = substr(rest, at + 1, strlen(rest))
\t}
\treturn substr(stack, 0, strlen(stack) - strlen(rest))
}
";

/// Parts of ctime()'s text: `Thu Jan  1 00:00:00 1970`
const CLOCK: &str = "\
function clock:string (from:long, length:long, seconds:long) {
\treturn substr(tz_ctime(seconds), from, length)
}
function clock_month:long (seconds:long) {
\treturn strpos(\"JanFebMarAprMayJunJulAugSepOctNovDec\", clock(4, 3, seconds)) / 3 + 1
}
";
