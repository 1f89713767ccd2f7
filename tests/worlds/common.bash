# What the scripts of this directory share: the cache, the locks, Debian's packages.
# shellcheck shell=bash
#
# Everything downloaded or built is kept in $cache. A directory or file of the cache is made beside its
# place and renamed into it, so whatever stands there is whole.

export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL=C.UTF-8
umask 022
cache=${JNVDOCKER_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/jnvdocker}

# Without these bash goes on after a Ctrl-C that came while a short command ran.
end_at_signals() {
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}
end_at_signals

say() { echo "${0##*/}: $*" >&2; }
die() {
  say "$@"
  exit 1
}

# The comment at the head of the script is its help.
usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

# lock FILE: held until this process ends. Whatever outlives the process must not inherit it.
lock() {
  mkdir -p "$(dirname "$1")"
  exec {lock_fd}> "$1"
  flock "$lock_fd"
}

# quietly COMMAND...: shows the output only when it fails.
quietly() {
  local out
  out=$("$@" 2>&1 < /dev/null) && return
  tail -n 20 <<< "$out" >&2
  return 1
}

# need COMMAND PACKAGE...: installs the packages where the command is missing.
need() {
  command -v "$1" > /dev/null && return
  [ "$(id -u)" = 0 ] || die "$1 is missing, and only root can install it; run: apt-get install ${*:2}"
  say "installing ${*:2}"
  (
    lock "$cache/install.lock"
    start_no_services
    # The first time may fail for want of a list of packages, or because of an old one.
    install_packages "${@:2}" > /dev/null 2>&1 < /dev/null ||
      { quietly apt-get -qq update && quietly install_packages "${@:2}"; }
  ) || die "cannot install ${*:2}"
  hash -r
  command -v "$1" > /dev/null || die "there is no $1 although ${*:2} got installed"
}

# Debian 12 has both in one package, 13 in two. With AppArmor in the kernel, docker starts no container without its
# parser.
need_docker() {
  need dockerd docker.io
  need docker docker-cli
  [ "$(cat /sys/module/apparmor/parameters/enabled 2> /dev/null)" != Y ] || need apparmor_parser apparmor
}

install_packages() {
  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
    install -y --no-install-recommends "$@"
}

# Where systemd runs, installing an engine would start it. policy-rc.d is Debian's way to forbid that;
# an admin's own is left alone, one that an interrupted run left behind is taken over.
start_no_services() {
  local policy=/usr/sbin/policy-rc.d mark='# made by the tests of jnvdocker, while they install a package'
  [ ! -e "$policy" ] || grep -qxF "$mark" "$policy" || return 0
  # shellcheck disable=SC2064 # the path is wanted as it is now
  trap "rm -f '$policy'" EXIT
  printf '#!/bin/sh\n%s\nexit 101\n' "$mark" > "$policy"
  chmod 755 "$policy"
}

# The machine's own Debian archive, queried for another suite: both spellings of apt's sources are read.
# Sets the array apt_options.
apt_for() {
  local suite=$1 directory=$cache/apt/$1 sources
  mkdir -p "$directory/lists/partial"
  sources=$(deb822_source "$suite")
  if [ -n "$sources" ]; then
    replace "$directory/debian.sources" "$sources"
    sources=$directory/debian.sources
  else
    sources=$(one_line_source "$suite")
    [ -n "$sources" ] || die "no Debian archive among the sources of apt; searched /etc/apt/sources.list and sources.list.d"
    replace "$directory/debian.list" "$sources"
    sources=$directory/debian.list
  fi
  apt_options=(-o Dir::Etc::sourcelist="$sources" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null
    -o Dir::State::Lists="$directory/lists" -o Dir::State::status=/dev/null
    -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Sandbox::User=root
    -o Acquire::Languages=none -o Acquire::Retries=3)
}

replace() {
  printf '%s\n' "$2" > "$1.$$"
  mv -f "$1.$$" "$1"
}

# The first paragraph that names a whole release (no bookworm-updates) and its component main.
deb822_source() {
  local file
  for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] || continue
    grep -v '^#' "$file" | awk -v suite="$1" '
      BEGIN { RS = ""; FS = "\n" }
      !/(^|\n)Suites:([^\n]*[ \t])?[a-z]+([ \t\n]|$)/ { next }
      !/(^|\n)Components:([^\n]*[ \t])?main([ \t\n]|$)/ { next }
      /(^|\n)Enabled:[ \t]*(no|false|0)/ { next }
      {
        for (i = 1; i <= NF; i++) {
          sub(/^Types:.*/, "Types: deb", $i)
          sub(/^Suites:.*/, "Suites: " suite, $i)
          sub(/^Components:.*/, "Components: main contrib non-free", $i)
          print $i
        }
        exit
      }' | grep . && return
  done
  return 0
}

one_line_source() {
  local line
  local pattern='^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+)[[:space:]]+([a-z]+)[[:space:]]+(.*[[:space:]])?main([[:space:]]|$)'
  while read -r line; do
    [[ $line =~ $pattern ]] || continue
    [[ ${BASH_REMATCH[2]} != cdrom:* ]] || continue
    echo "deb ${BASH_REMATCH[1]}${BASH_REMATCH[2]} $1 main contrib non-free"
    return
  done < <(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2> /dev/null)
}

# debs SUITE DIRECTORY NAME...: has the packages' files in the directory; a name with a question mark may be
# missing from the suite. Queries the archive only when the list of names is another than last time: apt
# checks what is there already, and half a file of an interrupted run is fetched again.
debs() {
  [ "$(cat "$2/names" 2> /dev/null)" != "${*:3}" ] || return 0
  (
    lock "$cache/apt/$1.lock"
    download_debs "$@"
  )
}

download_debs() {
  local suite=$1 directory=$2 names=() name known file
  mkdir -p "$directory"
  apt_for "$suite"
  say "downloading packages of $suite"
  quietly apt-get -qq "${apt_options[@]}" update || die "cannot read Debian's list of packages for $suite"
  known=${*:3}
  # shellcheck disable=SC2086 # words are what is wanted
  known=$(apt-cache "${apt_options[@]}" madison ${known//\?/} 2> /dev/null | awk '{ print $1 }')
  for name in "${@:3}"; do
    if grep -qxF -- "${name%\?}" <<< "$known"; then
      names+=("${name%\?}")
    elif [[ $name != *\? ]]; then
      die "$suite has no package $name"
    fi
  done
  known=$(apt-get "${apt_options[@]}" --print-uris -qq download "${names[@]}" | awk '{ print $2 }')
  for file in "$directory"/*.deb; do
    grep -qxF -- "${file##*/}" <<< "$known" || rm -f "$file"
  done
  (cd "$directory" && quietly apt-get -qq "${apt_options[@]}" download "${names[@]}") ||
    die "cannot download packages of $suite; what is there already is kept in $directory"
  replace "$directory/names" "${*:3}"
}
