import { type InputIssue, invalid } from '../../platform/errors.ts';
import { addressRangeOf } from '../../platform/network/address-range.ts';
import type { FilterMode } from '../../platform/text/text-filter.ts';
import type { ClientProtocol, ClientProtocolVersion } from '../../protocol/apis/clients/inspect-data.ts';
import type { ClientSelection } from './inspect/client-feeds.ts';
import type { ClientFilter } from './inspect/client-filter.ts';

/** Conditions of a caller. `null` or missing: no condition. */
export interface ClientConditions {
  /** Compared with client id and user name. */
  readonly value?: string | null | undefined;
  readonly mode?: FilterMode | null | undefined;
  /** `true`: only connected clients. `false`: only offline persistent sessions. */
  readonly isConnected?: boolean | null | undefined;
  readonly username?: string | null | undefined;
  readonly groupName?: string | null | undefined;
  readonly clientIds?: readonly string[] | null | undefined;
  /** An IP address or a network. */
  readonly address?: string | null | undefined;
  readonly protocol?: ClientProtocol | null | undefined;
  readonly protocolVersion?: ClientProtocolVersion | null | undefined;
  readonly nodeId?: number | null | undefined;
  readonly minQueuedMessages?: number | null | undefined;
  readonly minDroppedMessages?: number | null | undefined;
}

export interface WatchArguments {
  readonly filter?: ClientConditions | null | undefined;
  readonly form?: ClientSelection['form'] | null | undefined;
}

/** Maxima of a filter, whose values are compared with each client. */
export const MAX_CLIENT_IDS = 1_000;
const MAX_VALUE = 1_000;

/** Every condition but `groupName`, which is read from the broker. Errors: INVALID, with paths below `path`. */
export function filterOf(conditions: ClientConditions | null | undefined, path = 'filter'): ClientFilter {
  if (conditions == null) return {};
  const { value, mode, isConnected, groupName, address, nodeId, ...others } = conditions;
  const { minQueuedMessages, minDroppedMessages, ...same } = others;
  const addresses = address == null ? null : addressRangeOf(address);
  const issues: InputIssue[] = [];
  const refuse = (name: keyof ClientConditions, reason: string) => issues.push({ path: `${path}.${name}`, reason });
  if ((same.clientIds?.length ?? 0) > MAX_CLIENT_IDS) refuse('clientIds', `At most ${MAX_CLIENT_IDS} client ids`);
  if ((value?.length ?? 0) > MAX_VALUE) refuse('value', `At most ${MAX_VALUE} characters`);
  if (address != null && addresses === null) refuse('address', 'must be an IP address or a network as `10.0.0.0/8`');
  if (issues.length > 0) throw invalid(issues);
  return given({
    value,
    mode: value == null ? null : (mode ?? 'contains'),
    connected: isConnected,
    ...same,
    addresses,
    node: nodeId,
    minQueued: minQueuedMessages,
    minDropped: minDroppedMessages,
  });
}

/** Errors: INVALID for a condition that a subscription cannot have. */
export function refuseBacklogs(filter: WatchArguments['filter']): void {
  const issues = (['minQueuedMessages', 'minDroppedMessages'] as const)
    .filter((name) => filter?.[name] != null)
    .map((name) => ({
      path: `filter.${name}`,
      reason: 'is not possible in a subscription, because changes of queues send no events: query the list instead',
    }));
  if (issues.length > 0) throw invalid(issues);
}

const given = (
  filter: { readonly [Name in keyof ClientFilter]: ClientFilter[Name] | null | undefined },
): ClientFilter => Object.fromEntries(Object.entries(filter).filter(([, condition]) => condition != null));
