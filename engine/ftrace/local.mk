libengine_a_SOURCES += \
	%D%/chunks.c \
	%D%/ftrace_classes.c \
	%D%/cmdlines.c \
	%D%/ftrace_decode.c \
	%D%/decompress.c \
	%D%/file.c \
	%D%/file6.c \
	%D%/file7.c \
	%D%/ftrace_internal.h \
	%D%/chunk_cache.c \
	%D%/ftrace_maps.c \
	%D%/ftrace_open.c \
	%D%/options.c \
	%D%/pages.c \
	%D%/raw.c \
	%D%/time.c
