# live: a relay's viewer protocol, and the mirror of a session
noinst_LIBRARIES += liblive.a
liblive_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
liblive_a_SOURCES = \
	%D%/beacons.c \
	%D%/beacons.h \
	%D%/connection.c \
	%D%/connection.h \
	%D%/metadata_file.c \
	%D%/metadata_file.h \
	%D%/mirror.c \
	%D%/mirror.h \
	%D%/mirror_beacons.c \
	%D%/mirror_folder.c \
	%D%/mirror_internal.h \
	%D%/mirror_mark.c \
	%D%/mirror_poll.c \
	%D%/mirror_sessions.c \
	%D%/names.c \
	%D%/names.h \
	%D%/protocol.c \
	%D%/protocol.h \
	%D%/stream_file.c \
	%D%/stream_file.h \
	%D%/url.c \
	%D%/url.h \
	%D%/viewer.c \
	%D%/viewer.h
live_libs = liblive.a $(engine_libs)
