libengine_la_SOURCES += %D%/decode.c %D%/log.c %D%/record.c %D%/sel4.h \
	%D%/sel4_internal.h
