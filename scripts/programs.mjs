/**
 * Programs that the tests require, as Debian packages. They are installed automatically if the process runs as root on
 * Debian or a derivative.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const onPath = (name) => (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));

/** Debian package → whether its programs are installed, from the package or another source. */
const PROGRAMS = {
  // Unpacks Helm for the tests of `deploy`.
  python3: () => onPath('python3'),
  mosquitto: () => onPath('mosquitto') || existsSync('/usr/sbin/mosquitto'),
  'mosquitto-clients': () => onPath('mosquitto_pub') && onPath('mosquitto_ctrl'),
  postgresql: () => existsSync('/usr/lib/postgresql') || onPath('initdb'),
  pgbouncer: () => existsSync('/usr/sbin/pgbouncer'),
  nginx: () => onPath('nginx') || existsSync('/usr/sbin/nginx'),
  haproxy: () => onPath('haproxy') || existsSync('/usr/sbin/haproxy'),
  openssl: () => onPath('openssl'),
  slapd: () => onPath('slapd') || existsSync('/usr/sbin/slapd'),
  // For tests with several hosts.
  iproute2: () => onPath('ip') || existsSync('/usr/sbin/ip'),
  'iputils-arping': () => onPath('arping'),
  nftables: () => onPath('nft') || existsSync('/usr/sbin/nft'),
  faketime: () => onPath('faketime'),
  // promtool, which evaluates the alerts.
  prometheus: () => onPath('promtool'),
  // Chromium without its windows takes a sixth less processor time.
  'chromium-headless-shell': () => onPath('chromium-headless-shell'),
};

/**
 * Does not start the services of the packages, because they would use ports 1883 and 5432. Tests start their own
 * brokers and servers on free ports. Debian runs policy-rc.d before it starts a service. An existing policy-rc.d is not
 * changed.
 */
const INSTALL = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > "$policy"
  chmod 755 "$policy"
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends "$@"
`;

export function installPrograms() {
  const missing = Object.keys(PROGRAMS).filter((name) => !PROGRAMS[name]());
  if (missing.length === 0) return;
  if (process.getuid?.() === 0 && onPath('apt-get')) {
    process.stderr.write(`Installing ${missing.join(', ')} (Debian packages; their services are not started) …\n`);
    const { status } = spawnSync('/bin/sh', ['-c', INSTALL, 'install', ...missing], {
      stdio: ['ignore', 'ignore', 2],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    if (status === 0) return;
  }
  process.stderr.write(`Not installed: ${missing.join(', ')}. Tests that need them are skipped or fail.\n`);
}
