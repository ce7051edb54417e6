"""The subcommands of the command line, one module each.

A module has a function ``add_parser(subparsers)`` that declares the command and sets its default
``run``: a function of the parsed arguments that returns the exit code.
"""
