#!/bin/sh
# Runs a program of a root: --root of `up`, else FLEETCTL_ROOT, else .fleetctl in this folder.
# First writes the root's launchers and permission sets, which must be on disk before it starts.
# usage: under_root.sh tree|bundle FOLDER DENO DENO_DIR PROGRAM [arguments]   (DENO_DIR "" : the root's)
set -eu
kind=$1 folder=$2 deno=$3 cache=$4 program=$5
shift 5

# The commands for hints: in a source tree, the program is not on the PATH.
call() { case "$kind" in tree) echo "./dev run fleetctl" ;; *) echo fleetctl ;; esac; }
call_up() { case "$kind" in tree) echo "./dev up" ;; *) echo "fleetctl up" ;; esac; }

root=${FLEETCTL_ROOT:-.fleetctl}
if [ "$program" = fleetctl ] && [ "${1:-}" = up ]; then
  previous=
  for word in "$@"; do
    case "$word" in --root=*) root=${word#--root=} ;; esac
    if [ "$previous" = --root ]; then root=$word; fi
    previous=$word
  done
fi
if [ -z "$root" ]; then
  echo "fleetctl: Cannot use root \"\": must name a folder" >&2
  echo "hint: $(call_up) --root ~/.fleetctl" >&2
  exit 2
fi
case "$root" in /*) ;; *) root="$(pwd)/$root" ;; esac
# Resolves links and dots once, because permission sets and units contain the real path.
root=$(realpath -m -- "$root") || exit 2
# Deno, units and launchers treat these characters as separators or quotes.
case "$root" in
  *[,:\"\'\\{}]* | *"
"*)
    echo "fleetctl: Cannot use root \"$root\": must not contain , \" ' \\ { } : or a line break" >&2
    echo "hint: $(call_up) --root /tmp/fleetctl" >&2
    exit 2
    ;;
esac

# The preparation may write only to the root itself, so the parent folder must exist.
if [ ! -e "$(dirname -- "$root")" ]; then
  echo "fleetctl: Cannot use root \"$root\": its parent folder does not exist, must exist" >&2
  echo "hint: mkdir -p '$(dirname -- "$root")'" >&2
  exit 1
fi

case "$kind" in
  tree) prepare=$folder/units/prepare/main.ts ;;
  *)
    prepare=$folder/fleetctl-prepare.js
    [ -n "$cache" ] || cache=$root/var/cache/fleetctl/deno
    ;;
esac
DENO_DIR=$cache
FLEETCTL_ROOT=$root
DENO_NO_UPDATE_CHECK=1
export DENO_DIR FLEETCTL_ROOT DENO_NO_UPDATE_CHECK
# A role that is not installed here gets its settings from the environment alone. The preparation
# reads these variables to find out what the role may reach.
sys=uid,gid settings=FLEETCTL_ROOT
case "$program" in
  fleetctl-gateway | fleetctl-login | fleetctl-teamchat)
    sys=$sys,networkInterfaces
    settings=WEBVIEW_COCKPIT_LISTEN,WEBVIEW_DIAL_LISTEN,WEBVIEW_LOGIN_LISTEN,WEBVIEW_OIDC_ISSUER,WEBVIEW_UPSTREAM
    settings=$settings,TEAMS_CLOUD,TEAMS_FILE_HOSTS,TEAMS_LISTEN,TEAMS_REGISTER_LISTEN
    ;;
esac
"$deno" run -q --cached-only --no-prompt --allow-read="$root" --allow-write="$root" --allow-sys="$sys" \
  --allow-env="$settings" --ignore-env "$prepare" "$kind" "$folder" "$cache" "$root" "$program" || exit $?
ln -sfn "$deno" "$root/usr/lib/fleetctl/deno"
# Copies the built page, because the gateway may read only its own folders.
case "$kind" in tree) web=$folder/.cache/web ;; *) web=$folder/web ;; esac
if [ -f "$web/web.json" ] && ! cmp -s "$web/web.json" "$root/usr/lib/fleetctl/web/web.json"; then
  rm -rf "$root/usr/lib/fleetctl/web.new"
  cp -R "$web" "$root/usr/lib/fleetctl/web.new"
  rm -rf "$root/usr/lib/fleetctl/web"
  mv "$root/usr/lib/fleetctl/web.new" "$root/usr/lib/fleetctl/web"
fi
launcher=$root/usr/lib/fleetctl/$program
if [ ! -x "$launcher" ]; then
  echo "fleetctl: Cannot run \"$program\": there is no such program, must be one of those in README.md" >&2
  echo "hint: $(call) help" >&2
  exit 2
fi
exec "$launcher" "$@"
