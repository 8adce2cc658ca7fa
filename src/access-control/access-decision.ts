import type { AccessAction, AccessIdentity, RoleSource } from './access-explanation.ts';
import type { AccessDialect, AccessPolicy, Membership } from './access-model.ts';
import { membershipsInOrder, rolesInOrder } from './access-order.ts';
import {
  bindRole,
  type CompiledRole,
  type CompiledRule,
  clientIdsThatMatter,
  compileRole,
  decidingRule,
} from './acl-evaluation.ts';

/** The rule that decides, and by which way it came to be looked at. */
export interface Decision {
  readonly source: RoleSource;
  readonly rule: CompiledRule;
}

/** What is looked at, in its order: the own roles of an account and then those of each of its groups. */
export type Sources = readonly (readonly RoleSource[])[];

/** What was found of identities that are the same here. */
interface Verdicts {
  readonly roles: Map<string, CompiledRule | null>;
  /** By the list of a group. */
  readonly groups: Map<readonly RoleSource[], Decision | null>;
}

/**
 * Decisions on one action and topic under one policy, for many identities: what a role or a group says is found once. Lives as
 * long as one question. Bounded by the policy's roles and groups times the pairs of the topic's levels.
 */
export class TopicDecisions {
  readonly #policy: AccessPolicy;
  readonly #dialect: AccessDialect;
  readonly #action: AccessAction;
  readonly #topic: string;
  readonly #levels: ReadonlySet<string>;
  readonly #compiled = new Map<string, CompiledRole | null>();
  readonly #clientIds = new Map<string, readonly string[]>();
  /** By the list of a group. */
  readonly #clientIdsOfGroups = new Map<readonly RoleSource[], readonly string[]>();
  /** The roles of groups; each list is the same for all members. */
  readonly #groups = new Map<string, readonly RoleSource[]>();
  /** By identity as far as it matters. */
  readonly #verdicts = new Map<string, Verdicts>();

  constructor(policy: AccessPolicy, dialect: AccessDialect, action: AccessAction, topic: string) {
    this.#policy = policy;
    this.#dialect = dialect;
    this.#action = action;
    this.#topic = topic;
    this.#levels = new Set(topic.split('/'));
  }

  /** Null: there is no such role. */
  roleOf(rolename: string): CompiledRole | null {
    const known = this.#compiled.get(rolename);
    if (known !== undefined) return known;
    const role = this.#policy.roles.get(rolename);
    const compiled = role ? compileRole(role, this.#dialect) : null;
    this.#compiled.set(rolename, compiled);
    return compiled;
  }

  sourcesOf(own: readonly Membership[], groups: readonly Membership[]): Sources {
    return [rolesInOrder(own, [], () => []), ...membershipsInOrder(groups).map((group) => this.#groupOf(group))];
  }

  /** Null: no rule matches. Without a client id rules with `%c` do not match. */
  decide([own = [], ...groups]: Sources, identity: AccessIdentity): Decision | null {
    const verdicts = this.#verdictsFor(identity);
    const decision = this.#decideBy(own, identity, verdicts);
    if (decision !== null) return decision;
    for (const group of groups) {
      let known = verdicts.groups.get(group);
      if (known === undefined) {
        known = this.#decideBy(group, identity, verdicts);
        verdicts.groups.set(group, known);
      }
      if (known !== null) return known;
    }
    return null;
  }

  #decideBy(sources: readonly RoleSource[], identity: AccessIdentity, { roles }: Verdicts): Decision | null {
    for (const source of sources) {
      let rule = roles.get(source.rolename);
      if (rule === undefined) {
        const role = this.roleOf(source.rolename);
        rule = role && decidingRule(bindRole(role, identity), this.#action, this.#topic);
        roles.set(source.rolename, rule);
      }
      if (rule) return { source, rule };
    }
    return null;
  }

  /** What else could be decided where the client id is not known: one for each id with which another rule decides. */
  *alternatives(sources: Sources, identity: AccessIdentity): Iterable<[clientId: string, Decision | null]> {
    if (identity.clientId !== null) return;
    const [own = [], ...groups] = sources;
    const ids = new Set(this.#clientIdsOfAll(own));
    for (const group of groups) for (const id of this.#clientIdsOfGroup(group)) ids.add(id);
    if (ids.size === 0) return;
    const usual = this.decide(sources, identity);
    for (const clientId of ids) {
      const decision = this.decide(sources, { ...identity, clientId });
      if (decision?.rule.rule !== usual?.rule.rule) yield [clientId, decision];
    }
  }

  #groupOf({ name }: Membership): readonly RoleSource[] {
    let sources = this.#groups.get(name);
    if (!sources) {
      sources = rolesInOrder([], [{ name, priority: 0 }], () => this.#policy.groups.get(name)?.roles ?? []);
      this.#groups.set(name, sources);
    }
    return sources;
  }

  #clientIdsOfGroup(group: readonly RoleSource[]): readonly string[] {
    let ids = this.#clientIdsOfGroups.get(group);
    if (!ids) {
      ids = this.#clientIdsOfAll(group);
      this.#clientIdsOfGroups.set(group, ids);
    }
    return ids;
  }

  #clientIdsOfAll(sources: readonly RoleSource[]): readonly string[] {
    if (sources.length === 0) return [];
    return [...new Set(sources.flatMap(({ rolename }) => this.#clientIdsOf(rolename)))];
  }

  #clientIdsOf(rolename: string): readonly string[] {
    const known = this.#clientIds.get(rolename);
    if (known) return known;
    const role = this.roleOf(rolename);
    const ids = role ? clientIdsThatMatter(role, this.#action, this.#topic) : [];
    this.#clientIds.set(rolename, ids);
    return ids;
  }

  /** Identities differ only by what stands in the topic: most are all the same here. */
  #verdictsFor({ username, clientId }: AccessIdentity): Verdicts {
    const name = username !== null && this.#levels.has(username) ? username : '';
    const id = clientId !== null && this.#levels.has(clientId) ? clientId : '';
    // No level of a topic holds a slash.
    const key = name === '' && id === '' ? '' : `${name}/${id}`;
    let verdicts = this.#verdicts.get(key);
    if (!verdicts) {
      verdicts = { roles: new Map(), groups: new Map() };
      this.#verdicts.set(key, verdicts);
    }
    return verdicts;
  }
}
