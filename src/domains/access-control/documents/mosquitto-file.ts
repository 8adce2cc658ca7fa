import { invalid } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import {
  ACL_TYPES,
  type AccessGroup,
  type AccessRole,
  type Account,
  type AclRule,
  DEFAULT_ACL_PRIORITY,
  DEFAULT_ACL_TYPES,
  DEFAULT_MEMBERSHIP_PRIORITY,
  type DefaultAcl,
  MAX_PRIORITY,
  type Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import { nameProblem, textProblem } from '../../../protocol/apis/access-control/access-names.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { type AccessDocument, documentOf } from './access-document.ts';
import { parseDocument } from './access-document-parser.ts';
import { AccessNotes } from './access-notes.ts';
import { parseFile } from './json-file.ts';

interface ImportedFile {
  readonly document: AccessDocument;
  readonly warnings: readonly string[];
}

/**
 * Converts dynamic-security.json of Mosquitto 2.0 or 2.1. It is read as the broker reads it: keys are case-insensitive,
 * values of a wrong type count as missing. Errors: INVALID.
 */
export function* parseMosquittoFile(text: string): SlicedTask<ImportedFile> {
  const file = readFile(text);
  const reader = new FileReader();
  const roles = yield* reader.objects(file, 'roles', 'rolename', (name, from) => reader.role(name, from));
  const clients = yield* reader.objects(file, 'clients', 'username', (name, from) => reader.client(name, from, roles));
  const groups = yield* reader.objects(file, 'groups', 'groupname', (name, from) => reader.group(name, from, roles));
  for (const from of reader.list(file, 'groups')) yield reader.addMembers(from, clients, groups);
  const document = yield* documentOf({
    roles,
    groups,
    clients,
    defaultAcl: defaultAclOf(file.get('defaultaclaccess')),
    anonymousGroup: reader.reference(textOf(file, 'anonymousgroup'), groups, 'anonymousGroup'),
  });
  // The limits of documents also apply to files.
  return { document: yield* parseDocument(document), warnings: reader.warnings() };
}

/** The values of an object by key in lower case. */
type Entry = ReadonlyMap<string, unknown>;

function readFile(text: string): Entry {
  const file = entryOf(parseFile(text, (name) => name.toLowerCase()));
  if (!file || !['defaultaclaccess', 'clients', 'groups', 'roles'].some((key) => file.has(key))) {
    throw invalid([{ path: '/', reason: 'is not a dynamic-security.json file of Mosquitto' }]);
  }
  return file;
}

const KNOWN_KEYS: Readonly<Record<'roles' | 'groups' | 'clients', readonly string[]>> = {
  roles: ['rolename', 'textname', 'textdescription', 'allowwildcardsubs', 'acls'],
  groups: ['groupname', 'textname', 'textdescription', 'roles', 'clients'],
  clients: [
    ...['username', 'clientid', 'textname', 'textdescription', 'disabled', 'roles'],
    ...['password', 'salt', 'iterations', 'encoded_password'],
  ],
};

class FileReader {
  readonly #notes = new AccessNotes();

  warnings(): readonly string[] {
    return this.#notes.texts();
  }

  *list(from: Entry, key: string): Generator<Entry> {
    const list = from.get(key);
    if (!Array.isArray(list)) return;
    yield* list.map(entryOf).filter((entry) => entry !== null);
  }

  *objects<T>(
    file: Entry,
    kind: keyof typeof KNOWN_KEYS,
    key: string,
    read: (name: string, from: Entry) => T,
  ): SlicedTask<Map<string, T>> {
    const objects = new Map<string, T>();
    for (const from of this.list(file, kind)) {
      yield;
      const name = textOf(from, key);
      if (name === null) continue;
      if (nameProblem(name) !== null) this.#notes.add(WARNING.name, `${kind} ${JSON.stringify(name)}`);
      else {
        if (objects.has(name)) this.#notes.add(WARNING.duplicate, `${kind} "${name}"`);
        objects.set(name, read(name, from));
        for (const other of from.keys()) {
          if (!KNOWN_KEYS[kind].includes(other)) this.#notes.add(WARNING.unknown, `${other} of ${kind} "${name}"`);
        }
      }
    }
    return objects;
  }

  role(rolename: string, from: Entry): AccessRole {
    const acls = [...this.list(from, 'acls')].flatMap((acl) => this.#rule(rolename, acl) ?? []);
    return { rolename, ...textsOf(from), allowWildcardSubs: from.get('allowwildcardsubs') !== false, acls };
  }

  group(groupname: string, from: Entry, roles: ReadonlyMap<string, unknown>): AccessGroup {
    return { groupname, ...textsOf(from), roles: this.#memberships(from, roles, `groups "${groupname}"`) };
  }

  client(username: string, from: Entry, roles: ReadonlyMap<string, unknown>): Account {
    if (from.has('password') || from.has('encoded_password')) this.#notes.add(WARNING.password, `"${username}"`);
    const clientId = textOf(from, 'clientid') || null;
    const usable = textProblem(clientId ?? '') === null;
    // Without its client id, the account could be used with every client id.
    if (!usable) this.#notes.add(WARNING.clientId, `"${username}"`);
    return {
      username,
      clientId: usable ? clientId : null,
      ...textsOf(from),
      disabled: from.get('disabled') === true || !usable,
      roles: this.#memberships(from, roles, `clients "${username}"`),
      groups: [],
    };
  }

  /** The file lists members in groups; a document lists groups in clients. */
  addMembers(from: Entry, clients: Map<string, Account>, groups: ReadonlyMap<string, AccessGroup>): void {
    const name = textOf(from, 'groupname');
    if (name === null || !groups.has(name)) return;
    for (const member of this.list(from, 'clients')) {
      const username = this.reference(textOf(member, 'username'), clients, `member of groups "${name}"`);
      const client = username === null ? undefined : clients.get(username);
      if (!client || client.groups.some((group) => group.name === name)) continue;
      const group = { name, priority: this.#priority(member, DEFAULT_MEMBERSHIP_PRIORITY) };
      clients.set(client.username, { ...client, groups: [...client.groups, group] });
    }
  }

  reference(name: string | null, defined: ReadonlyMap<string, unknown>, where: string): string | null {
    if (name === null || name === '' || defined.has(name)) return name || null;
    this.#notes.add(WARNING.reference, `${JSON.stringify(name)} as ${where}`);
    return null;
  }

  #memberships(from: Entry, roles: ReadonlyMap<string, unknown>, holder: string): Membership[] {
    const found = new Map<string, Membership>();
    for (const entry of this.list(from, 'roles')) {
      const name = this.reference(textOf(entry, 'rolename'), roles, `role of ${holder}`);
      if (name === null || found.has(name)) continue;
      found.set(name, { name, priority: this.#priority(entry, DEFAULT_MEMBERSHIP_PRIORITY) });
    }
    return [...found.values()];
  }

  #rule(rolename: string, from: Entry): AclRule | null {
    const typeText = textOf(from, 'acltype') ?? '';
    const aclType = ACL_TYPES.find((type) => type.toLowerCase() === typeText.toLowerCase());
    const topic = textOf(from, 'topic');
    if (!aclType || topic === null || filterProblem(topic) !== null || textProblem(topic) !== null) {
      this.#notes.add(WARNING.rule, `${typeText} ${JSON.stringify(topic)} of "${rolename}"`);
      return null;
    }
    return { aclType, topic, priority: this.#priority(from, DEFAULT_ACL_PRIORITY), allow: from.get('allow') === true };
  }

  #priority(from: Entry, absent: number): number {
    const value = from.get('priority');
    if (typeof value !== 'number') return absent;
    const priority = Math.max(-MAX_PRIORITY, Math.min(MAX_PRIORITY, Math.trunc(value)));
    if (priority !== Math.trunc(value)) this.#notes.add(WARNING.priority, String(value));
    return priority;
  }
}

function defaultAclOf(value: unknown): DefaultAcl {
  const from = entryOf(value);
  return Object.fromEntries(
    DEFAULT_ACL_TYPES.map((type) => [type, from?.get(type.toLowerCase()) === true]),
  ) as unknown as DefaultAcl;
}

function entryOf(value: unknown): Entry | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return new Map(Object.entries(value).map(([key, part]) => [key.toLowerCase(), part]));
}

function textOf(from: Entry, key: string): string | null {
  const value = from.get(key);
  return typeof value === 'string' ? value : null;
}

const textsOf = (from: Entry) => ({
  textName: textOf(from, 'textname'),
  textDescription: textOf(from, 'textdescription'),
});

const WARNING = {
  password: 'The file contains password hashes, which no command accepts; passwords are omitted',
  name: 'Objects with invalid names are omitted',
  clientId: 'Accounts with an invalid client id are disabled',
  duplicate: 'Duplicate objects in the file; the last one is used',
  unknown: 'Unknown keys are omitted',
  reference: 'References to missing objects are omitted',
  rule: 'Rules with an unknown type or an invalid topic filter are omitted',
  priority: `Priorities are limited to ±${MAX_PRIORITY}`,
} as const;
