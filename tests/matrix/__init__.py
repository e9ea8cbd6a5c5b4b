"""The matrix: combinations of parts, engines, types and modes, each with the float64 truth."""
