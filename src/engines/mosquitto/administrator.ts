import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isFields } from '../../protocol/control/fields.ts';
import { replaceFile } from './replace-file.ts';

/** Formats of the dynamic security plugin (Mosquitto 2.0.11, also read by 2.1): PBKDF2 with SHA-512, 64 bytes. */
const ROLE = 'admin';
const ITERATIONS = 101;

/** `#` does not match topics that begin with `$`. A shared subscription is checked by its whole name. */
const TOPICS = ['#', '$CONTROL/#', '$SYS/#'];
const RIGHTS = [
  ...['publishClientSend', 'publishClientReceive', 'subscribePattern'].flatMap((acltype) =>
    TOPICS.map((topic) => ({ acltype, topic })),
  ),
  { acltype: 'subscribePattern', topic: '$share/+/#' },
  { acltype: 'unsubscribePattern', topic: '#' },
  { acltype: 'unsubscribePattern', topic: '$share/+/#' },
].map((right) => ({ ...right, priority: 0, allow: true }));

/** The defaults of `mosquitto_ctrl dynsec init`. */
const NOTHING_YET = {
  defaultACLAccess: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
  clients: [],
  groups: [],
  roles: [],
};

export interface Administrator {
  readonly username: string;
  readonly password: string;
}

/**
 * Creates the file if it is missing. In an existing file, restores the password, the role and the ACLs of the account,
 * and changes nothing else. Must not be called while a Mosquitto uses the file. Errors: the file cannot be read.
 */
export async function ensureAdministrator(path: string, { username, password }: Administrator): Promise<void> {
  const stored = await readStored(path);
  const clients = entries(stored, 'clients');
  const roles = entries(stored, 'roles');
  const account = clients.find((client) => client.username === username);
  const { disabled: _disabled, clientid: _clientid, encoded_password: _encoded, ...kept } = account ?? {};
  const held = entries(kept, 'roles').filter(({ rolename }) => rolename !== ROLE);
  const salt = randomBytes(12);
  const administrator = {
    username,
    textname: 'Brokergraph',
    ...kept,
    roles: [...held, { rolename: ROLE }],
    password: pbkdf2Sync(password, salt, ITERATIONS, 64, 'sha512').toString('base64'),
    salt: salt.toString('base64'),
    iterations: ITERATIONS,
  };
  const role = roles.find(({ rolename }) => rolename === ROLE);
  const others = entries(role ?? {}, 'acls').filter(
    (acl) => !RIGHTS.some(({ acltype, topic }) => acl.acltype === acltype && acl.topic === topic),
  );
  const file = {
    ...stored,
    clients: [...clients.filter((client) => client !== account), administrator],
    roles: [...roles.filter((one) => one !== role), { rolename: ROLE, ...role, acls: [...others, ...RIGHTS] }],
  };
  await replaceFile(path, `${JSON.stringify(file, null, '\t')}\n`);
}

type Entry = Readonly<Record<string, unknown>>;

async function readStored(path: string): Promise<Entry> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NOTHING_YET;
    throw error;
  }
  try {
    const stored: unknown = JSON.parse(text);
    if (isFields(stored)) return stored;
  } catch {
    // Reported below.
  }
  // The file is never replaced by a new one, because that would delete all accounts.
  throw new Error(`${path} is damaged, so its accounts cannot be read: restore it from a backup`);
}

function entries(of: Entry, key: string): Entry[] {
  const value = of[key];
  return Array.isArray(value) ? value.filter(isFields) : [];
}
