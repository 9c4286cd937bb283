dist_check_SCRIPTS += %D%/run_sessions.sh
EXTRA_DIST += %D%/at.session %D%/commands.session %D%/errors.session %D%/events.session \
	%D%/init.lua %D%/lua.session %D%/moves.session
