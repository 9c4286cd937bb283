# bash completion of yore: commands, analyses, options and their values, as `yore help` lists them, so
# that they are always those of the program's own tables.

# _yore_listed PATTERN [COMMAND]: what a sed pattern takes of the lines of help
_yore_listed()
{
	local pattern=$1
	shift
	yore help "$@" 2>/dev/null | sed -n "s/^  $pattern.*/\\1/p"
}

_yore()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	local values

	# bash parts --format=csv into three words
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		values=$(_yore_listed '\([a-z][a-z-]*\)  ')
	elif [ "$command" = help ]; then
		values=$(_yore_listed '\([a-z][a-z-]*\)  ')
	elif [[ $before == --* ]]; then
		values=$(_yore_listed "$before \\([a-z0-9.]*|[a-z0-9.|]*\\)" "$command" | tr '|' ' ')
	elif [ "$COMP_CWORD" -gt 2 ] && [[ $word != -* ]]; then # words of an analysis
		values=$(yore help "$command" 2>/dev/null | sed -n '1s/^yore [a-z-]* TRACE \[\([a-z|]*\)\].*/\1/p' | tr '|' ' ')
	fi
	if [ -z "$values" ] && [[ $word == -* ]]; then
		values=$(_yore_listed '\(--[a-z-]*\)' "$command")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
	if [ "$COMP_CWORD" = 1 ] || [ -z "$values" ]; then
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
	fi
}

complete -o filenames -o bashdefault -F _yore yore
