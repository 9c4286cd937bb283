libengine_a_SOURCES += \
	%D%/gdb_classes.c \
	%D%/ctf.c \
	%D%/gdb_decode.c \
	%D%/frames.c \
	%D%/gdb_internal.h \
	%D%/lines.c \
	%D%/gdb_open.c \
	%D%/registers.c
