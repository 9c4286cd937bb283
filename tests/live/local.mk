dist_check_SCRIPTS += \
	%D%/mirror.py \
	%D%/relayd.py
EXTRA_DIST += \
	%D%/made_relay.py \
	%D%/rig.py \
	%D%/replies.py

test_programs += %D%/test_protocol %D%/test_connection %D%/test_stream_file %D%/test_beacons
%C%_test_protocol_SOURCES = %D%/test_protocol.c
%C%_test_protocol_LDADD = $(live_libs) $(CMOCKA_LIBS)
%C%_test_connection_SOURCES = %D%/test_connection.c
%C%_test_connection_LDADD = $(live_libs) $(CMOCKA_LIBS)
%C%_test_stream_file_SOURCES = %D%/test_stream_file.c
%C%_test_stream_file_LDADD = $(live_libs) $(CMOCKA_LIBS)
%C%_test_beacons_SOURCES = %D%/test_beacons.c
%C%_test_beacons_LDADD = $(live_libs) $(CMOCKA_LIBS)
