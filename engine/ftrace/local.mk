libengine_la_SOURCES += %D%/chunks.c %D%/classes.c %D%/cmdlines.c %D%/decode.c \
	%D%/decompress.c %D%/file.c %D%/file6.c %D%/file7.c %D%/ftrace.h %D%/ftrace_internal.h \
	%D%/chunk_cache.c %D%/maps.c %D%/open.c %D%/options.c %D%/pages.c %D%/raw.c %D%/time.c
