import { ServiceError } from '../../../platform/errors.ts';
import { type AddressRange, addressKey } from '../../../platform/network/address-range.ts';
import { FITS, type FilterMode } from '../../../platform/text/text-filter.ts';
import type { ClientGroup } from '../client-groups.ts';
import { type BacklogOf, listedBacklog } from './client-backlogs.ts';
import { INSPECT_API } from './inspect-control.ts';
import type { ClientBacklog, ClientProtocol, ClientProtocolVersion, ConnectedClientSummary } from './inspect-data.ts';

/** Conditions of a list; a client must match all of them. A client whose value is unknown does not match. */
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

type Fits = (client: ConnectedClientSummary) => boolean;

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
  return conditions.length === 0 ? null : (client) => conditions.every((fits) => fits(client));
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
  for (const key of ['protocol', 'protocolVersion', 'node'] as const) {
    const wanted = filter[key];
    if (wanted !== undefined) yield (client) => client[key] === wanted;
  }
  if (value !== '') yield ({ clientid, username: name }) => FITS[mode](clientid, value) || FITS[mode](name, value);
  if (addresses !== undefined) {
    const { first, last } = addresses;
    yield ({ address }) => {
      const key = address === undefined ? null : addressKey(address);
      return key !== null && key.length === first.length && key >= first && key <= last;
    };
  }
  if (minQueued !== undefined) yield (client) => (backlogOf(client).messagesOut ?? -1) >= minQueued;
  if (minDropped !== undefined) yield (client) => (backlogOf(client).numDropped ?? -1) >= minDropped;
}
