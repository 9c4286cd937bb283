#!/usr/bin/python3
"""Completion in zsh, on a pseudo-terminal: what Tab makes of a command line, with the file that is installed.

The rows are those of completion.sh, which asks bash. Without zsh the test is skipped.
"""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from results import finish, result, top, yore
from terminal import Terminal

CLEAR, SHOW, TAB = "\x15", "\x18", "\t"
START = """
fpath=('%s' $fpath); PROMPT='zsh> '; unsetopt automenu beep; LISTMAX=10000
autoload -Uz compinit && compinit -u -D
show() { zle -I; print -r -- "<<$BUFFER>>" }; zle -N show; bindkey '^X' show
print ready
"""

ROWS = (
    ("yore longe", "yore longest ", "a command"),
    ("yore laten", "yore latency ", "an analysis"),
    ("yore trace-", "yore trace-file ", "a trace"),
    ("yore events trac", "yore events trace-file ", "a trace behind a command"),
    ("yore events trace-file --form", "yore events trace-file --format ", "an option"),
    ("yore events trace-file --format c", "yore events trace-file --format csv ", "a value"),
    ("yore sql trace-file --format=j", "yore sql trace-file --format=json ", "a value behind ="),
    ("yore convert trace-file out --to parq", "yore convert trace-file out --to parquet ", "a format to convert to"),
    ("yore events trace-file --time r", "yore events trace-file --time relative ", "a way to write times"),
    ("yore latency trace-file --format la", "yore latency trace-file --format lami ", "a format of an analysis"),
    ("yore latency trace-file t", "yore latency trace-file top ", "a word of an analysis"),
    ("yore periods trace-file --fr", "yore periods trace-file --from ", "an option of an analysis"),
    ("yore latency trace-file --svg trace-", "yore latency trace-file --svg trace-file ", "a file behind an option of an analysis"),
    ("yore help long", "yore help longest ", "a command to help"),
    ("yore events trace-file nothing-li", "yore events trace-file nothing-li", "what there is not"),
)
LISTS = (
    ("yore events trace-file --format ", ("csv", "json", "line", "table", "text"), "values of an option"),
    ("yore latency trace-file ", ("freq", "log", "stats", "top"), "words of an analysis"),
)


def line_of(shell):
    """The line as the shell has it; it is then shown anew."""
    shell.keys(SHOW)
    line = None if shell.wait("<<") is None else shell.wait(">>")
    shell.wait("zsh> ")
    return line


def main():
    zsh = shutil.which("zsh")
    if not zsh:
        print("SKIP: completion in zsh: there is no zsh")
        sys.exit(0)
    with tempfile.TemporaryDirectory() as work:
        os.environ.update(HOME=work, XDG_CACHE_HOME=work, LC_ALL="C.UTF-8", YORE_LUA_DIR=os.path.join(top, "lua-lib"),
                          PATH=work + "/bin:" + os.environ["PATH"])
        os.mkdir(work + "/bin")
        os.symlink(os.path.abspath(yore), work + "/bin/yore")
        with open(work + "/trace-file", "w"), open(work + "/start", "w") as start:
            start.write(START % os.path.join(os.path.abspath(top), "repl/completion"))
        os.chdir(work)
        shell = Terminal([zsh, "-f", "-i"], columns=100)
        shell.keys(". ./start\r")
        ready = shell.wait_for("^ready$") is not None and shell.wait("zsh> ") is not None
        result(ready, "zsh takes its file", shell.shown)
        for typed, wanted, name in ROWS if ready else ():
            shell.keys(CLEAR + typed + TAB)
            shell.wait(typed)
            shown = line_of(shell)
            result(shown == wanted, name + " is completed", (shown, shell.shown[-300:]))
        for typed, wanted, name in LISTS if ready else ():
            shell.keys(CLEAR + typed + TAB)
            shell.wait(typed)
            listed = shell.wait_for(r"\n" + " +".join(wanted), 5)
            result(listed is not None, name + " are listed", shell.shown[-300:])
            line_of(shell)
        shell.keys(CLEAR + "exit\r")
        shell.all(5)
    finish()


main()
