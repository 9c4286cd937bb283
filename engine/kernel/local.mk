libengine_a_SOURCES += \
	%D%/kernel_classes.c \
	%D%/format.c \
	%D%/names.c \
	%D%/plugins.c \
	%D%/print.h \
	%D%/print_bprint.c \
	%D%/print_compile.c \
	%D%/print_helpers.c \
	%D%/print_lex.c \
	%D%/print_number.c \
	%D%/print_parse.c \
	%D%/print_parser.h \
	%D%/print_pointer.c \
	%D%/print_raw.c \
	%D%/print_run.c \
	%D%/print_scsi.c \
	%D%/syscalls.c \
	%D%/kernel_text.c \
	%D%/tracing.c \
	%D%/tracing.h \
	%D%/tracing_internal.h
