import { type ListConnection, listConnection, type PageArguments } from '../../../gateway/paging.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { ConnectedClients } from '../../clients/client-service.ts';
import type { ClientView } from '../../clients/client-view.ts';
import type { AccessClient, AccessGroup, AccessPolicy, AccessRole, Membership } from '../policy/access-model.ts';
import type { AccessSnapshot } from '../reading/access-index.ts';

/** The user name of the inspect API for clients without a user name. */
export const ANONYMOUS = '<anonymous>';

/** A holder of a role or a member of a group. `id` is its name, `priority` that of the role or group in it. */
export interface Holder {
  readonly id: string;
  readonly priority: number;
}

interface Holders {
  readonly clients: readonly Holder[];
  readonly groups: readonly Holder[];
}

/** An object and the view that it was read from, so that its fields use the same state. */
export interface WithView<T> {
  readonly view: AccessView;
  readonly object: T;
}

interface AccessViewParts {
  readonly broker: BrokerRecord;
  readonly snapshot: AccessSnapshot;
  /** The holders of the policy of `snapshot`. */
  readonly holders: RoleHolders;
  readonly connected: () => Promise<ConnectedClients>;
}

/** The access control of one broker at one point in time. Only `connections` sends a request to the broker. */
export class AccessView {
  readonly broker: BrokerRecord;
  readonly snapshot: AccessSnapshot;
  readonly #holders: RoleHolders;
  readonly #members = new Map<string, readonly Holder[]>();
  readonly #readConnected: () => Promise<ConnectedClients>;
  #connected: Promise<ReadonlyMap<string, readonly ClientView[]> | null> | undefined;

  constructor({ broker, snapshot, holders, connected }: AccessViewParts) {
    this.broker = broker;
    this.snapshot = snapshot;
    this.#holders = holders;
    this.#readConnected = connected;
  }

  get policy(): AccessPolicy {
    return this.snapshot.policy;
  }

  client(username: string): WithView<AccessClient> | null {
    return this.#withView(this.policy.clients.get(username));
  }

  group(groupname: string): WithView<AccessGroup> | null {
    return this.#withView(this.policy.groups.get(groupname));
  }

  role(rolename: string): WithView<AccessRole> | null {
    return this.#withView(this.policy.roles.get(rolename));
  }

  /** Sorted by user name. */
  members(groupname: string): readonly Holder[] {
    const known = this.#members.get(groupname);
    if (known) return known;
    const members = (this.snapshot.members.get(groupname) ?? []).map(({ name, priority }) => ({ id: name, priority }));
    this.#members.set(groupname, members);
    return members;
  }

  holders(rolename: string): Holders {
    return this.#holders.of(rolename);
  }

  /** Returns the account of a connection; `null` for a connection without a user name. */
  account(username: string): WithView<AccessClient> | null {
    return username === ANONYMOUS ? null : this.client(username);
  }

  /** Returns `null` if the broker cannot list its clients. Errors: those of an unreachable broker. */
  async connections(username: string): Promise<readonly ClientView[] | null> {
    this.#connected ??= this.#groupConnected();
    const connected = await this.#connected;
    return connected && (connected.get(username) ?? []);
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

  #withView<T>(object: T | undefined): WithView<T> | null {
    return object === undefined ? null : { view: this, object };
  }
}

/** The holders of the roles of a policy, collected on first use. */
export class RoleHolders {
  readonly #policy: AccessPolicy;
  #known: Map<string, { readonly clients: Holder[]; readonly groups: Holder[] }> | undefined;

  constructor(policy: AccessPolicy) {
    this.#policy = policy;
  }

  of(rolename: string): Holders {
    this.#known ??= this.#find();
    return this.#known.get(rolename) ?? NO_HOLDERS;
  }

  #find() {
    const known = new Map<string, { readonly clients: Holder[]; readonly groups: Holder[] }>();
    const note = (kind: 'clients' | 'groups', id: string, roles: readonly Membership[]) => {
      for (const { name, priority } of roles) {
        const holders = known.get(name) ?? { clients: [], groups: [] };
        known.set(name, holders);
        holders[kind].push({ id, priority });
      }
    };
    for (const { username, roles } of this.#policy.clients.values()) note('clients', username, roles);
    for (const { groupname, roles } of this.#policy.groups.values()) note('groups', groupname, roles);
    for (const { clients, groups } of known.values()) {
      clients.sort(byId);
      groups.sort(byId);
    }
    return known;
  }
}

const NO_HOLDERS: Holders = { clients: [], groups: [] };

const byId = (a: Holder, b: Holder) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

interface HolderConnection<T> extends ListConnection<T> {
  readonly edges: readonly { readonly cursor: string; readonly node: T; readonly priority: number }[];
}

/** Returns a page of holders with their objects. Missing objects are omitted. */
export function holderPage<T>(
  holders: readonly Holder[],
  args: PageArguments,
  find: (name: string) => T | null,
): HolderConnection<T> {
  const { edges, ...page } = listConnection(holders, args);
  return {
    ...page,
    edges: edges.flatMap(({ cursor, node: { id, priority } }) => {
      const node = find(id);
      return node === null ? [] : [{ cursor, node, priority }];
    }),
  };
}
