# oneliner: bpftrace's language, asked of a recording
noinst_LIBRARIES += liboneliner.a
liboneliner_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
liboneliner_a_SOURCES = \
	%D%/bind.c \
	%D%/bind.h \
	%D%/check.c \
	%D%/compile.c \
	%D%/eval.c \
	%D%/event.c \
	%D%/format.c \
	%D%/format.h \
	%D%/functions.c \
	%D%/maps.c \
	%D%/maps.h \
	%D%/oneliner.h \
	%D%/outlet.c \
	%D%/outlet.h \
	%D%/parse.c \
	%D%/parse.h \
	%D%/parse_expr.c \
	%D%/probes.c \
	%D%/program.c \
	%D%/run.c \
	%D%/runtime.h \
	%D%/statement.c \
	%D%/tree.h
oneliner_libs = liboneliner.a libaggregate.a $(state_libs) # PCRE is state's, too
shared_oneliner = -Wl,liboneliner.a,libaggregate.a
