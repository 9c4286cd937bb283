dist_check_SCRIPTS += %D%/remote.py
EXTRA_DIST += %D%/server.py
