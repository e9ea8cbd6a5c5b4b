"""How the program ends: with its exit code, alone and as one of several processes, and with everything written."""

import os
import subprocess
import sys

import pytest

from headwise import cli

ENDS = """
import atexit, sys
import headwise.cli

def main():
    atexit.register(print, "a tracker has closed its file")
    sys.stdout.write("the last line")
    return {code}

headwise.cli.main = main
headwise.cli.program()
"""


@pytest.mark.parametrize("several", [False, True], ids=["alone", "one-of-several"])
@pytest.mark.parametrize("code", [0, 2])
def test_the_program_ends_with_its_code_and_nothing_unwritten(several, code):
    environment = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    if several:
        environment |= {"RANK": "1", "WORLD_SIZE": "2"}
    done = subprocess.run(
        [sys.executable, "-c", ENDS.format(code=code)], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == "the last linea tracker has closed its file\n"


def test_one_process_of_several_ends_while_a_thread_holds_tensors():
    """A thread that asks for the interpreter while it is taken apart is what aborts a process that has done its work."""
    program = "from headwise.train.processes import leave; import threading, time\n"
    program += "threading.Thread(target=time.sleep, args=(600,)).start(); leave(3)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 3


def run(program, *arguments, **options):
    """A program in a process of its own, with one thread."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120, **options
    )


INTERRUPTED = """
import os, signal, sys
import headwise.cli

def interrupted():
    os.kill(os.getpid(), signal.SIGINT)

def main():
{body}
    return 0

headwise.cli.main = main
headwise.cli.program()
"""


def test_an_interrupt_while_modules_are_imported_ends_the_program_with_one_line(tmp_path):
    """A module that swallows whatever goes wrong in an import would swallow the interrupt, and the command would go on."""
    (tmp_path / "swallows.py").write_text(
        "import __main__\ntry:\n    __main__.interrupted()\nexcept BaseException:\n    pass\n"
    )
    body = "    sys.path.insert(0, sys.argv[1])\n    import swallows"
    done = run(INTERRUPTED.format(body=body), str(tmp_path))
    assert (done.returncode, done.stderr) == (130, "\nheadwise: interrupted.\n")


def test_an_interrupt_of_a_command_may_be_waited_for():
    body = "    try: interrupted()\n    except KeyboardInterrupt: print('saved')"
    done = run(INTERRUPTED.format(body=body))
    assert (done.returncode, done.stdout, done.stderr) == (0, "saved\n", "")


def test_an_interrupted_command_exits_with_130(monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("headwise.commands.env.Env.__call__", interrupted)
    assert cli.main(["env"]) == 130
    assert capsys.readouterr().err == "\nheadwise: interrupted.\n"


def test_the_program_waits_for_interrupts_before_it_imports_commands():
    done = run("import sys, headwise.cli; print({'tyro', 'rich', 'torch', 'headwise.commands'} & set(sys.modules))")
    assert done.stdout == "set()\n", done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["explain", "--json"], ["train", "--steps", "2", "--layers", "1", "--d-model", "8"]],
    ids=lambda arguments: arguments[0],
)
def test_a_program_whose_reader_goes_away_exits_with_141_and_says_nothing(arguments, tmp_path):
    """As `head` does; 128 and the number of the signal SIGPIPE, as other programs of a pipe exit."""
    text = tmp_path / "text.txt"
    text.write_text("to be or not to be. " * 200)
    extra = ["--heads", "1", "--context", "8", "--data", str(text)] if arguments[0] == "train" else []
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "headwise", *arguments, *extra],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
