import { ACL_TYPES, type AccessPolicy, type AclRule, type Membership } from '../policy/access-model.ts';
import type { TouchedObject } from './access-plan.ts';

/** One entry per value that can change independently. */
export type Facts = ReadonlyMap<string, string>;

/** Names cannot contain NUL. */
const key = (...parts: readonly string[]): string => parts.join('\0');

const LISTS = { CLIENT: 'clients', GROUP: 'groups', ROLE: 'roles' } as const;

/** Passwords are not reported. */
export function factsOf(policy: AccessPolicy, objects: readonly TouchedObject[]): Facts {
  const facts = new Map<string, string>();
  for (const object of objects) {
    if (object.kind === 'DEFAULT_ACL') addValues(facts, object.kind, policy.defaultAcl);
    else if (object.kind === 'ANONYMOUS_GROUP') addValues(facts, object.kind, { name: policy.anonymousGroup });
    else addValues(facts, key(object.kind, object.name), policy[LISTS[object.kind]].get(object.name));
  }
  return facts;
}

function addValues(facts: Map<string, string>, at: string, object: object | undefined): void {
  if (object === undefined) return;
  facts.set(at, 'exists');
  for (const [name, value] of Object.entries(object)) {
    if (name === 'acls') addRules(facts, at, value);
    else if (Array.isArray(value)) {
      for (const membership of value as Membership[])
        facts.set(key(at, name, membership.name), String(membership.priority));
    } else if (value !== null && value !== '') facts.set(key(at, name), String(value));
  }
}

function addRules(facts: Map<string, string>, at: string, acls: readonly AclRule[]): void {
  for (const type of ACL_TYPES) {
    const rules = acls.filter(({ aclType }) => aclType === type);
    for (const { topic, priority, allow } of rules) facts.set(key(at, 'rule', type, topic), `${priority} ${allow}`);
    // Of rules with the same priority, the older one decides.
    if (rules.length > 1) facts.set(key(at, 'order', type), rules.map(({ topic }) => topic).join('\0'));
  }
}
