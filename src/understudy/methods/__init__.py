"""The systems, one folder each; `registry` lists them. A folder's docstring is the method section and says what to read first."""
