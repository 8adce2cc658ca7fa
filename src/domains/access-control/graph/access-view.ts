import { belongsToBroker } from '../../../gateway/graphql/type-scopes.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { type ListConnection, listConnection, type PageArguments } from '../../../platform/paging.ts';
import type {
  AccessGroup,
  AccessPolicy,
  AccessRole,
  Account,
} from '../../../protocol/apis/access-control/access-model.ts';
import type { ClientSource } from '../../../protocol/apis/clients/inspect-data.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { ClientsOfBroker } from '../../clients/client-service.ts';
import type { ClientView } from '../../clients/client-view.ts';
import type { AccessSnapshot } from '../reading/access-index.ts';
import type {
  AccountPage,
  FilteredPage,
  GroupFilterTarget,
  Holder,
  Listed,
  RoleFilterTarget,
} from '../reading/access-lists.ts';

/** The user name of the inspect API for clients without a user name. */
export const ANONYMOUS = '<anonymous>';

/** An object and the view that it was read from, so that its fields use the same state. */
export interface WithView<T> {
  readonly view: AccessView;
  readonly object: T;
}

/** The address of a session of an account; `null` if it is unknown. */
export interface AccountAddress {
  readonly address: string | null;
  readonly source: ClientSource;
}

export type Viewed<T> = T & { readonly view: AccessView };

/** Options of types whose values have a view. */
export const withView = belongsToBroker(({ view }: { readonly view: AccessView }) => view.broker);

/** The access control of one broker at one point in time. `connections` and `addresses` send requests to the broker. */
export class AccessView {
  readonly broker: BrokerRecord;
  readonly snapshot: AccessSnapshot;
  readonly #readConnected: () => Promise<ClientsOfBroker>;
  readonly #readAddresses: (username: string) => Promise<readonly (string | null)[] | null>;
  #connected: Promise<ReadonlyMap<string, readonly ClientView[]> | null> | undefined;

  /** `readAddresses` returns `null` if the broker does not report the sessions of its accounts. */
  constructor(
    broker: BrokerRecord,
    snapshot: AccessSnapshot,
    readConnected: () => Promise<ClientsOfBroker>,
    readAddresses: (username: string) => Promise<readonly (string | null)[] | null> = async () => null,
  ) {
    this.broker = broker;
    this.#readAddresses = readAddresses;
    this.snapshot = snapshot;
    this.#readConnected = readConnected;
  }

  get policy(): AccessPolicy {
    return this.snapshot.policy;
  }

  account(username: string): WithView<Account> | null {
    return this.#withView(this.policy.clients.get(username));
  }

  group(groupname: string): WithView<AccessGroup> | null {
    return this.#withView(this.policy.groups.get(groupname));
  }

  role(rolename: string): WithView<AccessRole> | null {
    return this.#withView(this.policy.roles.get(rolename));
  }

  /** Pages are sorted by name (UTF-16 code units). Errors: INVALID. */
  async accounts(args: AccountPage): Promise<ListConnection<WithView<Account>>> {
    const list = await this.snapshot.lists.matchingAccounts(args.filter ?? {});
    const order = args.orderBy?.order ?? 'asc';
    return this.#page(order === 'asc' ? list : list.toReversed(), args, 'Account', order);
  }

  groups(args: FilteredPage<GroupFilterTarget>): ListConnection<WithView<AccessGroup>> {
    return this.#page(this.snapshot.lists.groups(args.filter), args, 'AccessGroup');
  }

  roles(args: FilteredPage<RoleFilterTarget>): ListConnection<WithView<AccessRole>> {
    return this.#page(this.snapshot.lists.roles(args.filter), args, 'AccessRole');
  }

  members(groupname: string): readonly Holder[] {
    return this.snapshot.lists.members.get(groupname) ?? [];
  }

  /** The account of a connected client. */
  accountOf(username: string): WithView<Account> | null {
    return username === ANONYMOUS ? null : this.account(username);
  }

  /** Returns `null` if the broker cannot list its clients. Errors: those of an unreachable broker. */
  async connections(username: string): Promise<readonly ClientView[] | null> {
    this.#connected ??= this.#groupConnected();
    const connected = await this.#connected;
    return connected && (connected.get(username) ?? []);
  }

  /** As the broker reports them, otherwise of `connections`. Errors: those of an unreachable broker. */
  async addresses(username: string): Promise<readonly AccountAddress[] | null> {
    const reported = await this.#readAddresses(username);
    if (reported !== null) return reported.map((address) => ({ address, source: 'BROKER' }));
    const connections = await this.connections(username);
    return connections?.map(({ known, source }) => ({ address: known.address ?? null, source })) ?? null;
  }

  async #groupConnected(): Promise<ReadonlyMap<string, readonly ClientView[]> | null> {
    try {
      const { clients, viewOf } = await this.#readConnected();
      const byUsername = new Map<string, ClientView[]>();
      for (const client of clients) {
        if (client.username === ANONYMOUS) continue;
        const others = byUsername.get(client.username);
        if (others) others.push(viewOf(client));
        else byUsername.set(client.username, [viewOf(client)]);
      }
      return byUsername;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_SUPPORTED_BY_BROKER') return null;
      throw error;
    }
  }

  #page<T>(
    list: readonly Listed<T>[],
    args: PageArguments,
    kind: string,
    order?: 'desc' | 'asc',
  ): ListConnection<WithView<T>> {
    const { edges, ...page } = listConnection(list, args, kind, order);
    return { ...page, edges: edges.map(({ cursor, node }) => ({ cursor, node: { view: this, object: node.node } })) };
  }

  #withView<T>(object: T | undefined): WithView<T> | null {
    return object === undefined ? null : { view: this, object };
  }
}
