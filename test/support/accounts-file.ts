import { pbkdf2Sync } from 'node:crypto';

/** A `dynamic-security.json` of Mosquitto 2.0 with many accounts, and its parts. */
interface AccountsFile {
  /** The content of the file. */
  readonly text: string;
  readonly clients: readonly FileClient[];
  readonly groups: readonly { readonly groupname: string; readonly members: readonly string[] }[];
  readonly roles: readonly string[];
}

interface FileClient {
  readonly username: string;
  readonly textname: string;
  readonly role: string;
  readonly group: string;
}

const SALT = Buffer.alloc(12, 7);

/**
 * Creates an administrator with all permissions, `count` accounts with one role each in one of `groups` groups, and a
 * role with three rules for every ten groups. The accounts are sorted by name.
 */
export function accountsFile(
  admin: { readonly username: string; readonly password: string },
  { count, groups: groupCount }: { readonly count: number; readonly groups: number },
): AccountsFile {
  const numbered = (name: string, n: number) => `${name}-${String(n).padStart(6, '0')}`;
  const roles = Array.from({ length: Math.ceil(groupCount / 10) }, (_, n) => numbered('role', n));
  const clients = Array.from({ length: count }, (_, n) => ({
    username: numbered('device', n),
    textname: `Device ${n.toString(16)} of hall ${n % 7}`,
    role: numbered('role', n % roles.length),
    group: numbered('group', n % groupCount),
  }));
  const groups = Array.from({ length: groupCount }, (_, g) => ({
    groupname: numbered('group', g),
    members: clients.filter((_client, n) => n % groupCount === g).map(({ username }) => username),
  }));
  const allow = (acltype: string, topic: string) => ({ acltype, topic, priority: 0, allow: true });
  const everything = ['publishClientSend', 'publishClientReceive', 'subscribePattern', 'unsubscribePattern'];
  const text = JSON.stringify({
    defaultACLAccess: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
    clients: [
      {
        username: admin.username,
        salt: SALT.toString('base64'),
        iterations: 1,
        password: pbkdf2Sync(admin.password, SALT, 1, 64, 'sha512').toString('base64'),
        roles: [{ rolename: 'administrator' }],
      },
      ...clients.map(({ username, textname, role }) => ({ username, textname, roles: [{ rolename: role }] })),
    ],
    groups: groups.map(({ groupname, members }, n) => ({
      groupname,
      roles: [{ rolename: roles[n % roles.length], priority: n % 3 }],
      clients: members.map((username) => ({ username, priority: 1 })),
    })),
    roles: [
      {
        rolename: 'administrator',
        acls: ['#', '$SYS/#', '$CONTROL/#'].flatMap((topic) => everything.map((acltype) => allow(acltype, topic))),
      },
      ...roles.map((rolename) => ({
        rolename,
        acls: [
          allow('publishClientSend', `${rolename}/data/#`),
          allow('subscribePattern', `${rolename}/commands/#`),
          { ...allow('publishClientReceive', `${rolename}/secret`), priority: 2, allow: false },
        ],
      })),
    ],
  });
  return { text, clients, groups, roles };
}
