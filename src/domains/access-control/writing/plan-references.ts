import { notFound, ServiceError } from '../../../platform/errors.ts';
import type {
  AccessDialect,
  AccessGroup,
  AccessRole,
  Account,
  Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import type { AccessChange, ChangeOf, PutMode } from './access-change.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import type { PolicyDraft } from './policy-draft.ts';

export type Plans<Kind extends AccessChange['kind']> = {
  readonly [K in Kind]: (draft: PolicyDraft, change: ChangeOf<K>, dialect: AccessDialect) => DynsecWrite[];
};

/* Mosquitto 2.0.11 removes an account from all groups if `modifyClient` names a missing one, and reports success. */
function required<T>(objects: ReadonlyMap<string, T>, what: string, name: string): T {
  const object = objects.get(name);
  if (!object) throw notFound(what, name);
  return object;
}

export const clientOf = ({ clients }: PolicyDraft, username: string): Account => required(clients, 'client', username);
export const groupOf = ({ groups }: PolicyDraft, groupname: string): AccessGroup =>
  required(groups, 'group', groupname);
export const roleOf = ({ roles }: PolicyDraft, rolename: string): AccessRole => required(roles, 'role', rolename);

/** Returns `null` if the object must be created. Errors: NOT_FOUND and ALREADY_EXISTS, see PutMode. */
export function existing<T>(map: ReadonlyMap<string, T>, name: string, mode: PutMode, what: string): T | null {
  const found = map.get(name) ?? null;
  if (found === null && mode === 'UPDATE') throw notFound(what, name);
  if (found !== null && mode === 'CREATE') {
    throw new ServiceError('ALREADY_EXISTS', `The ${what} "${name}" already exists`, { info: { name } });
  }
  return found;
}

interface ListDifference {
  readonly added: readonly Membership[];
  readonly changed: readonly Membership[];
  readonly removed: readonly Membership[];
  readonly isSame: boolean;
}

export function listDifference(before: readonly Membership[], after: readonly Membership[]): ListDifference {
  const old = new Map(before.map(({ name, priority }) => [name, priority]));
  const names = new Set(after.map(({ name }) => name));
  const added = after.filter(({ name }) => !old.has(name));
  const changed = after.filter(({ name, priority }) => old.has(name) && old.get(name) !== priority);
  const removed = before.filter(({ name }) => !names.has(name));
  return { added, changed, removed, isSame: added.length + changed.length + removed.length === 0 };
}

export function textFields(
  before: { readonly textName: string | null; readonly textDescription: string | null } | null,
  { textName, textDescription }: { readonly textName?: string | null; readonly textDescription?: string | null },
): { textname?: string; textdescription?: string } {
  return {
    ...differing('textname', before?.textName, textName),
    ...differing('textdescription', before?.textDescription, textDescription),
  };
}

/** Returns `{ [key]: after }` if the values differ, else `{}`. `null` and "" are equal; `undefined` changes nothing. */
export function differing<Key extends string>(
  key: Key,
  before: string | null | undefined,
  after: string | null | undefined,
): { readonly [key in Key]?: string } {
  if (after === undefined || (after ?? '') === (before ?? '')) return {};
  return { [key]: after ?? '' } as { readonly [key in Key]?: string };
}
