/* slurm.h - a command line as a script that has the nodes of a Slurm cluster do it */
#ifndef REPL_SLURM_H
#define REPL_SLURM_H

#include "repl/options.h"
#include "repl/sink.h"

/*
 * Writes a script for sh, by which --slurm N tasks answer what words[0 .. n), argv without --slurm,
 * asks. False: ERR_QUERY, it does not go together.
 */
MUST_CHECK bool slurm_script(const struct options *options, int n, char **words, struct sink *sink,
			     struct error *err);

#endif
