# remote: traces that are no files of this machine
noinst_LIBRARIES += libremote.a
libremote_a_SOURCES = \
	%D%/curl.c \
	%D%/curl.h \
	%D%/manifest.c \
	%D%/manifest.h \
	%D%/object.c \
	%D%/object.h \
	%D%/paths.c \
	%D%/paths.h \
	%D%/place.c \
	%D%/place.h \
	%D%/remote.c \
	%D%/remote.h \
	%D%/request.c \
	%D%/request.h \
	%D%/s3.c \
	%D%/s3.h \
	%D%/tar.c \
	%D%/tar.h \
	%D%/waiting.c \
	%D%/waiting.h
libremote_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(EXPAT_CFLAGS) $(JSON_CFLAGS)
