import { ServiceError } from '../../../platform/errors.ts';
import { DYNSEC_API, parseAnonymousGroup } from '../../../protocol/control/dynamic-security.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';

interface Account {
  /** `null`: clients without a user name. */
  readonly username: string | null;
  /** Whether this service uses the account, which is then never disconnected; `null` if that is unknown. */
  readonly isOwn: boolean | null;
}

/** Returns why the account can never be disconnected; `null` if no reason is known. Errors: as `ControlCaller`. */
export async function kickObstacle(caller: ControlCaller, { username, isOwn }: Account): Promise<ServiceError | null> {
  const { provider, reason } = await caller.capability(DYNSEC_API);
  if (provider === 'NONE') return withoutDynsec(reason);
  if (username !== null || isOwn !== false) return null;
  try {
    return (await anonymousGroup(caller)) === null ? withoutGroup() : null;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_SUPPORTED_BY_BROKER') return error;
    throw error;
  }
}

/**
 * Disconnects every connection of an account without changing the account. Dynamic security (2.0 and 2.1) ends the
 * connections of an account when it is written, even with unchanged values. Persistent sessions and their queues
 * remain; wills are not sent. `username` null: all clients without a user name.
 *
 * A user that dynamic security does not know (from a password file, or the name in a certificate) is created and
 * deleted in one payload, which the broker processes without interruption.
 *
 * Errors: NOT_SUPPORTED_BY_BROKER (`info.reason` and the message name the remedy), as `ControlCaller`. After an error
 * with `info.outcome` 'unknown' the connections may have ended.
 */
export async function kickAccount(caller: ControlCaller, username: string | null): Promise<void> {
  if (username === null) return kickAnonymous(caller);
  try {
    await caller.call(DYNSEC_API, 'modifyClient', { username });
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) throw helpful(error);
    await kickUnknown(caller, username);
  }
}

async function kickUnknown(caller: ControlCaller, username: string): Promise<void> {
  const results = await caller.callAll(DYNSEC_API, [
    { command: 'createClient', fields: { username } },
    { command: 'deleteClient', fields: { username } },
  ]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function kickAnonymous(caller: ControlCaller): Promise<void> {
  const groupname = await anonymousGroup(caller);
  if (groupname === null) throw withoutGroup();
  await caller.call(DYNSEC_API, 'setAnonymousGroup', { groupname });
}

async function anonymousGroup(caller: ControlCaller): Promise<string | null> {
  try {
    return parseAnonymousGroup(await caller.call(DYNSEC_API, 'getAnonymousGroup'));
  } catch (error) {
    throw helpful(error);
  }
}

const hasCode = (error: unknown, code: string): boolean => error instanceof ServiceError && error.code === code;

const helpful = (error: unknown): unknown =>
  hasCode(error, 'NOT_SUPPORTED_BY_BROKER') ? withoutDynsec(undefined, error) : error;

const withoutDynsec = (
  why = 'The broker has no dynamic security: load it with `plugin …/mosquitto_dynamic_security.so`',
  cause?: unknown,
): ServiceError => notSupported(`Mosquitto can disconnect clients only with dynamic security. ${why}`, cause);

const withoutGroup = (): ServiceError =>
  notSupported(
    'Clients without a user name can be disconnected only where dynamic security has a group for them: create a group without roles and make it the anonymous group',
  );

function notSupported(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { api: DYNSEC_API, reason }, cause });
}
