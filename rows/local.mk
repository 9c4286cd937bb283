# rows: tables of a trace, whichever database asks for them
noinst_LIBRARIES += librows.a
librows_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
librows_a_SOURCES = \
	%D%/comms.c \
	%D%/comms.h \
	%D%/lists.c \
	%D%/lookup.c \
	%D%/lookup.h \
	%D%/losses.c \
	%D%/packets.c \
	%D%/row_host.c \
	%D%/row_host.h \
	%D%/row_table.c \
	%D%/row_table.h \
	%D%/states.c \
	%D%/thread_calls.c \
	%D%/thread_parts.c \
	%D%/thread_rows.c \
	%D%/thread_rows.h \
	%D%/threads.c
