"""The command line as a whole: help, exit codes and messages."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys

import pytest

import torelli as tt
from torelli import cli
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


def test_the_version_is_printed(capsys):
    """``torelli --version`` prints the name and the version, and ends well."""
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"torelli {tt.__version__}\n"


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help(command, capsys):
    """Each command is in the list of the tool's help with a line of its own, and has its own help."""
    listing = cli.build_parser().format_help()
    assert re.search(rf"^    {command}\n? +\S", listing, flags=re.MULTILINE)
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert f"usage: torelli {command}" in capsys.readouterr().out


def parser_of(run):
    """Return a parser with one command, which takes anything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.set_defaults(run=run)
    return parser


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (tt.FormatError("a.csv: row 3 is not an edge"), "torelli: a.csv: row 3 is not an edge\n"),
        (FileNotFoundError(2, "No such file", "a.csv"), "torelli: [Errno 2] No such file: 'a.csv'\n"),
        (
            MemoryError("Unable to allocate 8 TiB"),
            "torelli: out of memory (Unable to allocate 8 TiB); take fewer graphs\n",
        ),
        (MemoryError(), "torelli: out of memory (an allocation failed); take fewer graphs\n"),
    ],
)
def test_expected_errors_are_one_message_and_exit_code_2(error, message, capsys):
    """Bad input, missing files and too little memory end without a traceback."""

    def fail(_):
        raise error

    assert cli.run(parser_of(fail), []) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", message)


def test_a_defect_is_not_hidden():
    """An error that the package does not raise on purpose keeps its traceback."""

    def fail(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cli.run(parser_of(fail), [])


def test_a_command_knows_how_it_was_called(monkeypatch):
    """The arguments, given or of the process, are kept for the record, and the exit code comes back."""
    seen = []

    def note(arguments):
        seen.append((arguments.words, arguments.argv))
        return 7

    monkeypatch.setattr("sys.argv", ["torelli", "from", "outside"])
    assert cli.run(parser_of(note), ["a", "b"]) == 7
    assert cli.run(parser_of(note)) == 7
    assert seen == [(["a", "b"], ["a", "b"]), (["from", "outside"], ["from", "outside"])]


def test_a_reader_that_stops_reading_is_no_error():
    """Output into a pipe that ``head`` has closed ends quietly, with exit code 0."""
    script = (
        "import argparse, sys\nimport torelli.cli as cli\n"
        "def run(_):\n    while True:\n        print('x' * 1000)\n"
        "parser = argparse.ArgumentParser(); parser.set_defaults(run=run)\n"
        "sys.exit(cli.run(parser, []))\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout.readline() == b"x" * 1000 + b"\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_completions_are_printed(capsys):
    """The script for a shell knows the commands and their options."""
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as stopped:
        main(["--print-completion", "bash"])
    assert stopped.value.code == 0
    script = capsys.readouterr().out
    assert "classify" in script
    assert "--groups" in script


def test_completions_without_their_package_name_the_extra(monkeypatch, capsys):
    """What is missing is named with the command that installs it."""
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit) as stopped:
        main(["--print-completion", "bash"])
    assert stopped.value.code == 2
    assert "torelli[completion]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(["clasify"], "classify"), (["urn", "biuld"], "build"), (["classify", "--kernel", "ttx"], "tt")],
)
def test_a_misspelt_command_is_answered_with_the_nearest(arguments, meant, capsys):
    """The message says what was probably meant."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert f"{arguments[-1]!r}: did you mean {meant}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (
            ["explore", "--kernl", "ttw"],
            "torelli explore: error: there is no option --kernl: did you mean --kernel?",
        ),
        (
            ["urn", "build", "x", "--set", "URN4-S", "--windw=3"],
            "torelli urn build: error: there is no option --windw: did you mean",
        ),
        (["info", "--qqqq"], "there is no option --qqqq: see torelli info --help"),
    ],
)
def test_a_misspelt_option_is_answered_with_the_nearest(arguments, answer, capsys):
    """The message names the command, the option and what was probably meant."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert answer in capsys.readouterr().err


def test_kernels_may_be_named_as_tables_print_them():
    """--kernel TTM is --kernel ttm; arguments that are no choices, such as files, stay as they are."""
    parser = cli.build_parser()
    assert parser.parse_args(["classify", "INFO", "--kernel", "TTM", "ttw"]).kernel == ["ttm", "ttw"]
    assert parser.parse_args(["index", "TTM", "-o", "TTE", "--kernel", "Tts"]).kernel == "tts"
    assert parser.parse_args(["info", "INFO"]).files == ["INFO"]
    assert parser.parse_args(["explore", "--urn", "URN4-S"]).urn == "URN4-S"
