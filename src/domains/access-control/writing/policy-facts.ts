import type { AccessPolicy, Membership } from '../policy/access-model.ts';
import { ACL_TYPES } from '../policy/access-model.ts';
import type { TouchedObject } from './access-plan.ts';

/** One entry per value of a policy that can change independently. Missing values have no entry. */
export type Facts = ReadonlyMap<string, string>;

/** Names cannot contain NUL. */
const key = (...parts: readonly string[]): string => parts.join('\0');

/** Returns all values that brokers report for these objects. Passwords are not reported. */
export function factsOf(policy: AccessPolicy, objects: readonly TouchedObject[]): Facts {
  const facts = new Map<string, string>();
  for (const object of objects) {
    switch (object.kind) {
      case 'CLIENT':
        addClient(facts, policy, object.name);
        break;
      case 'GROUP':
        addGroup(facts, policy, object.name);
        break;
      case 'ROLE':
        addRole(facts, policy, object.name);
        break;
      case 'DEFAULT_ACL':
        for (const [type, allow] of Object.entries(policy.defaultAcl)) facts.set(key('default', type), String(allow));
        break;
      case 'ANONYMOUS_GROUP':
        addText(facts, key('anonymous'), policy.anonymousGroup);
        break;
    }
  }
  return facts;
}

function addClient(facts: Map<string, string>, policy: AccessPolicy, username: string): void {
  const client = policy.clients.get(username);
  if (!client) return;
  const at = (...parts: readonly string[]) => key('client', username, ...parts);
  facts.set(at(), 'exists');
  facts.set(at('disabled'), String(client.disabled));
  addText(facts, at('clientId'), client.clientId);
  addText(facts, at('textName'), client.textName);
  addText(facts, at('textDescription'), client.textDescription);
  addMemberships(facts, at('role'), client.roles);
  addMemberships(facts, at('group'), client.groups);
}

function addGroup(facts: Map<string, string>, policy: AccessPolicy, groupname: string): void {
  const group = policy.groups.get(groupname);
  if (!group) return;
  const at = (...parts: readonly string[]) => key('group', groupname, ...parts);
  facts.set(at(), 'exists');
  addText(facts, at('textName'), group.textName);
  addText(facts, at('textDescription'), group.textDescription);
  addMemberships(facts, at('role'), group.roles);
}

function addRole(facts: Map<string, string>, policy: AccessPolicy, rolename: string): void {
  const role = policy.roles.get(rolename);
  if (!role) return;
  const at = (...parts: readonly string[]) => key('role', rolename, ...parts);
  facts.set(at(), 'exists');
  addText(facts, at('textName'), role.textName);
  addText(facts, at('textDescription'), role.textDescription);
  if (role.allowWildcardSubs !== null) facts.set(at('allowWildcardSubs'), String(role.allowWildcardSubs));
  for (const type of ACL_TYPES) {
    const rules = role.acls.filter(({ aclType }) => aclType === type);
    for (const { topic, priority, allow } of rules) facts.set(at('rule', type, topic), `${priority} ${allow}`);
    // Of rules with the same priority, the older one decides.
    if (rules.length > 1) facts.set(at('order', type), rules.map(({ topic }) => topic).join('\0'));
  }
}

function addText(facts: Map<string, string>, at: string, text: string | null): void {
  if (text) facts.set(at, text);
}

function addMemberships(facts: Map<string, string>, at: string, list: readonly Membership[]): void {
  for (const { name, priority } of list) facts.set(key(at, name), String(priority));
}
