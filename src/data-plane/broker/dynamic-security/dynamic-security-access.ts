import { FailureWait } from '../../../platform/limits/failure-wait.ts';
import type { AccessAction, RoleSource } from '../../../protocol/apis/access-control/access-explanation.ts';
import type { AccessDialect, AccessRole } from '../../../protocol/apis/access-control/access-model.ts';
import { holdingsOf, rolesInOrder, rolesOfGroup } from '../../../protocol/apis/access-control/access-order.ts';
import {
  bindRole,
  brokerRefuses,
  type CompiledRole,
  compileRole,
  DEFAULT_ACL_OF,
  decide,
  decisionOf,
  defaultAllows,
} from '../../../protocol/apis/access-control/acl-evaluation.ts';
import type { Denial, RefusalReason } from '../../../protocol/apis/refusals/refusal.ts';
import type { AccessControl, Credentials, Identity, Verdict } from '../connecting/access.ts';
import type { AccessState } from './access-state.ts';
import { ACCOUNT_COST, hashPassword, type PasswordAttempt, type PasswordCheck } from './password-check.ts';

interface RefusedLogin {
  readonly clientId: string;
  readonly username: string | null;
  readonly hasPassword: boolean;
}

/** Number of different wrong passwords for one account from one network before it has to wait. */
const FREE_OF_ACCOUNT = 20;
const LONGEST_WAIT_OF_ACCOUNT_MS = 5 * 60_000;
/** Failures minus successes of one network, over all accounts. */
const FREE_OF_NETWORK = 1_000;
const LONGEST_WAIT_OF_NETWORK_MS = 60_000;
const MAX_NAME_LENGTH = 254;

/** The embedded broker evaluates access rules like Mosquitto 2.1. */
export const EMBEDDED_DIALECT: AccessDialect = {
  isAssumed: false,
  substitution: true,
  wildcardFlag: true,
  wildcardsExcludeDollar: true,
  invalidRulesDeny: false,
  disconnectsOnRoleAcls: true,
  changeIndex: true,
  isSoleAuthority: true,
  sharedFilters: 'STRICT',
  writesPerPayload: 500,
};

/**
 * Access control by dynamic security. Clients without a user name are admitted if there is an anonymous group.
 *
 * Attempts to guess passwords are throttled: wrong ones that were not tried before. From 20 failures of an account in a
 * network, waits double from 1 s to 5 min. From 1,000 failures of a network, all its accounts wait up to 60 s; each
 * successful log-in offsets one failure, because a whole site of devices may have one address.
 */
export class DynamicSecurityAccess implements AccessControl {
  readonly #state: AccessState;
  readonly #passwords: PasswordCheck;
  readonly #failuresOfAccounts = new FailureWait({ free: FREE_OF_ACCOUNT, longestWaitMs: LONGEST_WAIT_OF_ACCOUNT_MS });
  readonly #failuresOfNetworks = new FailureWait({ free: FREE_OF_NETWORK, longestWaitMs: LONGEST_WAIT_OF_NETWORK_MS });
  readonly #dummyHash: string;
  readonly #compiled = new WeakMap<AccessRole, CompiledRole>();
  readonly #accounts = new Map<string | null, AccountRoles>();
  readonly #connections = new WeakMap<Identity, ConnectionRoles>();

  /** Grows with each change of the access control. */
  version = 0;

  private constructor(state: AccessState, passwords: PasswordCheck, dummyHash: string) {
    this.#state = state;
    this.#passwords = passwords;
    this.#dummyHash = dummyHash;
    state.onChange((username) => {
      this.version += 1;
      if (username === null) this.#accounts.clear();
      else this.#accounts.delete(username);
    });
  }

  static async create(state: AccessState, passwords: PasswordCheck): Promise<DynamicSecurityAccess> {
    return new DynamicSecurityAccess(state, passwords, await hashPassword(crypto.randomUUID(), ACCOUNT_COST));
  }

  async authenticate(credentials: Credentials): Promise<Verdict> {
    const { username, password, network, isWanted } = credentials;
    if (username === undefined) return this.#state.policy.anonymousGroup === null ? 'REFUSED' : 'ACCEPTED';
    if (password === undefined) return 'REFUSED';
    // An unknown user name takes the same check, so that the response time does not reveal which names exist.
    const accountHash = this.#hashFor(credentials);
    const hash = accountHash ?? this.#dummyHash;
    const verdict = await this.#check({ username, password, hash, network, isWanted });
    if (verdict !== 'RIGHT') return verdict === 'WRONG' ? 'REFUSED' : verdict;
    // The account may have changed meanwhile.
    if (accountHash === null || this.#hashFor(credentials) !== hash) return 'REFUSED';
    this.#failuresOfNetworks.offset(network);
    return 'ACCEPTED';
  }

  async #check(attempt: Required<PasswordAttempt>): Promise<'RIGHT' | 'WRONG' | 'THROTTLED' | 'BUSY'> {
    const { username, network } = attempt;
    const known = this.#passwords.recall(attempt);
    if (known !== null) return known;
    const account = `${network} ${username.slice(0, MAX_NAME_LENGTH)}`;
    const mustWait = () => this.#failuresOfNetworks.waitOf(network) > 0 || this.#failuresOfAccounts.waitOf(account) > 0;
    if (mustWait()) return 'THROTTLED';
    // Other attempts may have failed while this one waited.
    const isWanted = () => attempt.isWanted() && !mustWait();
    const { verdict, isNew } = await this.#passwords.check({ ...attempt, isWanted });
    if (verdict === 'RIGHT') this.#failuresOfAccounts.succeeded(account);
    if (verdict === 'WRONG' && isNew) {
      this.#failuresOfAccounts.failed(account);
      this.#failuresOfNetworks.failed(network);
    }
    if (verdict === 'CROWDED' || (verdict === 'BUSY' && mustWait())) return 'THROTTLED';
    return verdict;
  }

  hasAccount(username: string | null): boolean {
    const { clients, anonymousGroup } = this.#state.policy;
    return username === null ? anonymousGroup !== null : clients.has(username);
  }

  readonly mayPublish = (identity: Identity, topic: string): boolean => this.#may(identity, 'PUBLISH', topic);
  readonly mayReceive = (identity: Identity, topic: string): boolean => this.#may(identity, 'RECEIVE', topic);
  readonly maySubscribe = (identity: Identity, filter: string): boolean => this.#may(identity, 'SUBSCRIBE', filter);
  readonly mayUnsubscribe = (identity: Identity, filter: string): boolean => this.#may(identity, 'UNSUBSCRIBE', filter);

  /** Why `authenticate` refused a client, as the accounts are now. */
  whyRefused({ clientId, username, hasPassword }: RefusedLogin): RefusalReason {
    const { clients } = this.#state.policy;
    if (username === null) return 'USERNAME_MISSING';
    const account = clients.get(username);
    if (!account) return 'UNKNOWN_ACCOUNT';
    if (account.disabled) return 'ACCOUNT_DISABLED';
    if (account.clientId !== null && account.clientId !== clientId) return 'CLIENT_ID_OF_ACCOUNT';
    return hasPassword ? 'WRONG_PASSWORD' : 'PASSWORD_MISSING';
  }

  /** Which rule denies a topic. Uses the same compiled rules as the decision itself. */
  denialOf(identity: Identity, action: AccessAction, topic: string): Denial {
    const byBroker: Denial = { decision: 'BROKER', decidedBy: null };
    if (brokerRefuses(action, topic)) return byBroker;
    const roles = this.#rolesFor(identity);
    if (!roles) return { decision: 'UNKNOWN_USER', decidedBy: null };
    const decided = decisionOf(roles, action, topic);
    const { defaultAcl } = this.#state.policy;
    if (decided === null) {
      if (defaultAllows(defaultAcl, action, topic)) return byBroker;
      const isControl = defaultAcl[DEFAULT_ACL_OF[action]] && topic.startsWith('$CONTROL');
      return { decision: isControl ? 'CONTROL_TOPIC' : 'DEFAULT', decidedBy: null };
    }
    const source = this.#sourcesOf(identity.username)[decided.role];
    if (decided.allow || !source) return byBroker;
    const { rule } = decided;
    return { decision: 'RULE', decidedBy: { ...source, rule, verdict: rule === null ? 'WILDCARD_DENIED' : 'MATCHED' } };
  }

  /** `null` if the client is refused with any password. */
  #hashFor({ username = '', clientId }: Credentials): string | null {
    const account = this.#state.policy.clients.get(username);
    if (!account || account.disabled || (account.clientId !== null && account.clientId !== clientId)) return null;
    return this.#state.passwordHash(username);
  }

  #may(identity: Identity, action: AccessAction, topic: string): boolean {
    if (brokerRefuses(action, topic)) return false;
    const roles = this.#rolesFor(identity);
    return (
      roles !== null && (decide(roles, action, topic) ?? defaultAllows(this.#state.policy.defaultAcl, action, topic))
    );
  }

  #rolesFor(identity: Identity): readonly CompiledRole[] | null {
    const account = this.#accounts.get(identity.username) ?? this.#compile(identity.username);
    if (!account) return null;
    const { roles } = account;
    if (!account.isUnbound) return roles;
    const known = this.#connections.get(identity);
    if (known?.roles === roles) return known.bound;
    const bound = roles.map((role) => bindRole(role, identity));
    this.#connections.set(identity, { roles, bound });
    return bound;
  }

  #compile(username: string | null): AccountRoles | null {
    if (holdingsOf(this.#state.policy, username) === null) return null;
    const roles = this.#sourcesOf(username).flatMap(({ rolename }) => this.#compiledRole(rolename) ?? []);
    const account = { roles, isUnbound: roles.some(({ isUnbound }) => isUnbound) };
    this.#accounts.set(username, account);
    return account;
  }

  /** The existing roles of an account, in the order of `#compile`. */
  #sourcesOf(username: string | null): RoleSource[] {
    const { policy } = this.#state;
    const { roles, groups } = holdingsOf(policy, username) ?? { roles: [], groups: [] };
    const ordered = rolesInOrder(roles, groups, (name) => rolesOfGroup(policy, name));
    return ordered.filter(({ rolename }) => policy.roles.has(rolename));
  }

  #compiledRole(rolename: string): CompiledRole | null {
    const role = this.#state.policy.roles.get(rolename);
    if (!role) return null;
    const known = this.#compiled.get(role);
    if (known) return known;
    const compiled = compileRole(role, EMBEDDED_DIALECT);
    this.#compiled.set(role, compiled);
    return compiled;
  }
}

interface AccountRoles {
  readonly roles: readonly CompiledRole[];
  /** Whether a rule depends on the client id or the user name. */
  readonly isUnbound: boolean;
}

interface ConnectionRoles {
  readonly roles: readonly CompiledRole[];
  readonly bound: readonly CompiledRole[];
}
