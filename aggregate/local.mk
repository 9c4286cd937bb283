# aggregate: groups by keys, and what is counted and added up in each
noinst_LIBRARIES += libaggregate.a
libaggregate_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
libaggregate_a_SOURCES = \
	%D%/accumulator.c \
	%D%/accumulator.h \
	%D%/groups.c \
	%D%/groups.h \
	%D%/partial.c \
	%D%/partial.h \
	%D%/partial_groups.c \
	%D%/percentile.c \
	%D%/percentile.h
