# repl
