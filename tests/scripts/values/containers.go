// SPDX-License-Identifier: MIT
// Strings and slices.
package main

import "os"

type Point struct {
	x, y int32
}

type Rows struct {
	text   string
	none   []int
	few    []int16
	words  []string
	points []Point
	many   []byte
	yes    bool
	tenth  float64
	array  [3]int
}

//go:noinline
func rows(p *Rows, s string, l []int16) int {
	return p.array[0] + len(s) + len(l)
}

func main() {
	many := make([]byte, 1000)
	few := []int16{1, -2, 3}
	r := Rows{"a\"b\n", nil, few, []string{"one", "two"}, []Point{{1, 2}, {3, 4}}, many, true, 0.1, [3]int{7, 8, 9}}
	if rows(&r, "text", few) == 0 {
		os.Exit(1)
	}
}
