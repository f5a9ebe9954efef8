"""Pure functions: paired analysis, verdicts, steady state, planning. Arrays in, values out."""
