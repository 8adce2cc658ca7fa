import type { Change } from '../access/change.ts';
import type { Rule } from '../access/rules.tsx';

export const RIGHTS = ['BOTH', 'SEND', 'RECEIVE', 'ROLE'] as const;

/** What the form of a device has. */
export interface Draft {
  readonly username: string;
  /** Empty: any. */
  readonly clientId: string;
  readonly rights: (typeof RIGHTS)[number];
  /** The topic above those of the device. */
  readonly prefix: string;
  /** Of an existing role. */
  readonly roleName: string;
}

/** What a device may do. */
export interface Role {
  readonly roleName: string;
  readonly acls: readonly Rule[];
}

const SEND = ['PUBLISH_CLIENT_SEND'] as const;
const RECEIVE = ['SUBSCRIBE_PATTERN', 'PUBLISH_CLIENT_RECEIVE', 'UNSUBSCRIBE_PATTERN'] as const;
/** Complete, because the default access of a broker may deny any of them. */
const TYPES = { SEND, RECEIVE, BOTH: [...SEND, ...RECEIVE], ROLE: [] } as const;
const WORDS = { SEND: 'send', RECEIVE: 'receive', BOTH: 'send, receive' } as const;

/** The role that the form describes. Its name follows from its rules, so that devices with equal rights share it. */
export function roleOf({ rights, prefix, roleName }: Draft): Role {
  if (rights === 'ROLE') return { roleName, acls: [] };
  const topic = `${prefix.replace(/\/?#?$/, '')}/#`;
  return {
    roleName: `${topic} (${WORDS[rights]})`,
    acls: TYPES[rights].map((aclType) => ({ aclType, topic, allow: true, priority: 0 })),
  };
}

/** Creates the account, and the role before it unless the broker has one with the same rules. */
export function changesOf(draft: Draft, password: string, role: Role, known: Role | null): readonly Change[] {
  const { username, clientId, rights } = draft;
  const { roleName, acls } = role;
  const createAccount = { username, password, roles: [{ roleName }], ...(clientId !== '' && { clientId }) };
  const isThere = rights === 'ROLE' || (known !== null && inText(known) === inText(role));
  return isThere
    ? [{ createAccount }]
    : [{ createAccessRole: { roleName, acls: acls.map((acl) => ({ ...acl })) } }, { createAccount }];
}

const inText = ({ acls }: Role): string =>
  acls
    .map(({ aclType, topic, allow, priority }) => JSON.stringify([aclType, topic, allow, priority]))
    .sort()
    .join();

/** Topics of the examples: the first that the rules allow. */
export function examplesOf({ username, clientId }: Draft, { acls }: Role) {
  const first = (start: string) => acls.find(({ aclType, allow }) => allow && aclType.startsWith(start))?.topic;
  const named = (topic?: string) =>
    topic?.replaceAll('%u', () => username).replaceAll('%c', () => clientId || username) ?? null;
  const sent = named(first('PUBLISH_CLIENT_SEND'));
  return { topic: sent?.replaceAll(/[+#]/g, 'test') ?? null, filter: named(first('SUBSCRIBE')) };
}
