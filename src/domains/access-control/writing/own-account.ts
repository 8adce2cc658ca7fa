import { ServiceError } from '../../../platform/errors.ts';
import type { AccessDialect, AccessPolicy, AccessRole } from '../policy/access-model.ts';
import { holdingsOf, rolesInOrder, rolesOfGroup } from '../policy/access-order.ts';
import { bindRole, type CompiledRole, compileRole, decide, defaultAllows } from '../policy/acl-evaluation.ts';
import type { PlannedCommand } from './access-plan.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import { type OwnAccess, ownAccess } from './own-access.ts';
import { OWN_USES, type OwnRight, type OwnUse } from './own-uses.ts';

/**
 * Keeps this service from locking itself out: what takes its control of access control away could not be taken back through it,
 * and what takes away another of its rights would show as a feature that the broker does not have.
 *
 * Refused with IN_USE: to delete or disable its account, to give it another password or client id (they belong to the settings
 * of the broker's connection), and whatever ends one of OWN_USES that it has the rights for. Other changes of its account,
 * groups and roles are allowed; they disconnect it for a moment.
 */
export class OwnAccount {
  readonly #username: string | null;
  readonly #dialect: AccessDialect;
  /** Roles are replaced, never changed, so that one that is the same object is compiled already. */
  readonly #compiled = new WeakMap<AccessRole, CompiledRole>();
  /** What it has the rights for. */
  #uses: readonly OwnUse[];
  #access: OwnAccess;

  constructor(policy: AccessPolicy, dialect: AccessDialect, username: string | null) {
    this.#username = username;
    this.#dialect = dialect;
    this.#uses = usesBy(this.#mayIn(policy));
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
    const may = this.#mayIn(policy);
    const lost = this.#uses.flatMap(({ what, rights }) => {
      const right = rights.find((needed) => !may(needed));
      return right === undefined ? [] : [{ what, right: wordsOf(right) }];
    });
    if (lost[0] !== undefined) {
      const { what, right } = lost[0];
      const more = lost.length === 1 ? '' : `, and ${lost.length - 1} more rights`;
      throw this.#refusal(`This service would lose its own right to ${right}, and with it ${what}${more}`, {
        lost: lost.map((use) => use.right),
      });
    }
    this.#uses = usesBy(may);
    this.#access = ownAccess(policy, this.#username);
  }

  /** Its rights come from nothing else: what touches none of these leaves them as they are. */
  #isConcerned({ touches }: PlannedCommand): boolean {
    const { groups, roles } = this.#access;
    return touches.some((object) => {
      if (object.kind === 'CLIENT') return object.name === this.#username;
      if (object.kind === 'GROUP') return groups.has(object.name);
      if (object.kind === 'ROLE') return roles.has(object.name);
      return true;
    });
  }

  #mayIn(policy: AccessPolicy): May {
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

type May = (right: OwnRight) => boolean;

const usesBy = (may: May): readonly OwnUse[] => OWN_USES.filter(({ rights }) => rights.every(may));

const wordsOf = ({ action, topic }: OwnRight): string =>
  `${action === 'RECEIVE' ? 'receive' : `${action.toLowerCase()} to`} ${topic}`;

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
