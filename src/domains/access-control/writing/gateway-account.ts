import { ServiceError } from '../../../platform/errors.ts';
import type { AccessAction } from '../../../protocol/apis/access-control/access-explanation.ts';
import type {
  AccessDialect,
  AccessPolicy,
  AccessRole,
  Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import { holdingsOf, rolesInOrder, rolesOfGroup } from '../../../protocol/apis/access-control/access-order.ts';
import {
  bindRole,
  type CompiledRole,
  compileRole,
  decide,
  defaultAllows,
} from '../../../protocol/apis/access-control/acl-evaluation.ts';
import { KNOWN_APIS } from '../../../protocol/control/capability-probe.ts';
import { DYNSEC_API } from '../../../protocol/control/dynamic-security.ts';
import { type ControlApi, requestTopic, responseTopic } from '../../../protocol/control/envelope.ts';
import { SYS_FILTERS } from '../../brokers/sys-subscriptions.ts';
import { LOG_FILTERS } from '../../clients/inspect/log-follower.ts';
import type { PlannedCommand } from './access-plan.ts';
import type { DynsecWrite } from './dynsec-writes.ts';

interface Permission {
  readonly action: AccessAction;
  readonly topic: string;
}

/** A feature that this service offers through its own connection to the broker. */
interface Feature {
  /** Completes the error message "… and with it". */
  readonly name: string;
  /** All are required, so a change is allowed if one of them is missing already. */
  readonly permissions: readonly Permission[];
}

const controlFeature = (api: ControlApi, name: string): Feature => ({
  name,
  permissions: [
    { action: 'PUBLISH', topic: requestTopic(api) },
    { action: 'SUBSCRIBE', topic: responseTopic(api) },
    { action: 'RECEIVE', topic: responseTopic(api) },
  ],
});

const subscribingFeature = (filter: string, name: string): Feature => ({
  name,
  permissions: [
    { action: 'SUBSCRIBE', topic: filter },
    { action: 'RECEIVE', topic: filter.replace(/[+#]$/, 'any') },
  ],
});

const FEATURES: readonly Feature[] = [
  controlFeature(DYNSEC_API, "the control of the broker's access control"),
  ...KNOWN_APIS.filter((api) => api !== DYNSEC_API).map((api) => controlFeature(api, `the use of ${api}`)),
  ...LOG_FILTERS.map((filter) => subscribingFeature(filter, 'the list of connected clients')),
  ...SYS_FILTERS.map((filter) => subscribingFeature(filter, 'the metrics and the state of the broker')),
];

interface HeldNames {
  readonly groups: ReadonlySet<string>;
  readonly roles: ReadonlySet<string>;
}

export function heldNames(policy: AccessPolicy, username: string | null): HeldNames {
  const held = holdingsOf(policy, username);
  const groups = new Set((held?.groups ?? []).map(nameOf));
  const roles = new Set((held?.roles ?? []).map(nameOf));
  for (const group of groups) for (const { name } of rolesOfGroup(policy, group)) roles.add(name);
  return { groups, roles };
}

const nameOf = ({ name }: Membership): string => name;

/**
 * Protects the account that this service connects with. Refused with IN_USE: deleting or disabling it, another password
 * or client id, and every change that removes a permission that one of FEATURES requires.
 */
export class GatewayAccount {
  readonly #username: string | null;
  readonly #dialect: AccessDialect;
  /** Role objects are replaced and never changed, so the compiled form is cached by object. */
  readonly #compiled = new WeakMap<AccessRole, CompiledRole>();
  #features: readonly Feature[];
  #held: HeldNames;

  constructor(policy: AccessPolicy, dialect: AccessDialect, username: string | null) {
    this.#username = username;
    this.#dialect = dialect;
    this.#features = availableFeatures(this.#permits(policy));
    this.#held = heldNames(policy, username);
  }

  checkWrite(write: DynsecWrite): void {
    if (this.#username === null || !('username' in write.fields) || write.fields.username !== this.#username) return;
    const verb = forbiddenVerb(write);
    if (verb === null) return;
    throw this.#refusal(`This service connects to the broker as "${this.#username}", so this account cannot ${verb}`);
  }

  /** Call after each change. Errors: IN_USE; the change must be undone. */
  checkChange(commands: readonly PlannedCommand[], policy: AccessPolicy): void {
    if (commands.some((command) => this.#isAffected(command))) this.checkPolicy(policy);
  }

  checkPolicy(policy: AccessPolicy): void {
    const permits = this.#permits(policy);
    const lost = this.#features.flatMap(({ name, permissions }) => {
      const permission = permissions.find((required) => !permits(required));
      return permission === undefined ? [] : [{ name, permission: describe(permission) }];
    });
    if (lost[0] !== undefined) {
      const { name, permission } = lost[0];
      const more = lost.length === 1 ? '' : `, and ${lost.length - 1} more permissions`;
      throw this.#refusal(`This service would lose its permission to ${permission}, and with it ${name}${more}`, {
        lost: lost.map((feature) => feature.permission),
      });
    }
    this.#features = availableFeatures(permits);
    this.#held = heldNames(policy, this.#username);
  }

  #isAffected({ touches }: PlannedCommand): boolean {
    const { groups, roles } = this.#held;
    return touches.some((object) => {
      if (object.kind === 'CLIENT') return object.name === this.#username;
      if (object.kind === 'GROUP') return groups.has(object.name);
      if (object.kind === 'ROLE') return roles.has(object.name);
      return true;
    });
  }

  #permits(policy: AccessPolicy): Permits {
    const held = holdingsOf(policy, this.#username);
    if (held === null) return () => false;
    const sources = rolesInOrder(held.roles, held.groups, (name) => rolesOfGroup(policy, name));
    const roles = sources.flatMap(({ rolename }) => {
      const role = policy.roles.get(rolename);
      return role ? [bindRole(this.#compile(role), { username: this.#username, clientId: null })] : [];
    });
    return ({ action, topic }) => decide(roles, action, topic) ?? defaultAllows(policy.defaultAcl, action, topic);
  }

  #compile(role: AccessRole): CompiledRole {
    let compiled = this.#compiled.get(role);
    if (!compiled) {
      compiled = compileRole(role, this.#dialect);
      this.#compiled.set(role, compiled);
    }
    return compiled;
  }

  #refusal(message: string, info: Readonly<Record<string, unknown>> = {}): ServiceError {
    return new ServiceError('IN_USE', message, { info: { name: this.#username, ...info } });
  }
}

type Permits = (permission: Permission) => boolean;

const availableFeatures = (permits: Permits): readonly Feature[] =>
  FEATURES.filter(({ permissions }) => permissions.every(permits));

const describe = ({ action, topic }: Permission): string =>
  `${action === 'RECEIVE' ? 'receive' : `${action.toLowerCase()} to`} ${topic}`;

function forbiddenVerb({ command, fields }: DynsecWrite): string | null {
  if (command === 'deleteClient') return 'be deleted';
  if (command === 'disableClient') return 'be disabled';
  if (command !== 'setClientPassword' && command !== 'modifyClient') return null;
  if (fields.password !== undefined) return 'get another password here';
  return 'clientid' in fields && fields.clientid !== undefined ? 'be bound to a client id' : null;
}
