import { requestTopic, responseTopic } from '../control/envelope.ts';
import { ServiceError } from '../errors.ts';
import type { AccessAction } from './access-explanation.ts';
import type { AccessDialect, AccessPolicy, AccessRole } from './access-model.ts';
import { rolesInOrder } from './access-order.ts';
import type { PlannedCommand } from './access-plan.ts';
import { bindRole, type CompiledRole, compileRole, decide } from './acl-evaluation.ts';
import { DYNSEC_API } from './dynsec-control.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import { type OwnAccess, ownAccess } from './own-access.ts';

/**
 * Keeps this service from locking itself out: nobody could take back through it what took its rights away.
 *
 * Refused with IN_USE: to delete or disable its account, to give it another password or client id (they belong to the settings
 * of the broker's connection), and whatever takes away a right that it has and needs for dynamic security. Other changes of its
 * account, groups and roles are allowed; they disconnect it for a moment.
 */
export class OwnAccount {
  readonly #username: string | null;
  readonly #dialect: AccessDialect;
  /** Roles are replaced, never changed, so that one that is the same object is compiled already. */
  readonly #compiled = new WeakMap<AccessRole, CompiledRole>();
  #rights: readonly Right[];
  #access: OwnAccess;

  constructor(policy: AccessPolicy, dialect: AccessDialect, username: string | null) {
    this.#username = username;
    this.#dialect = dialect;
    this.#rights = this.#rightsIn(policy);
    this.#access = ownAccess(policy, username);
  }

  /** Errors: IN_USE. */
  checkWrite(write: DynsecWrite): void {
    if (this.#username === null || !('username' in write.fields) || write.fields.username !== this.#username) return;
    const what = forbidden(write);
    if (what === null) return;
    throw this.#refusal(`This service connects to the broker as "${this.#username}", which therefore cannot ${what}`);
  }

  /** Call after each change, with its commands and the policy as it is then. Errors: IN_USE, the change then does not count. */
  checkChange(commands: readonly PlannedCommand[], policy: AccessPolicy): void {
    if (commands.some((command) => this.#isConcerned(command))) this.checkPolicy(policy);
  }

  /** Errors: IN_USE, the policy then does not count. */
  checkPolicy(policy: AccessPolicy): void {
    const rights = this.#rightsIn(policy);
    const lost = this.#rights.find((right) => !rights.includes(right));
    if (lost !== undefined) {
      throw this.#refusal(
        `This service would lose its own right to ${lost.words}, and with it the control of the broker's access control`,
      );
    }
    this.#rights = rights;
    this.#access = ownAccess(policy, this.#username);
  }

  /** Its rights come from nothing else: what is not touched of these leaves them as they are. */
  #isConcerned({ touches }: PlannedCommand): boolean {
    const { groups, roles } = this.#access;
    return touches.some((object) => {
      if (object.kind === 'CLIENT') return object.name === this.#username;
      if (object.kind === 'GROUP') return groups.has(object.name);
      if (object.kind === 'ROLE') return roles.has(object.name);
      return object.kind === 'ANONYMOUS_GROUP';
    });
  }

  #rightsIn(policy: AccessPolicy): readonly Right[] {
    const client = this.#username === null ? null : policy.clients.get(this.#username);
    if (client === undefined) return [];
    const { anonymousGroup } = policy;
    const groups =
      client?.groups ?? (client === null && anonymousGroup !== null ? [{ name: anonymousGroup, priority: 0 }] : []);
    const sources = rolesInOrder(client?.roles ?? [], groups, (name) => policy.groups.get(name)?.roles ?? []);
    const roles = sources.flatMap(({ rolename }) => {
      const role = policy.roles.get(rolename);
      return role ? [bindRole(this.#compile(role), { username: this.#username, clientId: null })] : [];
    });
    // The default never allows anything below $CONTROL.
    return NEEDED.filter(({ action, topic }) => decide(roles, action, topic) === true);
  }

  #compile(role: AccessRole): CompiledRole {
    let compiled = this.#compiled.get(role);
    if (!compiled) {
      compiled = compileRole(role, this.#dialect);
      this.#compiled.set(role, compiled);
    }
    return compiled;
  }

  #refusal(message: string): ServiceError {
    return new ServiceError('IN_USE', message, { info: { name: this.#username } });
  }
}

interface Right {
  readonly action: AccessAction;
  readonly topic: string;
  readonly words: string;
}

const NEEDED: readonly Right[] = [
  { action: 'PUBLISH', topic: requestTopic(DYNSEC_API), words: `publish to ${requestTopic(DYNSEC_API)}` },
  { action: 'SUBSCRIBE', topic: responseTopic(DYNSEC_API), words: `subscribe to ${responseTopic(DYNSEC_API)}` },
  { action: 'RECEIVE', topic: responseTopic(DYNSEC_API), words: `receive ${responseTopic(DYNSEC_API)}` },
];

function forbidden(write: DynsecWrite): string | null {
  switch (write.command) {
    case 'deleteClient':
      return 'be deleted';
    case 'disableClient':
      return 'be disabled';
    case 'setClientPassword':
      return 'get another password here';
    case 'modifyClient':
      if (write.fields.password !== undefined) return 'get another password here';
      return write.fields.clientid === undefined ? null : 'be bound to a client id';
    default:
      return null;
  }
}
