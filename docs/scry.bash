# bash completion for scry(1)

_scry_options() {
	case $1 in
	record) echo "-a -p -F -c -d -o -e -q -v -h -V --all --pid= --freq= --count= --duration= --output= --event=
		--mode= --exclude-idle --threads= --no-bpf --seed= --max-frames= --no-inherit --wait= --as-root --summary= --stats --quiet --verbose --help --version" ;;
	report) echo "-i -n -h -V --input= --rows= --sort= --by= --stats --color= --help --version" ;;
	export) echo "-f -i -o -h -V --format= --input= --output= --group= --lines --outcome= --state= --help --version" ;;
	dump) echo "-j -h -V --children --json --help --version" ;;
	ps) echo "-j -h -V --json --help --version" ;;
	doctor) echo "-h -V --help --version" ;;
	esac
}

# The words that may follow an option: an option on its own, or its long name before '='.
_scry_values() {
	case $1 in
	-e | --event) echo "cpu-clock task-clock cycles instructions cache-misses page-faults context-switches" ;;
	--mode) echo "cpu wall gil" ;;
	--seed) echo "stack leaf tstate" ;;
	--sort) echo "self total" ;;
	--by) echo "function line process thread state" ;;
	--state) echo "on_cpu runnable sleeping gil_wait gc blocked stopped unknown" ;;
	--color) echo "auto always never" ;;
	-f | --format) echo "folded flamegraph pprof" ;;
	--group) echo "none process thread" ;;
	--outcome) echo "exact joined read cut unproven gone native missed" ;;
	-p | --pid) (cd /proc && echo [0-9]*) ;;
	esac
}

_scry() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i
	local values

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "record report export dump ps doctor help" -- "$word")
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} != -- ]] && continue
		# the command to run completes as it would alone
		if declare -F _command_offset > /dev/null; then
			_command_offset $((i + 1))
		else
			mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
		fi
		return
	done
	# bash splits at '=': --sort = se
	[[ $word == = ]] && word=
	[[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
	values=$(_scry_values "$before")
	if [[ -n $values ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_scry_options "$command")" -- "$word")
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
	elif [[ $command == dump ]]; then
		mapfile -t COMPREPLY < <(cd /proc && compgen -W "$(echo [0-9]*)" -- "$word")
	elif [[ $command == help ]]; then
		mapfile -t COMPREPLY < <(compgen -W "record report export dump ps doctor" -- "$word")
	else
		case $before in
		-i | --input | -o | --output | --summary) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
		esac
	fi
}

complete -F _scry scry
