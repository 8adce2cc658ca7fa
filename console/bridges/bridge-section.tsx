import { Cable } from 'lucide-react';
import { useId, useState } from 'react';
import { useIsReached } from '../broker/broker-context.ts';
import { useLive } from '../graph/live.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import type { Column } from '../ui/column.ts';
import { Empty } from '../ui/empty.tsx';
import { LiveMark } from '../ui/live-mark.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { type Bridge, type Connection, STATUS, type StatusEvent } from './bridge-graph.ts';
import { RemoveConnection } from './remove-connection.tsx';
import { bridgeTexts } from './texts.ts';

interface BridgeSectionProps {
  readonly brokerId: string;
  readonly bridge: Bridge;
  /** Opens the form for a connection; `null`: a new one. */
  readonly onEdit: (name: string | null) => void;
}

const latest = (_before: unknown, event: StatusEvent) => event;

/** One bridge, with the state, the queue and the last rejection of each connection. */
export function BridgeSection({ brokerId, bridge, onEdit }: BridgeSectionProps) {
  const text = useTexts(bridgeTexts);
  const numberText = useNumbers();
  const heading = useId();
  const [removed, setRemoved] = useState<Connection | null>(null);
  const isReached = useIsReached();
  const { state, isLive: isFollowed } = useLive(
    STATUS,
    { brokerId, bridgeId: bridge.key },
    ({ bridgeStatus }) => bridgeStatus,
    latest,
  );
  const isLive = isFollowed && isReached;
  const canChange = bridge.viewerCanUpdate && bridge.isConfigurable;
  const number = (key: 'queuedMessages' | 'received' | 'delivered' | 'dropped' | 'rejected'): Column<Connection> => ({
    key,
    title: text(key),
    cell: (connection) => {
      const value = connection[key];
      return value === null ? '–' : numberText(value);
    },
    value: (connection) => connection[key],
    isNumber: true,
  });
  const columns: Column<Connection>[] = [
    { key: 'name', title: text('connection'), cell: ({ name }) => name },
    {
      key: 'state',
      title: text('state'),
      cell: (connection) => {
        const shown = connection.state ?? (connection.isConnected ? 'CONNECTED' : 'UNREACHABLE');
        return (
          <>
            <span className={`state ${shown}`}>{text(shown)}</span>
            {connection.error !== null && (
              <small className="bridge-error" lang="en">
                {connection.error}
              </small>
            )}
            {connection.loop && (
              <small className="bridge-error" lang="en">
                {connection.loop.reason}
              </small>
            )}
            {connection.lastRejection && (
              <small className="bridge-error">
                {text('lastRejection')}: <AsSent>{connection.lastRejection.reason}</AsSent> (
                <Time isRelative={true} at={connection.lastRejection.at} />)
              </small>
            )}
          </>
        );
      },
      value: (connection) => connection.state,
    },
    {
      key: 'since',
      title: text('since'),
      cell: ({ since }) => <Time isRelative={true} at={since} />,
      value: ({ since }) => since,
    },
    number('queuedMessages'),
    number('received'),
    number('delivered'),
    number('dropped'),
    number('rejected'),
    {
      key: 'lastRejection',
      title: text('lastRejection'),
      isHidden: true,
      cell: () => null,
      value: ({ lastRejection }) => lastRejection?.reason,
    },
  ];
  if (canChange) {
    columns.push({
      key: 'actions',
      title: text('actions'),
      cell: (connection) => (
        <RowMenu name={connection.name}>
          <button type="button" onClick={() => onEdit(connection.name)}>
            {text('changeOf', { name: connection.name })}
          </button>
          <button type="button" className="danger" onClick={() => setRemoved(connection)}>
            {text('removeOf', { name: connection.name })}
          </button>
        </RowMenu>
      ),
    });
  }
  const connections = state?.connections ?? [];
  const add = canChange && (
    <button type="button" aria-label={text('addConnectionTo', { name: bridge.name })} onClick={() => onEdit(null)}>
      {text('addConnection')}
    </button>
  );
  return (
    <section aria-labelledby={heading}>
      <header className="screen">
        <h2 id={heading}>{bridge.name}</h2>
        <code>{bridge.key}</code>
        <LiveMark isLive={isLive} />
        {connections.length > 0 && add}
      </header>
      {!bridge.isConfigurable && <p className="quiet">{text('byFile')}</p>}
      {state?.isConnected === false && <p className="note">{text('lastKnown')}</p>}
      {state && connections.length === 0 && (
        <Empty icon={Cable} title={text('noConnections')}>
          {add}
        </Empty>
      )}
      {connections.length > 0 && (
        <Table
          label={text('connectionsOf', { name: bridge.name })}
          columns={columns}
          rows={connections}
          keyOf={({ name }) => name}
          isStale={!isLive}
        />
      )}
      {removed && (
        <RemoveConnection brokerId={brokerId} bridge={bridge} connection={removed} onClose={() => setRemoved(null)} />
      )}
    </section>
  );
}
