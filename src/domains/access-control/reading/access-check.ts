import { ServiceError } from '../../../platform/errors.ts';
import { DYNSEC_API, parseAnonymousGroup } from '../../../protocol/control/dynamic-security.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import { isRead } from '../../../protocol/control/payloads.ts';
import type { ControlCall, ControlCaller } from '../../../protocol/control/plugin.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { DefaultAcl } from '../policy/access-model.ts';
import { type AccessPart, partsChangedBy } from './access-parts.ts';
import { type DynsecDetails, parseDefaultAcl, parseDetails } from './dynsec-control.ts';

/** What a broker tells with one small payload: enough to know whether what was read of it still holds. */
export interface Told {
  /** Epoch milliseconds at which it was asked. */
  readonly askedAt: number;
  /** Null: the broker has no details. */
  readonly details: DynsecDetails | null;
  readonly changeIndex: number | null;
  /** Sizes of the lists; null: not told. */
  readonly counts: Readonly<Record<AccessPart, number | null>>;
  readonly defaultAcl: DefaultAcl;
  readonly anonymousGroup: string | null;
}

/** A list of one name costs next to nothing and tells the size of the whole. */
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
 * Asks a broker whether its access control changed. The answers to what other administrators wrote before arrive before the
 * answer to this, since the broker does one thing after the other: so whoever has asked has been told of all of them.
 */
export class AccessCheck {
  readonly #controls: ControlCaller;
  /** Mosquitto 2.0 does not know the command, and need not be asked again on the same connection. */
  #hasDetails = true;

  constructor(controls: ControlCaller) {
    this.#controls = controls;
  }

  /** Who answers may be another broker now. */
  forget(): void {
    this.#hasDetails = true;
  }

  /** Tells the parts that somebody else may have changed; none where only something small changed. */
  onForeignWrites(listener: (parts: readonly AccessPart[]) => void): Stop {
    return this.#controls.onForeignAnswers(DYNSEC_API, (commands) => {
      const writes = commands.filter((command) => !isRead(command));
      if (writes.length > 0) listener(writes.flatMap((command) => [...partsChangedBy(command)]));
    });
  }

  async ask(): Promise<Told> {
    return (await this.askWith([])).told;
  }

  /** The check at the end of other commands, in one payload. Errors: those of the caller, for the check alone. */
  async askWith(
    commands: readonly ControlCall[],
  ): Promise<{ readonly answers: readonly PromiseSettledResult<unknown>[]; readonly told: Told }> {
    const askedAt = Date.now();
    const checks = this.#hasDetails ? [...CHECKS, DETAILS] : CHECKS;
    const results = await this.#controls.callAll(DYNSEC_API, [...commands, ...checks]);
    const [acl, group, clients, groups, roles, details] = results.slice(commands.length);
    const known = details === undefined ? null : unlessUnknown(details);
    this.#hasDetails = known !== null;
    const parsed = known && parseDetails(known.data);
    return {
      answers: results.slice(0, commands.length),
      told: {
        askedAt,
        details: parsed,
        changeIndex: parsed?.changeIndex ?? null,
        counts: { clients: countOf(clients), groups: countOf(groups), roles: countOf(roles) },
        defaultAcl: parseDefaultAcl(dataOf(acl)),
        anonymousGroup: parseAnonymousGroup(unlessUnknown(group)?.data),
      },
    };
  }
}

/** Null: the broker does not know the command. Errors: every other refusal. */
function unlessUnknown(result: PromiseSettledResult<unknown> | undefined): { readonly data: unknown } | null {
  if (result?.status === 'rejected' && isUnknownCommand(result.reason)) return null;
  return { data: dataOf(result) };
}

/** The same code is told where nobody serves the API at all; only the broker has this text. */
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
