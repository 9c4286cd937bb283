# rows: tables of a trace, whichever database asks for them
noinst_LIBRARIES += librows.a
librows_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
librows_a_SOURCES = \
	%D%/calls.c \
	%D%/calls.h \
	%D%/comms.c \
	%D%/comms.h \
	%D%/lists.c \
	%D%/losses.c \
	%D%/row_host.c \
	%D%/row_host.h \
	%D%/row_list.c \
	%D%/row_list.h \
	%D%/thread_calls.c \
	%D%/thread_parts.c \
	%D%/thread_rows.c \
	%D%/thread_rows.h \
	%D%/thread_rows_internal.h \
	%D%/threads.c
