"""`python -m understudy.cli`: the command line without an installed script."""

from understudy.cli import main

main()
