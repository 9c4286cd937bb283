libengine_la_SOURCES += %D%/classes.c %D%/ctf.c %D%/decode.c %D%/frames.c %D%/gdb.h %D%/gdb_internal.h \
	%D%/lines.c %D%/open.c %D%/registers.c
