libengine_a_SOURCES += \
	%D%/sel4_decode.c \
	%D%/lanes.c \
	%D%/log.c \
	%D%/record.c \
	%D%/sel4_internal.h
