# shellcheck shell=bash
# What the rules share: the files they look at, and the list of exceptions.

# sources PATTERN…: our C files (vmlinux/ is the kernel's), by git where there is one
sources() {
	find bpf user tests -type f \( -name "$1" ${2:+-o -name "$2"} \) 2>/dev/null | sort
}

# excepted RULE SUBJECT: listed in tests/lint/exceptions with a reason
excepted() {
	awk -v rule="$1" -v subject="$2" '$1 == rule && $2 == subject && NF >= 5 { found = 1 }
		END { exit !found }' tests/lint/exceptions 2>/dev/null
}
