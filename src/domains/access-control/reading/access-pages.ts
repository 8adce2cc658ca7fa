import { type ListConnection, listConnection, type PageArguments } from '../../../gateway/paging.ts';
import type { FilterMode } from '../../../platform/text/text-filter.ts';
import type { AccessClient, AccessGroup, AccessRole } from '../policy/access-model.ts';
import type { AccessSnapshot } from './access-index.ts';
import type { ClientFilterTarget, GroupFilterTarget, Listed, ListFilter, RoleFilterTarget } from './access-lists.ts';

/** A case-sensitive filter. An empty value matches all objects; a missing text matches no value. */
interface FilterArguments<Target extends string> {
  readonly value: string;
  /** Default: `contains`. */
  readonly mode?: FilterMode | null | undefined;
  /** Default: the name of the object. */
  readonly target?: Target | null | undefined;
}

interface FilteredPage<Target extends string> extends PageArguments {
  readonly filter?: FilterArguments<Target> | null | undefined;
}

/** `rolename` matches roles that the account holds directly. */
export type ClientPageArguments = FilteredPage<ClientFilterTarget>;
export type GroupPageArguments = FilteredPage<GroupFilterTarget>;
export type RolePageArguments = FilteredPage<RoleFilterTarget>;

/** Returns a page sorted by name (UTF-16 code units). A cursor is a name. Errors: INVALID. */
export function clientsPage({ lists }: AccessSnapshot, args: ClientPageArguments): ListConnection<AccessClient> {
  return pageOf(lists.clients(filterOf(args, 'username')), args);
}

/** See `clientsPage`. */
export function groupsPage({ lists }: AccessSnapshot, args: GroupPageArguments): ListConnection<AccessGroup> {
  return pageOf(lists.groups(filterOf(args, 'groupname')), args);
}

/** See `clientsPage`. */
export function rolesPage({ lists }: AccessSnapshot, args: RolePageArguments): ListConnection<AccessRole> {
  return pageOf(lists.roles(filterOf(args, 'rolename')), args);
}

function filterOf<Target extends string>({ filter }: FilteredPage<Target>, name: Target): ListFilter<Target> | null {
  if (filter == null || filter.value === '') return null;
  return { value: filter.value, mode: filter.mode ?? 'contains', target: filter.target ?? name };
}

function pageOf<T>(list: readonly Listed<T>[], args: PageArguments): ListConnection<T> {
  const { edges, ...page } = listConnection(list, args);
  return { ...page, edges: edges.map(({ cursor, node }) => ({ cursor, node: node.node })) };
}
