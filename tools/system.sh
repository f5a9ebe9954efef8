#!/bin/sh
# Finds or installs what pip cannot: `system.sh compiler` (for torch:compile) or `system.sh browser` (for
# the report's tests). Missing for good is not an error here: races and tests say what they go without.
set -u

case "${1:-}" in
compiler) commands="g++ c++ clang++" package="g++" purpose="torch:compile" ;;
browser) commands="chromium chromium-browser google-chrome" package="chromium" purpose="the browser tests" ;;
*) echo "usage: system.sh compiler|browser" >&2; exit 2 ;;
esac

for command in $commands; do
    command -v "$command" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$package"; } >/dev/null && exit 0
fi
echo "note: $purpose needs $package: install it with your package manager (Debian: sudo apt-get install $package)" >&2
