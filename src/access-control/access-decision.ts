import type { AccessAction, AccessIdentity, RoleSource } from './access-explanation.ts';
import type { AccessDialect, AccessPolicy } from './access-model.ts';
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

/**
 * Decisions on one action and topic under one policy, for many identities: what a role says is found once. Lives as long as one
 * question. Bounded by the policy's roles times the pairs of the topic's levels.
 */
export class TopicDecisions {
  readonly #policy: AccessPolicy;
  readonly #dialect: AccessDialect;
  readonly #action: AccessAction;
  readonly #topic: string;
  readonly #levels: ReadonlySet<string>;
  readonly #compiled = new Map<string, CompiledRole | null>();
  readonly #clientIds = new Map<string, readonly string[]>();
  /** By identity as far as it matters, then by role name. */
  readonly #verdicts = new Map<string, Map<string, CompiledRule | null>>();

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

  /** Null: no rule matches. Without a client id rules with `%c` do not match. */
  decide(sources: readonly RoleSource[], identity: AccessIdentity): Decision | null {
    const verdicts = this.#verdictsFor(identity);
    for (const source of sources) {
      let rule = verdicts.get(source.rolename);
      if (rule === undefined) {
        const role = this.roleOf(source.rolename);
        rule = role && decidingRule(bindRole(role, identity), this.#action, this.#topic);
        verdicts.set(source.rolename, rule);
      }
      if (rule) return { source, rule };
    }
    return null;
  }

  /** What else could be decided where the client id is not known: one for each id with which another rule decides. */
  *alternatives(
    sources: readonly RoleSource[],
    identity: AccessIdentity,
  ): Iterable<[clientId: string, Decision | null]> {
    if (identity.clientId !== null) return;
    const roles = sources.filter(({ rolename }) => this.#clientIdsOf(rolename).length > 0);
    if (roles.length === 0) return;
    const ids = new Set(roles.flatMap(({ rolename }) => this.#clientIdsOf(rolename)));
    const usual = this.decide(sources, identity);
    for (const clientId of ids) {
      const decision = this.decide(sources, { ...identity, clientId });
      if (decision?.rule.rule !== usual?.rule.rule) yield [clientId, decision];
    }
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
  #verdictsFor({ username, clientId }: AccessIdentity): Map<string, CompiledRule | null> {
    const name = username !== null && this.#levels.has(username) ? username : '';
    const id = clientId !== null && this.#levels.has(clientId) ? clientId : '';
    // No level of a topic holds a slash.
    const key = name === '' && id === '' ? '' : `${name}/${id}`;
    let verdicts = this.#verdicts.get(key);
    if (!verdicts) {
      verdicts = new Map();
      this.#verdicts.set(key, verdicts);
    }
    return verdicts;
  }
}
