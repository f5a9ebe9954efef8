#!/bin/sh
# Finds or installs what pip cannot: `system.sh compiler` (for torch:compile and Theano), `system.sh clang` (for
# tinygrad), `system.sh browser` (for the report's tests), `system.sh node` (for frameworks in JavaScript) or `system.sh openmpi`
# (for CNTK), `system.sh iproute2` (for links between processes). Missing for good is not an error here: races and tests say what they go without.
set -u

libraries=""
case "${1:-}" in
compiler) commands="g++ c++ clang++" packages="g++" purpose="torch:compile and Theano" ;;
clang) commands="clang" packages="clang" purpose="tinygrad" ;;
browser) commands="chromium chromium-browser google-chrome" packages="chromium" purpose="the browser tests" ;;
node) commands="npm" packages="nodejs npm" purpose="frameworks in JavaScript" ;;
openmpi) commands="" libraries="libmpi.so.40" packages="libopenmpi3" purpose="CNTK" ;;
iproute2) commands="tc" packages="iproute2" purpose="links of a stated speed between processes (--link)" ;;
*) echo "usage: system.sh compiler|clang|browser|node|openmpi|iproute2" >&2; exit 2 ;;
esac

for command in $commands; do
    command -v "$command" >/dev/null && exit 0
done
for library in $libraries; do
    PATH="$PATH:/sbin" ldconfig -p | grep -q "$library" && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # several packages are several words
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; } >/dev/null && exit 0
fi
echo "note: $purpose need $packages: install with your package manager (Debian: sudo apt-get install $packages)" >&2
