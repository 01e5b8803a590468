"""`understudy serve`: the whole path as a local page, for people who would rather not type.

Choose a file, describe what is public about it, plan, fit, look, hand over. The page calls what the command line calls, and
nothing else: describing and planning read a file's header (Parquet: its types) and never a row; whatever needs rows
(`schema check`, `fit`, `evaluate`) runs as the very command that the page shows, in a process of its own.

What a page on this machine may do, other pages in the same browser must not (`guard`), and paths lead nowhere but into the
folders named at the start (`folders`). Read in this order: `guard`, `folders`, `work`, `describe`, `outlook`, `jobs`,
`site`, `app`.
"""
