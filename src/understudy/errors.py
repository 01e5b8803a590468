"""What the user can mend.

A `UsageError` is one line that names the option, file or column and the way out. It is raised for public facts only
(files, options, schema); odd contents of a private table never raise, because the error itself would reveal them.
"""


class UsageError(ValueError):
    """Bad input with a way out; the command line prints it and exits with code 2."""
