import { type ListConnection, listConnection, type PageArguments } from '../../../gateway/paging.ts';
import type { FilterMode } from '../../../platform/text/text-filter.ts';
import type { AccessClient, AccessGroup, AccessRole } from '../policy/access-model.ts';
import type { AccessSnapshot } from './access-index.ts';
import type { ClientFilterTarget, GroupFilterTarget, Listed, ListFilter, RoleFilterTarget } from './access-lists.ts';

/** Case-sensitive. An empty value is no filter; what an object does not have fits nothing. */
export interface FilterArguments<Target extends string> {
  readonly value: string;
  /** Default `contains`. */
  readonly mode?: FilterMode | null | undefined;
  /** Default: the object's name. */
  readonly target?: Target | null | undefined;
}

interface FilteredPage<Target extends string> extends PageArguments {
  readonly filter?: FilterArguments<Target> | null | undefined;
}

/** `rolename` and `groupname`: held by the account itself. */
export type ClientPageArguments = FilteredPage<ClientFilterTarget>;
/** `username`: of a member. */
export type GroupPageArguments = FilteredPage<GroupFilterTarget>;
/** `topic`: of an ACL. */
export type RolePageArguments = FilteredPage<RoleFilterTarget>;

/** Pages are sorted by name (UTF-16 code units); a cursor is a name and stays true while the list changes. Errors: INVALID. */
export function clientsPage({ lists }: AccessSnapshot, args: ClientPageArguments): ListConnection<AccessClient> {
  return pageOf(lists.clients(filterOf(args, 'username')), args);
}

/** As `clientsPage`. */
export function groupsPage({ lists }: AccessSnapshot, args: GroupPageArguments): ListConnection<AccessGroup> {
  return pageOf(lists.groups(filterOf(args, 'groupname')), args);
}

/** As `clientsPage`. */
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
