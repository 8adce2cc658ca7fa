import type { PageArguments } from '../../../platform/paging.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { FITS, type FilterMode } from '../../../platform/text/text-filter.ts';
import type {
  AccessGroup,
  AccessPolicy,
  AccessRole,
  Account,
  Membership,
  PolicyObjects,
} from '../../../protocol/apis/access-control/access-model.ts';
import { type AccountConditions, matcherOf, matching } from './account-conditions.ts';

export interface Listed<T> {
  readonly id: string;
  readonly node: T;
}

/** A holder of a role or a member of a group. `id` is its name, `priority` that of the role or group in it. */
export interface Holder {
  readonly id: string;
  readonly priority: number;
}

type Holders = Readonly<Record<'accounts' | 'groups', readonly Holder[]>>;

/** One text, several texts of which one must match, or `null`, which matches nothing. */
type TargetTexts = string | readonly { readonly name: string }[] | null;

const TEXTS = {
  textname: ({ textName }: Pick<AccessRole, 'textName'>) => textName,
  textdescription: ({ textDescription }: Pick<AccessRole, 'textDescription'>) => textDescription,
};
const ACCOUNT_TEXTS = {
  ...TEXTS,
  username: ({ username }: Account) => username,
  clientid: ({ clientId }: Account) => clientId,
  rolename: ({ roles }: Account) => roles,
  groupname: ({ groups }: Account) => groups,
};
const GROUP_TEXTS = {
  ...TEXTS,
  groupname: ({ groupname }: AccessGroup) => groupname,
  rolename: ({ roles }: AccessGroup) => roles,
};
const ROLE_TEXTS = {
  ...TEXTS,
  rolename: ({ rolename }: AccessRole) => rolename,
  topic: ({ acls }: AccessRole) => acls.map(({ topic }) => ({ name: topic })),
};

export type AccountFilterTarget = keyof typeof ACCOUNT_TEXTS;
export type GroupFilterTarget = keyof typeof GROUP_TEXTS | 'username';
export type RoleFilterTarget = keyof typeof ROLE_TEXTS;

/** Case-sensitive. An empty value matches all objects; a missing text matches no value. */
interface ListFilter<Target extends string> {
  readonly value: string;
  /** Default: `contains`. */
  readonly mode?: FilterMode | null | undefined;
  /** Default: the name of the object. */
  readonly target?: Target | null | undefined;
}

export interface FilteredPage<Target extends string> extends PageArguments {
  readonly filter?: ListFilter<Target> | null | undefined;
}

/** An account must match the filter of its text, if there is a `value`, and all conditions. */
export interface AccountFilter extends Omit<ListFilter<AccountFilterTarget>, 'value'>, AccountConditions {
  readonly value?: string | null | undefined;
}

export interface AccountPage extends PageArguments {
  readonly filter?: AccountFilter | null | undefined;
  /** Default: by user name, ascending. */
  readonly orderBy?: { readonly order: 'asc' | 'desc' } | null | undefined;
}

const MAX_FILTERED = 8;

/** The objects of one policy sorted by name (UTF-16 code units). Each list is created when first used. */
export class AccessLists {
  readonly #policy: AccessPolicy;
  readonly #filtered = new Map<string, readonly Listed<unknown>[]>();
  #accounts: readonly Listed<Account>[] | undefined;
  #groups: readonly Listed<AccessGroup>[] | undefined;
  #roles: readonly Listed<AccessRole>[] | undefined;
  #members: ReadonlyMap<string, readonly Holder[]> | undefined;
  #holders: Readonly<Record<keyof Holders, ReadonlyMap<string, readonly Holder[]>>> | undefined;

  constructor(policy: AccessPolicy) {
    this.#policy = policy;
  }

  get members(): ReadonlyMap<string, readonly Holder[]> {
    this.#members ??= holdersBy(this.accounts(), ({ groups }) => groups);
    return this.#members;
  }

  /** Only direct holders, sorted by name. */
  holders(rolename: string): Holders {
    this.#holders ??= {
      accounts: holdersBy(this.accounts(), ({ roles }) => roles),
      groups: holdersBy(this.groups(), ({ roles }) => roles),
    };
    const { accounts, groups } = this.#holders;
    return { accounts: accounts.get(rolename) ?? [], groups: groups.get(rolename) ?? [] };
  }

  accounts(filter?: FilteredPage<AccountFilterTarget>['filter']): readonly Listed<Account>[] {
    this.#accounts ??= sorted(this.#policy.clients);
    return this.#filter('clients', this.#accounts, filter, 'username', (account, target) =>
      ACCOUNT_TEXTS[target](account),
    );
  }

  /** The accounts that match all conditions of the filter. Conditions run in slices of time. */
  async matchingAccounts(filter: AccountFilter): Promise<readonly Listed<Account>[]> {
    const { value, ...more } = filter;
    const fitting = this.accounts(value == null ? null : { ...more, value });
    const matches = matcherOf(filter);
    if (matches === null) return fitting;
    const key = `accounts:${JSON.stringify(filter)}`;
    const cached = this.#filtered.get(key);
    if (cached) return cached as readonly Listed<Account>[];
    const found = await runInSlices(matching(fitting, ({ node }) => matches(node)));
    this.#cache(key, found);
    return found;
  }

  groups(filter?: FilteredPage<GroupFilterTarget>['filter']): readonly Listed<AccessGroup>[] {
    this.#groups ??= sorted(this.#policy.groups);
    return this.#filter('groups', this.#groups, filter, 'groupname', (group, target) => {
      if (target !== 'username') return GROUP_TEXTS[target](group);
      return this.members.get(group.groupname)?.map(({ id }) => ({ name: id })) ?? null;
    });
  }

  roles(filter?: FilteredPage<RoleFilterTarget>['filter']): readonly Listed<AccessRole>[] {
    this.#roles ??= sorted(this.#policy.roles);
    return this.#filter('roles', this.#roles, filter, 'rolename', (role, target) => ROLE_TEXTS[target](role));
  }

  #filter<T, Target extends string>(
    kind: keyof PolicyObjects,
    list: readonly Listed<T>[],
    filter: ListFilter<Target> | null | undefined,
    name: Target,
    textsOf: (object: T, target: Target) => TargetTexts,
  ): readonly Listed<T>[] {
    if (filter == null || filter.value === '') return list;
    const { value } = filter;
    const mode = filter.mode ?? 'contains';
    const target = filter.target ?? name;
    if (mode === 'equals' && target === name) return only(this.#policy[kind] as ReadonlyMap<string, T>, value);
    const key = `${kind}:${target}:${mode}:${value}`;
    const cached = this.#filtered.get(key);
    if (cached) return cached as readonly Listed<T>[];
    const fits = FITS[mode];
    const found = list.filter(({ node }) => {
      const texts = textsOf(node, target);
      if (texts === null) return false;
      return typeof texts === 'string' ? fits(texts, value) : texts.some(({ name }) => fits(name, value));
    });
    this.#cache(key, found);
    return found;
  }

  #cache(key: string, found: readonly Listed<unknown>[]): void {
    if (this.#filtered.size >= MAX_FILTERED) this.#filtered.delete(this.#filtered.keys().next().value ?? '');
    this.#filtered.set(key, found);
  }
}

function only<T>(objects: ReadonlyMap<string, T>, id: string): readonly Listed<T>[] {
  const node = objects.get(id);
  return node === undefined ? [] : [{ id, node }];
}

function sorted<T>(objects: ReadonlyMap<string, T>): readonly Listed<T>[] {
  return Array.from(objects, ([id, node]) => ({ id, node })).sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

function holdersBy<T>(
  list: readonly Listed<T>[],
  heldBy: (holder: T) => readonly Membership[],
): ReadonlyMap<string, readonly Holder[]> {
  const holders = new Map<string, Holder[]>();
  for (const { id, node } of list) {
    for (const { name, priority } of heldBy(node)) {
      const others = holders.get(name);
      if (others) others.push({ id, priority });
      else holders.set(name, [{ id, priority }]);
    }
  }
  return holders;
}
