import { MonitorSmartphone } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useBroker, useIsReached } from '../broker/broker-context.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { LiveMark } from '../ui/live-mark.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { BulkDisconnect } from './bulk-disconnect.tsx';
import { clientPath } from './client-address.ts';
import { useClientColumns } from './client-columns.tsx';
import { ClientGrid } from './client-grid.tsx';
import { CsvExport } from './csv-export.tsx';
import { DeleteSessions } from './delete-sessions.tsx';
import { EndClient } from './end-client.tsx';
import { FilterForm } from './filter-form.tsx';
import { CLIENTS, type ClientRow, MAY } from './operations.ts';
import { PAGE_ROWS, type Rows } from './row-cache.ts';
import { useSelection } from './selection.ts';
import { subscribeCommand } from './subscribe-command.ts';
import { clientsTexts } from './texts.ts';
import { useRates } from './use-rates.ts';
import { useRows } from './use-rows.ts';
import './style.css';

/** The connected clients and persistent sessions of a broker, live. */
export function ClientList() {
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  const { id: brokerId, name, url } = useBroker();
  const isReached = useIsReached();
  const { selection, values, set } = useSelection();
  const { rows, error, connectedCount, isLive, show } = useRows(brokerId, selection);
  const { data: may } = useQuery(MAY, { id: brokerId });
  const mayControl = may?.broker?.viewerCanControlClients === true;
  const [isDisconnecting, setDisconnecting] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  /** The client that is to be disconnected, or whose session is to be deleted. */
  const [ended, setEnded] = useState<ClientRow | null>(null);
  const rates = useRates(brokerId);
  const columns = useClientColumns(brokerId, selection.withDrops, rates, mayControl && isReached ? setEnded : null);
  const totalCount = rows?.page.totalCount ?? 0;
  const kicked = connectedCount ?? totalCount;
  const isFiltered = Object.keys(selection.filter).length > 0;
  const canDisconnect = mayControl && selection.filter.isConnected !== false;
  const offline = selection.filter.isConnected === true ? 0 : totalCount - (connectedCount ?? 0);
  return (
    <>
      <FilterForm brokerId={brokerId} values={values} />
      {rows && <Refusal error={error} />}
      {!rows && <Problem error={error} />}
      {rows && (
        <>
          {rows.page.undecidedCount > 0 && (
            <p className="note">{text('undecided', { count: numberText(rows.page.undecidedCount) })}</p>
          )}
          {!rows.page.isComplete && rows.page.undecidedCount === 0 && (
            <p className="note">
              {text('incomplete')} <Time at={rows.page.since} />
            </p>
          )}
          <div className="bar">
            <strong role="status">
              {connectedCount === null || selection.filter.isConnected != null
                ? text('matching', { total: numberText(totalCount) })
                : text('matchingConnected', {
                    total: numberText(totalCount),
                    connected: numberText(connectedCount),
                  })}
            </strong>
            <LiveMark isLive={isLive && isReached} />
            <span className="space" />
            {canDisconnect && isReached && totalCount > 0 && connectedCount !== 0 && (
              <button type="button" className={isFiltered ? 'danger' : 'ghost'} onClick={() => setDisconnecting(true)}>
                {kicked === 1 ? text('disconnectOne') : text('disconnectThese', { count: numberText(kicked) })} …
              </button>
            )}
            {mayControl && isReached && offline > 0 && (
              <button type="button" className={isFiltered ? 'danger' : 'ghost'} onClick={() => setDeleting(true)}>
                {text('deleteOffline')} …
              </button>
            )}
            {totalCount > 0 && (
              <CsvExport
                key={JSON.stringify(selection)}
                brokerId={brokerId}
                name={text('fileName', { broker: name })}
                selection={selection}
                columns={columns}
              />
            )}
            <CopyAs document={CLIENTS} variables={{ id: brokerId, ...selection, first: PAGE_ROWS }} />
          </div>
          {isFiltered && totalCount === 0 && (
            <p>
              {text('noMatch')}{' '}
              {selection.filter.value && (
                <Link href={clientPath(brokerId, selection.filter.value)}>
                  {text('lookUp', { client: selection.filter.value })}
                </Link>
              )}
            </p>
          )}
          {!isFiltered && isReached && hasOwnOnly(rows) && (
            <Empty icon={MonitorSmartphone} title={text('noClients')}>
              <CommandToCopy command={subscribeCommand(url)} />
            </Empty>
          )}
          {totalCount > 0 && (
            <ClientGrid
              brokerId={brokerId}
              rows={rows}
              columns={columns}
              order={selection.orderBy}
              onOrder={({ field, order }) => set({ sort: field === 'CLIENT_ID' ? '' : field, order: orderText(order) })}
              onVisible={show}
              listKey={JSON.stringify(selection)}
              isStale={!isLive || !isReached}
            />
          )}
          {totalCount > 0 && rates !== null && <p className="quiet">{text('ratesSource')}</p>}
        </>
      )}
      {isDisconnecting && (
        <BulkDisconnect
          brokerId={brokerId}
          title={text('disconnectSelected')}
          filter={selection.filter}
          totalCount={totalCount}
          connectedCount={connectedCount}
          onClose={() => setDisconnecting(false)}
        />
      )}
      {isDeleting && (
        <DeleteSessions
          brokerId={brokerId}
          title={text('deleteOffline')}
          filter={selection.filter}
          onClose={() => setDeleting(false)}
        />
      )}
      {ended && (
        <EndClient
          brokerId={brokerId}
          clientId={ended.clientId}
          isConnected={ended.isConnected === true}
          onClose={() => setEnded(null)}
        />
      )}
    </>
  );
}

/** Whether no client is connected but the service itself, which has a few connections. */
const hasOwnOnly = ({ page: { totalCount }, at }: Rows): boolean =>
  totalCount < MAX_OWN && Array.from({ length: totalCount }, (_, index) => at(index)).every((row) => row?.isGateway);

const MAX_OWN = 10;

const orderText = (order: 'ASC' | 'DESC'): string => (order === 'ASC' ? '' : order);
