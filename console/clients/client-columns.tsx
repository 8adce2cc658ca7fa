import { useContext, useMemo } from 'react';
import { exactRate, rateText } from '../broker/amounts.ts';
import { type Format, useBytes } from '../broker/units.ts';
import { type Translate, useLanguage, useNumbers, useTexts, useTimes } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { LongName } from '../ui/long-name.tsx';
import { type Place, PlaceContext } from '../ui/place.ts';
import { RowMenu } from '../ui/row-menu.tsx';
import { useZonedTimes } from '../ui/use-zone.ts';
import { clientPath } from './client-address.ts';
import type { ClientRow } from './operations.ts';
import type { SortField } from './selection.ts';
import { clientsTexts } from './texts.ts';
import { RATE_KEYS, type Rates } from './use-rates.ts';

export interface ClientColumn extends Column<ClientRow> {
  readonly sortField?: SortField;
}

const PROTOCOL_NAMES = { MQTT: 'MQTT', MQTT_WS: 'WebSocket', MQTT_SN: 'MQTT-SN' } as const;
const VERSION_NAMES = { V3_1: '3.1', V3_1_1: '3.1.1', V5: '5.0' } as const;

export const protocolName = (protocol: keyof typeof PROTOCOL_NAMES): string => PROTOCOL_NAMES[protocol];
export const versionName = (version: keyof typeof VERSION_NAMES): string => VERSION_NAMES[version];

type ConnectionKey = 'connected' | 'offline' | 'unknown';

/** The key of the text for the connection of a client. */
export const connectionKey = (isConnected: boolean | null): ConnectionKey =>
  isConnected === null ? 'unknown' : isConnected ? 'connected' : 'offline';

/** The columns of the list and of its CSV file. */
export function useClientColumns(
  brokerId: string,
  withDrops: boolean,
  rates: Rates | null,
  onEnd: ((client: ClientRow) => void) | null,
): readonly ClientColumn[] {
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  const bytesText = useBytes();
  const timeOf = useTimes();
  const zonedTimeOf = useZonedTimes();
  const language = useLanguage();
  const { linkTo } = useContext(PlaceContext);
  // Rows are drawn again only if their client or the columns change.
  return useMemo(
    () => columnsOf({ brokerId, withDrops, rates, onEnd, text, numberText, bytesText, timeOf, zonedTimeOf, linkTo }),
    [brokerId, withDrops, rates, onEnd, language, linkTo],
  );
}

interface ColumnsOptions extends Pick<Place, 'linkTo'> {
  readonly brokerId: string;
  readonly withDrops: boolean;
  readonly rates: Rates | null;
  /** Asks whether to disconnect a client, or to delete its session; `null` if the viewer may not. */
  readonly onEnd: ((client: ClientRow) => void) | null;
  readonly text: ReturnType<typeof useTexts<keyof typeof clientsTexts.en>>;
  readonly numberText: Format;
  readonly bytesText: Format;
  readonly timeOf: (time: string) => string;
  readonly zonedTimeOf: (time: string) => string;
}

function columnsOf(options: ColumnsOptions): readonly ClientColumn[] {
  const { brokerId, withDrops, rates, onEnd, text, numberText, bytesText, timeOf, zonedTimeOf, linkTo } = options;
  const count = (value: number | null | undefined) => (value == null ? '–' : numberText(value));
  return [
    {
      key: 'client',
      title: text('client'),
      sortField: 'CLIENT_ID',
      // The table handles the keyboard. Links of wouter are too slow for a list that scrolls.
      cell: ({ clientId, ...client }) => (
        <>
          <a {...linkTo(clientPath(brokerId, clientId))} tabIndex={-1}>
            <LongName>{clientId}</LongName>
          </a>
          {client.isGateway && (
            <span className="tag" title={text('isGateway')}>
              {text('gateway')}
            </span>
          )}
          {client.isBridge && <span className="tag">{text('bridge')}</span>}
          {client.nodeId !== null && <small> {text('nodeNumber', { number: client.nodeId })}</small>}
        </>
      ),
      value: ({ clientId }) => clientId,
    },
    {
      key: 'state',
      title: text('state'),
      cell: ({ isConnected }) => (
        <span className={isConnected ? 'state CONNECTED' : 'state'}>{text(connectionKey(isConnected))}</span>
      ),
      value: ({ isConnected }) => text(connectionKey(isConnected)),
    },
    { key: 'account', title: text('account'), sortField: 'USERNAME', cell: ({ username }) => username },
    {
      key: 'address',
      title: text('address'),
      sortField: 'ADDRESS',
      cell: ({ address }) => address ?? '–',
      value: ({ address }) => address,
    },
    { key: 'protocol', title: text('protocol'), cell: (client) => protocolOf(client, text) },
    {
      key: 'since',
      title: text('lastConnected'),
      sortField: 'CONNECTED_AT',
      cell: ({ lastConnectedAt }) =>
        lastConnectedAt && (
          <time dateTime={lastConnectedAt} title={zonedTimeOf(lastConnectedAt)}>
            {timeOf(lastConnectedAt)}
          </time>
        ),
      value: ({ lastConnectedAt }) => lastConnectedAt,
    },
    {
      key: 'queued',
      title: text('queued'),
      sortField: 'QUEUED_MESSAGES',
      isNumber: true,
      cell: ({ queues }) => count(queues?.messagesOut),
      value: ({ queues }) => queues?.messagesOut,
    },
    ...(withDrops
      ? [
          {
            key: 'dropped',
            title: text('dropped'),
            sortField: 'DROPPED_MESSAGES',
            isNumber: true,
            cell: ({ numDropped }: ClientRow) => count(numDropped),
            value: ({ numDropped }: ClientRow) => numDropped,
          } as const,
        ]
      : []),
    ...(rates === null ? [] : RATE_KEYS).map((key) => ({
      key,
      title: text(key),
      isNumber: true,
      cell: ({ clientId }: ClientRow) =>
        rateText(rates?.[key](clientId) ?? null, key.startsWith('bytes') ? bytesText : numberText),
      value: ({ clientId }: ClientRow) => exactRate(rates?.[key](clientId) ?? null),
    })),
    ...(onEnd === null
      ? []
      : [
          {
            key: 'actions',
            title: text('actions'),
            cell: (client: ClientRow) =>
              client.isConnected !== null &&
              !client.isGateway && (
                <RowMenu key={client.clientId} name={client.clientId} isInGrid={true}>
                  <button type="button" className="danger" onClick={() => onEnd(client)}>
                    {text(client.isConnected ? 'disconnect' : 'deleteSession')} …
                  </button>
                </RowMenu>
              ),
          },
        ]),
  ];
}

function protocolOf({ protocol, protocolVersion }: ClientRow, text: Translate<'unknown'>): string {
  if (protocol === null && protocolVersion === null) return text('unknown');
  return [protocol && protocolName(protocol), protocolVersion && versionName(protocolVersion)]
    .filter((part) => part !== null)
    .join(' ');
}
