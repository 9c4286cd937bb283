# Figures are ratios against a peer in the same run; nothing here is a test.
bench_programs = %D%/bench-decode$(EXEEXT) %D%/bench-repeat$(EXEEXT) \
	%D%/bench-repeat-perf$(EXEEXT) %D%/bench-repeat-ftrace$(EXEEXT) %D%/bench-sweep$(EXEEXT) \
	%D%/bench-timelines$(EXEEXT) %D%/bench-limit$(EXEEXT) %D%/bench-cold$(EXEEXT) \
	%D%/bench-rows$(EXEEXT)
EXTRA_PROGRAMS += %D%/bench-decode %D%/bench-repeat %D%/bench-repeat-perf \
	%D%/bench-repeat-ftrace %D%/bench-sweep
%C%_bench_sweep_SOURCES = %D%/seconds.h %D%/sweep.c
%C%_bench_sweep_LDADD = $(index_libs)
%C%_bench_decode_SOURCES = %D%/seconds.h %D%/decode.c
%C%_bench_decode_LDADD = $(index_libs)
%C%_bench_repeat_SOURCES = %D%/repeat.c
%C%_bench_repeat_LDADD = $(engine_libs)
%C%_bench_repeat_perf_SOURCES = %D%/bytes.h %D%/repeat_perf.c
%C%_bench_repeat_perf_LDADD = $(engine_libs)
%C%_bench_repeat_ftrace_SOURCES = %D%/bytes.h %D%/repeat_ftrace.c
%C%_bench_repeat_ftrace_LDADD = $(engine_libs)
EXTRA_PROGRAMS += %D%/bench-timelines %D%/bench-limit %D%/bench-rows
%C%_bench_limit_SOURCES = %D%/seconds.h %D%/limit.c
%C%_bench_timelines_SOURCES = %D%/seconds.h %D%/timelines.c
%C%_bench_timelines_LDADD = $(state_libs)
EXTRA_PROGRAMS += %D%/bench-cold
%C%_bench_cold_SOURCES = %D%/seconds.h %D%/cold.c
%C%_bench_cold_LDADD = $(index_libs)
%C%_bench_rows_SOURCES = %D%/seconds.h %D%/rows.c
%C%_bench_rows_CFLAGS = $(AM_CFLAGS) -pthread
%C%_bench_rows_LDADD = $(repl_libs)
CLEANFILES += $(bench_programs)
dist_noinst_SCRIPTS += \
	%D%/cores.py \
	%D%/follow.py \
	%D%/live_mirror.py \
	%D%/pair.py \
	%D%/run.py \
	%D%/scale.py \
	%D%/windows.py
EXTRA_DIST += \
	%D%/ceiling.py \
	%D%/cold.py \
	%D%/duckdb.mjs \
	%D%/growth.py \
	%D%/kernel.py \
	%D%/loops.lua \
	%D%/lua.py \
	%D%/measure.py \
	%D%/ovni.py \
	%D%/plots.py \
	%D%/sql.py \
	%D%/timelines.py

# BENCH_FLAGS='--large 1000000000' leaves out the 10 GB trace, '--only perf ftrace' all CTF
.PHONY: bench
bench: $(bench_programs) all
	$(srcdir)/bench/run.py $(abs_builddir) $(BENCH_FLAGS)
