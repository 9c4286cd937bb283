# follow: a trace that is read while it is written
noinst_LIBRARIES += libfollow.a
libfollow_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
libfollow_a_SOURCES = \
	%D%/follow.c \
	%D%/follow.h \
	%D%/socket.c \
	%D%/socket.h \
	%D%/watch.c \
	%D%/watch.h \
	%D%/watermark.c \
	%D%/watermark.h
