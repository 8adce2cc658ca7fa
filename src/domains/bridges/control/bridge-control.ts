import type { BridgeApi } from '../../../data-plane/bridges/model/bridge-kind.ts';
import { type InputIssue, ServiceError } from '../../../platform/errors.ts';
import type { ControlEvent } from '../../../protocol/control/envelope.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import { withIssue } from '../../../protocol/control/issue-refusals.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { isTooDeep, MAX_DEPTH } from './config-secrets.ts';

export const BRIDGE_STATUS = 'bridgeStatus';

/** Maximum characters of JSON, in requests and responses. Masking a million takes a second. */
const MAX_LENGTH = 1_000_000;
/** Maximum characters of the JSON of a status, which is masked in one go. */
const MAX_STATUS_LENGTH = 262_144;

const BRIDGE_ID = /^[a-z0-9][a-z0-9._-]{0,99}-bridge$/i;

/**
 * The control API of a bridge with this id, such as `mqtt-bridge`; `null` if no bridge can have it.
 * Errors of its commands, besides those of `ControlCaller`: INVALID, with `info.issues` if the text names the issue
 * (paths are JSON pointers into the configuration); BROKER_REJECTED with the broker's text, or for an invalid response.
 */
export const bridgeApi = (id: string): BridgeApi | null => (BRIDGE_ID.test(id) ? (`cedalo/${id}` as BridgeApi) : null);

export async function getBridgeSchema(caller: ControlCaller, api: BridgeApi): Promise<unknown> {
  return checked(api, 'getSchema', await caller.call(api, 'getSchema'), isFields);
}

/** The configuration as the provider returns it; that of a commercial broker may contain secrets. */
export async function getBridgeConfig(caller: ControlCaller, api: BridgeApi): Promise<unknown> {
  return checked(api, 'getConfig', await caller.call(api, 'getConfig'), isFields);
}

/**
 * Replaces the configuration. `more`: further fields of the command. An unchanged or already pending configuration
 * counts as accepted.
 */
export async function updateBridgeConfig(
  caller: ControlCaller,
  api: BridgeApi,
  config: unknown,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  let data: unknown;
  try {
    data = await caller.call(api, 'updateConfig', { configChange: config, ...more });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (/^identical configchange/i.test(String(error.info?.brokerError))) return;
    throw withIssue(error);
  }
  const response = isFields(data) ? data.response : undefined;
  if (response === undefined || response === null || /^(success|ok)$/i.test(String(response))) return;
  throw new ServiceError('BROKER_REJECTED', `The broker refused the configuration: ${shown(response)}`);
}

/** Any JSON: the provider defines its content, usually one entry for each connection. */
export async function getBridgeStatus(caller: ControlCaller, api: BridgeApi): Promise<unknown> {
  const isObject = (data: unknown) => typeof data === 'object' && data !== null;
  return checked(api, 'getStatus', await caller.call(api, 'getStatus'), isObject, MAX_STATUS_LENGTH);
}

/** Events with a status that is too large are ignored; a query then reports it. */
export function onBridgeStatus(caller: ControlCaller, api: BridgeApi, listener: (status: unknown) => void): Stop {
  return caller.onEvent(api, ({ event, status }: ControlEvent) => {
    if (event === BRIDGE_STATUS && isReadable(status, MAX_STATUS_LENGTH)) listener(status);
  });
}

export function configSizeIssues(config: unknown): readonly InputIssue[] {
  if (isTooDeep(config)) return [{ path: '/', reason: `must not be nested deeper than ${MAX_DEPTH} levels` }];
  if (JSON.stringify(config).length <= MAX_LENGTH) return [];
  return [{ path: '/', reason: `must not have more than ${MAX_LENGTH} characters` }];
}

function checked(
  api: BridgeApi,
  command: string,
  data: unknown,
  isValid: (data: unknown) => boolean,
  maxLength = MAX_LENGTH,
): unknown {
  if (isValid(data) && isReadable(data, maxLength)) return data;
  const what = isValid(data) ? 'a result that is too large' : 'an invalid result';
  throw new ServiceError('BROKER_REJECTED', `The broker responded to ${command} of ${api} with ${what}`, {
    info: { api, command },
  });
}

const isReadable = (data: unknown, maxLength: number): boolean =>
  !isTooDeep(data) && JSON.stringify(data ?? null).length <= maxLength;

const shown = (value: unknown): string => (typeof value === 'string' ? value : typeof value).slice(0, 500);
