#!/usr/bin/env bash
# The lane with real coding agents and the conformance suite of MCP: installs them when missing (they are not part of the root
# install), then tests agents against a model on loopback, and the product with the suite. Arguments go to vitest; `--install-only` stops after the installation.
set -euo pipefail
lane=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$lane/../.." && pwd)
export PATH="$root/node_modules/.bin:$PATH"

main() {
  install_agents
  if [ "${1:-}" = --install-only ]; then return; fi
  if can_cut_the_network; then
    # Loopback alone: an agent that reached for the network would fail here and not somewhere else.
    exec unshare --net bash -c 'ip link set lo up && exec "$@"' lane vitest run --config "$lane/vitest.config.ts" "$@"
  fi
  echo "*** NOT ISOLATED: no network namespace to be had (wants root, util-linux, iproute2); the agents keep the network. ***" >&2
  exec vitest run --config "$lane/vitest.config.ts" "$@"
}

# A marker holds the lockfile that is installed, so that a changed version is installed anew.
install_agents() {
  local marker="$lane/node_modules/.installed-lock"
  if cmp -s "$lane/package-lock.json" "$marker"; then return; fi
  npm ci --prefix "$lane" --no-audit --no-fund
  cp "$lane/package-lock.json" "$marker"
}

can_cut_the_network() {
  unshare --net bash -c 'ip link set lo up' 2>/dev/null
}

main "$@"
