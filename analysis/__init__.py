"""Agreement statistics: arrays and DataFrames in, frozen results out. Imports none of the other packages."""
