dist_check_SCRIPTS += %D%/run.sh %D%/analyses.sh
EXTRA_DIST += %D%/module.lua %D%/test_events.lua %D%/test_segments.lua %D%/test_script.lua %D%/test_state.lua
