import { ServiceError } from '../../../platform/errors.ts';
import type { DefaultAcl } from '../../../protocol/apis/access-control/access-model.ts';
import {
  type DynsecDetails,
  parseDefaultAcl,
  parseDetails,
} from '../../../protocol/apis/access-control/dynsec-control.ts';
import { DYNSEC_API, parseAnonymousGroup } from '../../../protocol/control/dynamic-security.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import { isRead } from '../../../protocol/control/payloads.ts';
import type { ControlCall, ControlCaller } from '../../../protocol/control/plugin.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { type AccessPart, partsChangedBy } from './access-parts.ts';

export interface CheckResult {
  readonly askedAt: number;
  readonly details: DynsecDetails | null;
  readonly changeIndex: number | null;
  readonly counts: Readonly<Record<AccessPart, number | null>>;
  readonly defaultAcl: DefaultAcl;
  readonly anonymousGroup: string | null;
}

/** A page with one name is cheap, and its response has the size of the whole list. */
const ONE = { verbose: false, count: 1, offset: 0 };
const CHECKS: readonly ControlCall[] = [
  { command: 'getDefaultACLAccess' },
  { command: 'getAnonymousGroup' },
  { command: 'listClients', fields: ONE },
  { command: 'listGroups', fields: ONE },
  { command: 'listRoles', fields: ONE },
];
const DETAILS: ControlCall = { command: 'getDetails' };

/**
 * Checks whether access control has changed on the broker. The broker executes commands in order, so the responses to
 * earlier writes arrive before the response to the check.
 */
export class AccessCheck {
  readonly #controls: ControlCaller;
  /** Mosquitto 2.0 does not support `getDetails`; the command is sent once per connection then. */
  #hasDetails = true;
  #last: CheckResult | null = null;

  constructor(controls: ControlCaller) {
    this.#controls = controls;
  }

  /** Call after a reconnect: the server may be another broker now. */
  reset(): void {
    this.#hasDetails = true;
    this.#last = null;
  }

  onForeignWrites(listener: (parts: readonly AccessPart[]) => void): Stop {
    return this.#controls.onForeignAnswers(DYNSEC_API, (commands) => {
      const writes = commands.filter((command) => !isRead(command));
      if (writes.length > 0) listener(writes.flatMap((command) => [...partsChangedBy(command)]));
    });
  }

  /** Only the change index is read while it stays the same: Mosquitto 2.1 logs each command. */
  async run(): Promise<CheckResult> {
    const last = this.#last;
    if (last === null || last.changeIndex === null) return (await this.runAfter([])).check;
    const askedAt = Date.now();
    const [details] = await this.#controls.callAll(DYNSEC_API, [DETAILS]);
    const { changeIndex } = parseDetails(dataOf(details));
    return changeIndex === last.changeIndex ? { ...last, askedAt } : (await this.runAfter([])).check;
  }

  /** Runs the check after other commands, in one payload. Errors: those of the ControlCaller, for the check only. */
  async runAfter(
    commands: readonly ControlCall[],
  ): Promise<{ readonly responses: readonly PromiseSettledResult<unknown>[]; readonly check: CheckResult }> {
    const askedAt = Date.now();
    const checks = this.#hasDetails ? [...CHECKS, DETAILS] : CHECKS;
    const results = await this.#controls.callAll(DYNSEC_API, [...commands, ...checks]);
    const [acl, group, clients, groups, roles, details] = results.slice(commands.length);
    const supported = details === undefined ? null : unlessUnknown(details);
    this.#hasDetails = supported !== null;
    const parsed = supported && parseDetails(supported.data);
    const check = {
      askedAt,
      details: parsed,
      changeIndex: parsed?.changeIndex ?? null,
      counts: { clients: countOf(clients), groups: countOf(groups), roles: countOf(roles) },
      defaultAcl: parseDefaultAcl(dataOf(acl)),
      anonymousGroup: parseAnonymousGroup(unlessUnknown(group)?.data),
    };
    this.#last = check;
    return { responses: results.slice(0, commands.length), check };
  }
}

function unlessUnknown(result: PromiseSettledResult<unknown> | undefined): { readonly data: unknown } | null {
  if (result?.status === 'rejected' && isUnknownCommand(result.reason)) return null;
  return { data: dataOf(result) };
}

/** Without dynamic security the error has the same code, but not this text of the broker. */
const isUnknownCommand = (error: unknown): boolean =>
  error instanceof ServiceError && /^unknown command$/i.test(String(error.info?.brokerError));

function dataOf(result: PromiseSettledResult<unknown> | undefined): unknown {
  if (result?.status === 'rejected') throw result.reason;
  return result?.value;
}

function countOf(result: PromiseSettledResult<unknown> | undefined): number | null {
  const data = dataOf(result);
  const count = isFields(data) ? data.totalCount : null;
  return typeof count === 'number' ? count : null;
}
