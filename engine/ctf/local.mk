libengine_a_SOURCES += \
	%D%/ctf_internal.h \
	%D%/description.h \
	%D%/ctf_decode.c \
	%D%/decode_internal.h \
	%D%/cpus.c \
	%D%/own.c \
	%D%/folders.c \
	%D%/folders.h \
	%D%/folder_metadata.c \
	%D%/gather.c \
	%D%/heads.c \
	%D%/input.c \
	%D%/lttng_index.c \
	%D%/ctf_open.c \
	%D%/order.c \
	%D%/packet_head.c \
	%D%/part.c \
	%D%/quirks.c \
	%D%/reader.c \
	%D%/ring.c \
	%D%/roles.c \
	%D%/ctf_scan.c \
	%D%/sections.c
libengine_a_SOURCES += \
	%D%/ctf2.h \
	%D%/json_class.c \
	%D%/json_fragments.c \
	%D%/json_item.c \
	%D%/json_location.c \
	%D%/json_parse.c
libengine_a_SOURCES += \
	%D%/ctf_metadata.c \
	%D%/tsdl.c \
	%D%/tsdl.h \
	%D%/tsdl_attribute.c \
	%D%/tsdl_block.c \
	%D%/tsdl_build.c \
	%D%/tsdl_check.c \
	%D%/tsdl_lex.c \
	%D%/tsdl_names.c \
	%D%/tsdl_names.h \
	%D%/tsdl_parse.c \
	%D%/tsdl_type.c
libengine_a_SOURCES += \
	%D%/rfc.h \
	%D%/rfc_build.c \
	%D%/rfc_language.h \
	%D%/rfc_metadata.c \
	%D%/rfc_packet.c \
	%D%/rfc_parse.c \
	%D%/rfc_type.c
