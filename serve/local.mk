# serve: what a browser fetches, over HTTP, on this machine
noinst_LIBRARIES += libserve.a
libserve_a_SOURCES = \
	%D%/one_file.c \
	%D%/one_file.h
libserve_a_CFLAGS = $(AM_CFLAGS) $(MICROHTTPD_CFLAGS)
