# Figures are ratios against a peer in the same run; nothing here is a test.
EXTRA_PROGRAMS += %D%/bench-decode %D%/bench-repeat
%C%_bench_decode_SOURCES = %D%/decode.c
%C%_bench_decode_LDADD = libindex.la libengine.la
%C%_bench_repeat_SOURCES = %D%/repeat.c
%C%_bench_repeat_LDADD = libengine.la
CLEANFILES += %D%/bench-decode$(EXEEXT) %D%/bench-repeat$(EXEEXT)
dist_noinst_SCRIPTS += %D%/run.py

# BENCH_FLAGS='--large 1000000000' leaves out the 10 GB trace
.PHONY: bench
bench: %D%/bench-decode$(EXEEXT) %D%/bench-repeat$(EXEEXT) all
	$(srcdir)/bench/run.py $(abs_builddir) $(BENCH_FLAGS)
