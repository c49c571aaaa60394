# shellcheck shell=bash disable=SC2034,SC2154 # variables are for who sources this
# What the set-up scripts share: the cache that outlives checkouts (SCRY_CACHE), a Debian root in it, and Go. One of
# them works there at a time.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SCRY_CACHE:-/var/cache/scry-test}
mkdir -p "$cache" || exit 1
exec 9> "$cache/.lock"
flock 9

say() { printf '%s: %s\n' "$tool" "$*" >&2; }

retry() { # COMMAND…: up to three times, a mirror may be busy
	local pause
	for pause in 5 20; do
		"$@" && return 0
		say "failed, once more in $pause s: $*"
		sleep "$pause"
	done
	"$@"
}

mirror() { # the machine's Debian mirror, from apt's sources
	# shellcheck disable=SC2016 # the $(…) is apt's
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		grep -v security | grep -m1 '/debian/*$' || echo http://deb.debian.org/debian
}

bootstrap() { # SUITE FOLDER
	rm -rf "$2"
	debootstrap --variant=minbase "$1" "$2" "$(mirror)" 2>&1 9>&-
}

make_root() { # SUITE: a minimal Debian root, run by chroot
	local root=$cache/root-$1 new=$cache/root-$1.new
	[ -d "$root" ] && return 0
	say "installing a Debian $1 root in $root (about a minute)"
	retry bootstrap "$1" "$new" > "$root.log" || return 1
	# a mirror may be a snapshot: its Release file looks expired
	echo 'Acquire::Check-Valid-Until "false";' > "$new/etc/apt/apt.conf.d/99-valid-until"
	mv "$new" "$root"
}

# in_root ROOT COMMAND…: with /proc for as long as it runs, for package scripts. What they start does not hold our lock
in_root() {
	local root=$1
	shift
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare -m sh -c 'mount -t proc proc "$1/proc" && shift && exec chroot "$@"' sh "$root" "$root" "$@" 9>&-
}

install_in_root() { # ROOT PACKAGE…
	local root=$1
	shift
	retry in_root "$root" sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install \
		-y -q --no-install-recommends "$@"' sh "$@"
}

go_here() { # a Go that knows modules of today
	local go
	for go in "$(command -v go)" /usr/local/go/bin/go; do
		[ -x "$go" ] && "$go" version | grep -qE 'go(1\.(2[1-9]|[3-9][0-9])|[2-9])' &&
			{ echo "$go"; return 0; }
	done
	return 1
}

# go_build FOLDER PACKAGE: compile the module in FOLDER to FOLDER/program, by this machine's Go or by sid's
go_build() {
	local go root=$cache/root-sid
	if go=$(go_here); then
		(cd "$1" && GOFLAGS=-mod=mod CGO_ENABLED=0 retry "$go" build -o program "$2")
		return
	fi
	make_root sid || return 1
	rm -rf "$root/build"
	mkdir -p "$root/build" && cp "$1"/* "$root/build/" || return 1
	install_in_root "$root" golang-go ca-certificates || return 1
	# the machine may have certificates of its own
	cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
	retry in_root "$root" sh -c "cd /build && HOME=/build GOFLAGS=-mod=mod CGO_ENABLED=0 go build -o program $2" ||
		return 1
	cp "$root/build/program" "$1/program"
	chmod -R u+w "$root/build" && rm -rf "$root/build"
}
