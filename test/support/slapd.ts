import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'ldapts';
import { onTestFinished } from 'vitest';
import { createAuthority } from './certificates.ts';
import { endProcess } from './end-process.ts';
import { freePort } from './free-port.ts';
import { accepts } from './mosquitto.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PROGRAMS = '/usr/sbin';
export const hasSlapd = existsSync(join(PROGRAMS, 'slapd'));
export const SLAPD_MISSING = 'slapd is not installed (Debian: apt-get install slapd)';

const SUFFIX = 'dc=example,dc=com';
const ADMIN = { dn: `cn=admin,${SUFFIX}`, password: 'of the administrator of the directory' } as const;
/** The only account that may search. */
const READER = { dn: `cn=reader,${SUFFIX}`, password: 'of the account that searches' } as const;
/** Password of each user. */
export const LDAP_PASSWORD = 'a password of the directory';
/** If started as root, the server changes to a user without rights. */
const NOBODY = 65_534;

export interface TestDirectory {
  readonly url: string;
  readonly tlsUrl: string;
  /** PEM file of the authority that issued the certificate of the server. */
  readonly caFile: string;
  /** Environment variables of a service that uses this server without TLS. */
  readonly env: Readonly<Record<string, string>>;
  dnOf(uid: string): string;
  /** Runs `work` with a client that is signed in as the administrator. */
  change(work: (client: Client) => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
  startAgain(): Promise<void>;
}

interface DirectoryPerson {
  readonly uid: string;
  readonly cn: string;
  readonly mail?: readonly string[];
}

/**
 * Starts a real slapd with its data in a temporary folder, on free ports of loopback, and stops it after the test.
 * `people` are below ou=people and have LDAP_PASSWORD. `groups` (names with the uids of their members) are below
 * ou=groups.
 */
export async function startSlapd(
  people: readonly DirectoryPerson[],
  groups: Readonly<Record<string, readonly string[]>>,
): Promise<TestDirectory> {
  if (!hasSlapd) throw new Error(SLAPD_MISSING);
  const folder = temporaryFolder();
  const file = (name: string) => join(folder, name);
  mkdirSync(file('data'));
  const authority = createAuthority();
  const { cert, key } = authority.issue({ name: 'directory', altNames: ['IP:127.0.0.1', 'IP:::ffff:127.0.0.1'] });
  writeFileSync(file('ca.pem'), authority.cert);
  writeFileSync(file('cert.pem'), cert);
  writeFileSync(file('key.pem'), key);
  writeFileSync(file('slapd.conf'), configuration(folder));
  writeFileSync(file('entries.ldif'), entries(people, groups).join('\n'));
  execFileSync(join(PROGRAMS, 'slapadd'), ['-q', '-f', file('slapd.conf'), '-l', file('entries.ldif')], {
    stdio: 'pipe',
  });
  const owner = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if ('uid' in owner) giveTo(folder, NOBODY);
  const [port, tlsPort] = [await freePort(), await freePort()];
  const url = `ldap://127.0.0.1:${port}`;
  const tlsUrl = `ldaps://127.0.0.1:${tlsPort}`;
  let slapd: ChildProcess | null = null;
  const start = async () => {
    const program = spawn(join(PROGRAMS, 'slapd'), ['-d', '0', '-f', file('slapd.conf'), '-h', `${url} ${tlsUrl}`], {
      ...owner,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    program.stderr.on('data', (chunk: Buffer) => {
      said += chunk;
    });
    slapd = program;
    const exit = once(program, 'exit').then(() => {
      throw new Error(`slapd did not start:\n${said}`);
    });
    exit.catch(() => {});
    await Promise.race([Promise.all([accepts(port), accepts(tlsPort)]), exit]);
  };
  const stop = async () => {
    if (slapd !== null) await endProcess(slapd, 'SIGTERM');
  };
  await start();
  onTestFinished(stop);
  return {
    url,
    tlsUrl,
    caFile: file('ca.pem'),
    env: {
      LDAP_URL: url,
      LDAP_START_TLS: 'off',
      LDAP_BIND_DN: READER.dn,
      LDAP_BIND_PASSWORD: READER.password,
      LDAP_USER_BASE: `ou=people,${SUFFIX}`,
      LDAP_GROUP_BASE: `ou=groups,${SUFFIX}`,
    },
    dnOf,
    change: async (work) => {
      const client = new Client({ url });
      try {
        await client.bind(ADMIN.dn, ADMIN.password);
        await work(client);
      } finally {
        await client.unbind();
      }
    },
    stop,
    startAgain: start,
  };
}

const dnOf = (uid: string): string => `uid=${uid},ou=people,${SUFFIX}`;

function configuration(folder: string): string {
  return [
    ...['core', 'cosine', 'inetorgperson'].map((name) => `include /etc/ldap/schema/${name}.schema`),
    'modulepath /usr/lib/ldap',
    'moduleload back_mdb',
    'moduleload ppolicy',
    `pidfile ${folder}/slapd.pid`,
    `TLSCACertificateFile ${folder}/ca.pem`,
    `TLSCertificateFile ${folder}/cert.pem`,
    `TLSCertificateKeyFile ${folder}/key.pem`,
    // Like many servers, accept a name with an empty password as an anonymous bind.
    'allow bind_anon_cred bind_anon_dn',
    'database mdb',
    'maxsize 10485760',
    'dbnosync',
    `suffix "${SUFFIX}"`,
    `rootdn "${ADMIN.dn}"`,
    `rootpw "${ADMIN.password}"`,
    `directory ${folder}/data`,
    'overlay ppolicy',
    'access to attrs=userPassword by anonymous auth by * none',
    `access to * by dn.exact="${READER.dn}" read by * none`,
    '',
  ].join('\n');
}

function entries(people: readonly DirectoryPerson[], groups: Readonly<Record<string, readonly string[]>>): string[] {
  const entry = (dn: string, ...attributes: string[]) => [`dn: ${dn}`, ...attributes, ''];
  return [
    ...entry(SUFFIX, 'objectClass: dcObject', 'objectClass: organization', 'dc: example', 'o: Example'),
    ...entry(`ou=people,${SUFFIX}`, 'objectClass: organizationalUnit', 'ou: people'),
    ...entry(`ou=groups,${SUFFIX}`, 'objectClass: organizationalUnit', 'ou: groups'),
    ...entry(
      READER.dn,
      'objectClass: organizationalRole',
      'objectClass: simpleSecurityObject',
      'cn: reader',
      `userPassword: ${READER.password}`,
    ),
    ...people.flatMap(({ uid, cn, mail = [`${uid}@example.com`] }) =>
      entry(
        dnOf(uid),
        'objectClass: inetOrgPerson',
        `uid: ${uid}`,
        `cn: ${cn}`,
        'sn: none',
        ...mail.map((address) => `mail: ${address}`),
        `userPassword: ${LDAP_PASSWORD}`,
      ),
    ),
    ...Object.entries(groups).flatMap(([name, members]) =>
      entry(
        `cn=${name},ou=groups,${SUFFIX}`,
        'objectClass: groupOfNames',
        `cn: ${name}`,
        ...members.map((uid) => `member: ${dnOf(uid)}`),
      ),
    ),
  ];
}

function giveTo(path: string, id: number): void {
  chownSync(path, id, id);
  for (const child of readdirSync(path, { withFileTypes: true })) {
    if (child.isDirectory()) giveTo(join(path, child.name), id);
    else chownSync(join(path, child.name), id, id);
  }
}
