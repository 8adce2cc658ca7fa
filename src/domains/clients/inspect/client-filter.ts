import { ServiceError } from '../../../platform/errors.ts';
import { type AddressRange, addressKey } from '../../../platform/network/address-range.ts';
import { FITS, type FilterMode } from '../../../platform/text/text-filter.ts';
import { INSPECT_API } from '../../../protocol/apis/clients/inspect-control.ts';
import type {
  ClientBacklog,
  ClientProtocol,
  ClientProtocolVersion,
  ConnectedClientSummary,
} from '../../../protocol/apis/clients/inspect-data.ts';
import type { ClientGroup } from '../client-groups.ts';
import { type BacklogOf, listedBacklog } from './client-backlogs.ts';

/** Conditions of a list; a client must match all of them. A client whose value is unknown does not match, but may. */
export interface ClientFilter {
  /** Compared with client id and user name; one of them must match. Default: empty, no condition. Case-sensitive. */
  readonly value?: string;
  readonly mode?: FilterMode;
  /** `true`: only clients that are connected or whose state is unknown. `false`: only offline persistent sessions. */
  readonly connected?: boolean;
  readonly username?: string;
  /** Only clients of these ids. */
  readonly clientIds?: readonly string[];
  readonly addresses?: AddressRange;
  readonly protocol?: ClientProtocol;
  readonly protocolVersion?: ClientProtocolVersion;
  readonly node?: number;
  /** Only clients of the members. */
  readonly group?: ClientGroup;
  readonly minQueued?: number;
  readonly minDropped?: number;
}

/** Whether a client matches. `null` if that depends on a value that is unknown. */
export type Fits = (client: ConnectedClientSummary) => boolean | null;

/** Whether the filter needs current numbers of queued or dropped messages. */
export const needsBacklogs = ({ minQueued, minDropped }: ClientFilter): boolean =>
  minQueued !== undefined || minDropped !== undefined;

/** Errors: NOT_SUPPORTED_BY_BROKER if a condition needs a number that is unknown of all clients. */
export function requireBacklogs(
  { minQueued, minDropped }: ClientFilter,
  clients: readonly ConnectedClientSummary[],
  backlogOf: BacklogOf,
): void {
  if (clients.length === 0) return;
  const isUnknown = (key: keyof ClientBacklog) => clients.every((client) => backlogOf(client)[key] === undefined);
  const what =
    minQueued !== undefined && isUnknown('messagesOut')
      ? 'queued'
      : minDropped !== undefined && isUnknown('numDropped')
        ? 'dropped'
        : null;
  if (what === null) return;
  const reason = `The broker does not report the ${what} messages of its clients`;
  throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { api: INSPECT_API, reason } });
}

/** Equal for filters with equal conditions. */
export function filterKey({ value = '', mode = 'contains', clientIds, group, ...others }: ClientFilter): string {
  const given = Object.entries({ ...others, group: group?.name }).filter(([, condition]) => condition !== undefined);
  given.sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([value, value === '' || mode, clientIds && [...new Set(clientIds)].sort(), given]);
}

/** `null` if the filter has no conditions. */
export function matcherOf(filter: ClientFilter, backlogOf: BacklogOf = listedBacklog): Fits | null {
  const conditions = [...conditionsOf(filter, backlogOf)];
  if (conditions.length === 0) return null;
  return (client) => {
    let result: boolean | null = true;
    for (const fits of conditions) {
      const isFitting = fits(client);
      if (isFitting === false) return false;
      if (isFitting === null) result = null;
    }
    return result;
  };
}

function* conditionsOf(filter: ClientFilter, backlogOf: BacklogOf): Generator<Fits> {
  const { value = '', mode = 'contains', connected, username, clientIds, group, addresses } = filter;
  const { minQueued, minDropped } = filter;
  if (connected !== undefined) yield (client) => (client.connected !== false) === connected;
  if (username !== undefined) yield (client) => client.username === username;
  if (clientIds !== undefined) {
    const ids = new Set(clientIds);
    yield ({ clientid }) => ids.has(clientid);
  }
  if (group !== undefined) yield (client) => group.has(client.username);
  const { protocol, protocolVersion, node } = filter;
  if (protocol !== undefined) yield (client) => isKnownAs(client.protocol, (value) => value === protocol);
  if (protocolVersion !== undefined) {
    yield (client) => isKnownAs(client.protocolVersion, (value) => value === protocolVersion);
  }
  // Clients have nodes only in a cluster.
  if (node !== undefined) yield (client) => client.node === node;
  if (value !== '') yield ({ clientid, username: name }) => FITS[mode](clientid, value) || FITS[mode](name, value);
  if (addresses !== undefined) {
    const { first, last } = addresses;
    yield ({ address }) =>
      isKnownAs(address, (value) => {
        const key = addressKey(value);
        return key !== null && key.length === first.length && key >= first && key <= last;
      });
  }
  if (minQueued !== undefined) {
    yield (client) => isKnownAs(backlogOf(client).messagesOut, (value) => value >= minQueued);
  }
  if (minDropped !== undefined) {
    yield (client) => isKnownAs(backlogOf(client).numDropped, (value) => value >= minDropped);
  }
}

const isKnownAs = <T>(value: T | undefined, fits: (value: T) => boolean): boolean | null =>
  value === undefined ? null : fits(value);
