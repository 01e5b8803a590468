"""One metric, one file: pure functions of prepared tables that return a record of `understudy.evaluate.result`."""
