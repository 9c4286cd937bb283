libengine_la_SOURCES += %D%/ctf.h %D%/ctf_internal.h %D%/description.h \
	%D%/decode.c %D%/lttng_index.c %D%/open.c %D%/packet_head.c %D%/part.c \
	%D%/quirks.c %D%/reader.c %D%/scan.c
