import { ServiceError } from '../../../platform/errors.ts';
import type {
  AccessPolicy,
  AccessRole,
  Account,
  AclRule,
  AclType,
  Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import { anonymousHoldings, type Holdings, rolesOfGroup } from '../../../protocol/apis/access-control/access-order.ts';
import { ruleWords } from '../../../protocol/apis/access-control/rule-words.ts';
import type { PlannedCommand, TouchedObject } from './access-plan.ts';
import type { PolicyDraft } from './policy-draft.ts';

/** Unsubscribing gives no access. */
const GRANTING_TYPES: ReadonlySet<AclType> = new Set([
  'publishClientSend',
  'publishClientReceive',
  'subscribeLiteral',
  'subscribePattern',
]);

interface ControlGrant {
  readonly role: string;
  readonly rule: AclRule;
}

interface ObjectState {
  /** The first rule by which it reaches `$CONTROL/`; `null` if it does not. */
  readonly grant: ControlGrant | null;
  /** Allowing or denying, in the order of evaluation. */
  readonly controlRules: string;
  readonly holders: readonly Account[];
  readonly client: Account | null;
}

interface Transition {
  readonly object: TouchedObject;
  readonly before: ObjectState;
  readonly after: ObjectState;
}

const NO_ACCESS: ObjectState = { grant: null, controlRules: '', holders: [], client: null };

/**
 * Protects access to `$CONTROL/` from callers below ADMIN, because such an account can administer the broker. Refused
 * with NOT_ALLOWED: a command on an object that reaches `$CONTROL/` before or after it, on the account of this service,
 * or on a rule for `$CONTROL/` that such an account depends on.
 *
 * A rule reaches `$CONTROL/` if the first level of its topic is `$CONTROL`. Measured with Mosquitto 2.0.11 and the
 * embedded broker: a wildcard in the first level never allows publishing to `$CONTROL/` or receiving from it, and
 * neither does the default ACL. In Mosquitto before 2.1 `subscribePattern #` allows the subscription, but no message is
 * received.
 *
 * If another client changes the policy meanwhile, WriteRun plans again only after an unexpected response.
 */
export class ControlRights {
  readonly #gatewayUsername: string | null;
  /** The rules for `$CONTROL/` by role object. Role objects are replaced and never changed. */
  readonly #rules = new WeakMap<AccessRole, readonly AclRule[]>();

  constructor(gatewayUsername: string | null) {
    this.#gatewayUsername = gatewayUsername;
  }

  /** Runs one command on the draft. Errors: NOT_ALLOWED, after the command was run on the draft. */
  run(draft: PolicyDraft, command: PlannedCommand): void {
    const before = command.touches.map((object) => this.#stateOf(draft, object));
    draft.run(command);
    for (const [index, object] of command.touches.entries()) {
      this.#check(draft, command, { object, before: before[index] ?? NO_ACCESS, after: this.#stateOf(draft, object) });
    }
  }

  #check(draft: PolicyDraft, command: PlannedCommand, { object, before, after }: Transition): void {
    if (object.kind === 'CLIENT') {
      // A command on a group touches all members, including unchanged ones.
      if (!('username' in command.fields) && isSameClient(before.client, after.client)) return;
      if (object.name === this.#gatewayUsername) throw ownAccount(object.name);
    }
    const grant = before.grant ?? after.grant;
    if (grant !== null) throw refusal(nameOf(object), grant);
    if (before.controlRules === after.controlRules) return;
    for (const holder of new Set([...before.holders, ...after.holders])) {
      const held = this.#grantOf(draft, holder);
      if (held !== null) throw refusal(`The account "${holder.username}", which holds ${nameOf(object)},`, held);
    }
  }

  #stateOf(draft: PolicyDraft, object: TouchedObject): ObjectState {
    switch (object.kind) {
      case 'CLIENT': {
        const client = draft.clients.get(object.name) ?? null;
        return { ...NO_ACCESS, client, grant: client && this.#grantOf(draft, client) };
      }
      case 'GROUP':
        return this.#stateOfRoles(draft, rolesOfGroup(draft, object.name), () => draft.membersOf(object.name));
      case 'ROLE':
        return this.#stateOfRoles(draft, [{ name: object.name, priority: 0 }], () => draft.holdersOf(object.name));
      case 'ANONYMOUS_GROUP':
        return { ...NO_ACCESS, grant: this.#grantOf(draft, anonymousHoldings(draft)) };
      case 'DEFAULT_ACL':
        return NO_ACCESS;
    }
  }

  #stateOfRoles(draft: PolicyDraft, roles: readonly Membership[], holdersOf: () => readonly string[]): ObjectState {
    const rules = roles.flatMap(({ name }) => this.#rulesOf(draft, name));
    if (rules.length === 0) return NO_ACCESS;
    const holders = holdersOf().flatMap((username) => draft.clients.get(username) ?? []);
    return { ...NO_ACCESS, grant: this.#grantOfRoles(draft, roles), controlRules: JSON.stringify(rules), holders };
  }

  #grantOf(policy: AccessPolicy, { roles, groups }: Holdings): ControlGrant | null {
    for (const list of [roles, ...groups.map(({ name }) => rolesOfGroup(policy, name))]) {
      const grant = this.#grantOfRoles(policy, list);
      if (grant !== null) return grant;
    }
    return null;
  }

  #grantOfRoles(policy: AccessPolicy, roles: readonly Membership[]): ControlGrant | null {
    for (const { name } of roles) {
      const rule = this.#rulesOf(policy, name).find(({ allow, aclType }) => allow && GRANTING_TYPES.has(aclType));
      if (rule) return { role: name, rule };
    }
    return null;
  }

  #rulesOf(policy: AccessPolicy, rolename: string): readonly AclRule[] {
    const role = policy.roles.get(rolename);
    if (!role) return [];
    let rules = this.#rules.get(role);
    if (!rules) {
      rules = role.acls.filter(({ topic }) => topic === '$CONTROL' || topic.startsWith('$CONTROL/'));
      this.#rules.set(role, rules);
    }
    return rules;
  }
}

const isSameClient = (before: Account | null, after: Account | null): boolean =>
  before === after || JSON.stringify(before) === JSON.stringify(after);

function nameOf(object: TouchedObject): string {
  if (object.kind === 'ANONYMOUS_GROUP') return 'The anonymous group';
  return 'name' in object ? `The ${WORDS[object.kind]} "${object.name}"` : 'The default ACL';
}

const WORDS = { CLIENT: 'account', GROUP: 'group', ROLE: 'role' } as const;
const REQUIRED = 'this change requires the ADMIN role in the project';

function refusal(subject: string, { role, rule }: ControlGrant): ServiceError {
  const { aclType, topic } = rule;
  const message = `${subject} has access to $CONTROL/ by the rule for ${ruleWords(rule)} of the role "${role}": ${REQUIRED}`;
  return new ServiceError('NOT_ALLOWED', message, { info: { role, aclType, topic, requires: 'ADMIN' } });
}

const ownAccount = (username: string): ServiceError =>
  new ServiceError('NOT_ALLOWED', `This service connects to the broker as "${username}": ${REQUIRED}`, {
    info: { name: username, requires: 'ADMIN' },
  });
