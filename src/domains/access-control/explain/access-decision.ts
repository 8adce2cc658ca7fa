import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessClient, AccessDialect, AccessPolicy } from '../policy/access-model.ts';
import { membershipsInOrder, rolesInOrder, rolesOfGroup } from '../policy/access-order.ts';
import type { AccessAction, RoleSource } from './access-explanation.ts';
import { type Look, TopicLooks } from './acl-looks.ts';

/** The rule that decides, and by which way it came to be looked at. */
export interface Decision {
  readonly source: RoleSource;
  readonly look: Look;
}

/** What is decided on clients that differ by nothing but their ids. */
interface Answers<T> {
  /** Null: no rule matches. */
  readonly usual: T | null;
  /** With these client ids another rule comes before. */
  readonly byClientId: ReadonlyMap<string, T>;
}

/** Rules looked at in one step. */
export const LOOKS_PER_STEP = 64;

/**
 * Decisions on one action and topic under one policy, for many accounts: what a role or a group says is found once. Lives as
 * long as one question. Bounded by the rules that match, and by the policy's groups times the topic's levels.
 */
export class TopicDecisions {
  readonly #policy: AccessPolicy;
  readonly #looks: TopicLooks;
  readonly #levels: ReadonlySet<string>;
  /** By role: what matches for anybody. */
  readonly #matching = new Map<string, readonly Look[]>();
  /** By the user name as far as it matters, then by role or group. */
  readonly #roles = new Map<string, Map<string, Answers<Look>>>();
  readonly #groups = new Map<string, Map<string, Answers<Decision>>>();

  constructor(policy: AccessPolicy, dialect: AccessDialect, action: AccessAction, topic: string) {
    this.#policy = policy;
    this.#looks = new TopicLooks(dialect, action, topic);
    this.#levels = new Set(topic.split('/'));
  }

  /** The answer for each client id that makes a difference is in it; an account that is bound to one has only that. */
  *of(
    username: string | null,
    { clientId, roles, groups }: Pick<AccessClient, 'clientId' | 'roles' | 'groups'>,
  ): SlicedTask<Answers<Decision>> {
    // No level holds a slash. Most names are all the same here.
    const name = username !== null && this.#levels.has(username) ? username : '/';
    const parts: Answers<Decision>[] = [];
    const own = yield* this.#ofSources(
      rolesInOrder(roles, [], () => []),
      name,
    );
    parts.push(own);
    if (own.usual === null) {
      for (const group of membershipsInOrder(groups)) {
        const inherited = yield* this.#ofGroup(group.name, name);
        parts.push(inherited);
        if (inherited.usual !== null) break;
      }
    }
    const answers = yield* inOrder(parts);
    if (clientId === null) return answers;
    return { usual: answers.byClientId.get(clientId) ?? answers.usual, byClientId: NO_OTHERS };
  }

  *#ofGroup(groupname: string, name: string): SlicedTask<Answers<Decision>> {
    const known = entryOf(this.#groups, name);
    let answers = known.get(groupname);
    if (answers === undefined) {
      const rolesOf = () => rolesOfGroup(this.#policy, groupname);
      answers = yield* this.#ofSources(rolesInOrder([], [{ name: groupname, priority: 0 }], rolesOf), name);
      known.set(groupname, answers);
    }
    return answers;
  }

  *#ofSources(sources: readonly RoleSource[], name: string): SlicedTask<Answers<Decision>> {
    const parts: Answers<Decision>[] = [];
    for (const source of sources) {
      const { usual, byClientId } = yield* this.#ofRole(source.rolename, name);
      if (usual === null && byClientId.size === 0) continue;
      parts.push({
        usual: usual && { source, look: usual },
        byClientId:
          byClientId.size === 0 ? NO_OTHERS : new Map([...byClientId].map(([id, look]) => [id, { source, look }])),
      });
      if (usual !== null) break;
    }
    return yield* inOrder(parts);
  }

  *#ofRole(rolename: string, name: string): SlicedTask<Answers<Look>> {
    const known = entryOf(this.#roles, name);
    let answers = known.get(rolename);
    if (answers === undefined) {
      answers = answersOf(yield* this.#matchingOf(rolename), name);
      known.set(rolename, answers);
    }
    return answers;
  }

  *#matchingOf(rolename: string): SlicedTask<readonly Look[]> {
    const known = this.#matching.get(rolename);
    if (known !== undefined) return known;
    const role = this.#policy.roles.get(rolename);
    const matching: Look[] = [];
    let count = 0;
    for (const look of role ? this.#looks.at(role) : []) {
      if (look.bearer !== null) matching.push(look);
      count += 1;
      if (count % LOOKS_PER_STEP === 0) yield;
    }
    this.#matching.set(rolename, matching);
    return matching;
  }
}

const NO_OTHERS: ReadonlyMap<string, never> = new Map<string, never>();

/** What the rules of one role say to somebody of this name. */
function answersOf(matching: readonly Look[], name: string): Answers<Look> {
  let byClientId: Map<string, Look> | null = null;
  for (const look of matching) {
    const { username = null, clientId = null } = look.bearer ?? {};
    if (username !== null && username !== name) continue;
    if (clientId === null) return { usual: look, byClientId: byClientId ?? NO_OTHERS };
    byClientId ??= new Map();
    if (!byClientId.has(clientId)) byClientId.set(clientId, look);
  }
  return { usual: null, byClientId: byClientId ?? NO_OTHERS };
}

/** One after the other, where only the last one may be certain. */
function* inOrder(parts: readonly Answers<Decision>[]): SlicedTask<Answers<Decision>> {
  const usual = parts.at(-1)?.usual ?? null;
  const others = parts.filter(({ byClientId }) => byClientId.size > 0);
  if (others.length < 2) return { usual, byClientId: others[0]?.byClientId ?? NO_OTHERS };
  const byClientId = new Map<string, Decision>();
  for (const part of others) {
    for (const [id, decision] of part.byClientId) if (!byClientId.has(id)) byClientId.set(id, decision);
    yield;
  }
  return { usual, byClientId };
}

function entryOf<T>(maps: Map<string, Map<string, T>>, name: string): Map<string, T> {
  let map = maps.get(name);
  if (map === undefined) {
    map = new Map();
    maps.set(name, map);
  }
  return map;
}
