import { notFound, ServiceError } from '../../../platform/errors.ts';
import type { AccessClient, AccessGroup, AccessRole, Membership } from '../policy/access-model.ts';
import type { PolicyDraft } from './policy-draft.ts';

/*
 * What a change names must be there before anything is sent: Mosquitto 2.0.11 takes an account out of all its groups when
 * `modifyClient` names one that it does not know, and answers success.
 */

export function clientOf(draft: PolicyDraft, username: string): AccessClient {
  const client = draft.clients.get(username);
  if (!client) throw notFound('client', username);
  return client;
}

export function groupOf(draft: PolicyDraft, groupname: string): AccessGroup {
  const group = draft.groups.get(groupname);
  if (!group) throw notFound('group', groupname);
  return group;
}

export function roleOf(draft: PolicyDraft, rolename: string): AccessRole {
  const role = draft.roles.get(rolename);
  if (!role) throw notFound('role', rolename);
  return role;
}

/** Null: not there, and to be made. Errors: NOT_FOUND and ALREADY_EXISTS, as `mode` says. */
export function existing<T>(
  map: ReadonlyMap<string, T>,
  name: string,
  mode: 'CREATE' | 'UPDATE' | 'PUT',
  what: string,
): T | null {
  const found = map.get(name) ?? null;
  if (found === null && mode === 'UPDATE') throw notFound(what, name);
  if (found !== null && mode === 'CREATE') {
    throw new ServiceError('ALREADY_EXISTS', `There is a ${what} "${name}" already`, { info: { name } });
  }
  return found;
}

/** What has to be done so that a list of memberships becomes another; `changed` are those with another priority. */
export interface ListDifference {
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

/** The text fields that differ; "" clears. */
export function textFields(
  before: { readonly textName: string | null; readonly textDescription: string | null } | null,
  { textName, textDescription }: { readonly textName?: string | null; readonly textDescription?: string | null },
): { textname?: string; textdescription?: string } {
  return {
    ...differing('textname', before?.textName, textName),
    ...differing('textdescription', before?.textDescription, textDescription),
  };
}

/** `{ [key]: wish }` where the wish is another than what is there; null and "" are one. */
export function differing<Key extends string>(
  key: Key,
  before: string | null | undefined,
  wish: string | null | undefined,
): { readonly [key in Key]?: string } {
  if (wish === undefined || (wish ?? '') === (before ?? '')) return {};
  return { [key]: wish ?? '' } as { readonly [key in Key]?: string };
}
