"""The command line as a whole: help, exit codes and messages."""

from __future__ import annotations

import pytest

from torelli.cli import main

LONG = "x" * 10**6


def test_help_teaches(capsys):
    """Help of the tool lists its commands, help of a command says what it does."""
    for arguments, words in ((["--help"], "demo"), (["demo", "--help"], "street patterns")):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
        assert words in capsys.readouterr().out


def test_no_command_is_an_error(capsys):
    """Without a command the usage is shown."""
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--folds", LONG], ["--kernel", LONG], [f"--{LONG}"], []])
def test_arguments_of_the_command_line_are_quoted_in_a_line(arguments, capsys):
    """A long argument gives a short message, whether the parser, the package or the system refuses it."""
    try:
        code = main(["classify", LONG, *arguments])
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    # before the message the parser repeats how the command is used
    assert len(capsys.readouterr().err.rpartition("torelli")[2]) < 2_200
