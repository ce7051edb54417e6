"""The subcommands of the command line; commands that belong together share a module.

A module has a function ``add_parser(subparsers)`` that declares its commands and sets the default
``run`` of each: a function of the parsed arguments that returns the exit code.
"""
