import { useId, useState } from 'react';
import { Link } from 'wouter';
import { AddBroker } from '../broker/add-broker.tsx';
import { RunBroker } from '../broker/run-broker.tsx';
import { addressOf } from '../graph/addresses.ts';
import { BROKER_STATUS, type BrokerStatusEvent } from '../graph/broker-status.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts, useTimes } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Problem } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { fleetTexts } from './texts.ts';

const BROKERS = graphql(`query ProjectBrokers($id: ID!, $first: Int!) {
  project(id: $id) {
    brokers(first: $first) {
      totalCount
      nodes {
        id
        name
        currentMetrics {
          asOf
          isStale
          clients { connected }
          rates { publishReceivedPerSecond publishSentPerSecond }
        }
        refusals(first: 1) { totalCount }
      }
    }
    certificates(first: 100) { nodes { daysLeft brokers { id } } }
  }
}`);

type Statuses = ReadonlyMap<string, BrokerStatusEvent['brokers'][number]>;
type Broker = NonNullable<ResultOf<typeof BROKERS>['project']>['brokers']['nodes'][number];

type Metrics = NonNullable<Broker['currentMetrics']>;

/** The service warns of certificates that expire within these days. */
const SOON_DAYS = 14;
/** Brokers that are shown at first, and that each click adds. */
const PAGE = 200;
/** Numbers of brokers are not live in a list, so they are read again. */
const NUMBERS_MS = 5_000;

function apply(before: Statuses | null, { brokers }: BrokerStatusEvent): Statuses {
  const statuses = new Map(before);
  for (const broker of brokers) {
    if (broker.isRemoved) statuses.delete(broker.brokerId);
    else statuses.set(broker.brokerId, broker);
  }
  return statuses;
}

interface ProjectBrokersProps {
  readonly project: { readonly id: string; readonly name: string; readonly viewerCanAddBrokers: boolean };
  /** Only brokers whose name contains it are shown. */
  readonly name: string;
}

export function ProjectBrokers({ project, name }: ProjectBrokersProps) {
  const text = useTexts(fleetTexts);
  const timeOf = useTimes();
  const numberText = useNumbers();
  const heading = useId();
  const [first, setFirst] = useState(PAGE);
  const { data, error, renew } = useQuery(BROKERS, { id: project.id, first }, NUMBERS_MS);
  const { state, isLive } = useLive(
    BROKER_STATUS,
    { projectId: project.id },
    ({ brokerStatus }) => brokerStatus,
    apply,
  );
  const found = data?.project;
  const brokers = found?.brokers.nodes ?? [];
  const shown = brokers.filter((broker) => broker.name.toLowerCase().includes(name.toLowerCase()));
  const daysLeft = new Map<string, number>();
  for (const certificate of found?.certificates?.nodes ?? []) {
    for (const { id } of certificate.brokers) {
      daysLeft.set(id, Math.min(certificate.daysLeft, daysLeft.get(id) ?? Number.POSITIVE_INFINITY));
    }
  }
  const apart = [...(state?.values() ?? [])].filter(({ connection }) => connection?.state !== 'CONNECTED').length;
  const stateOf = ({ id }: Broker) => state?.get(id)?.connection;
  const number = (key: 'clients' | 'received' | 'sent', numberOf: (metrics: Metrics) => number | null | undefined) => ({
    key,
    title: text(key),
    isNumber: true,
    cell: ({ currentMetrics: metrics }: Broker) => (
      <span
        className={metrics?.isStale === false ? undefined : 'stale'}
        title={metrics ? text('numbersFrom', { time: timeOf(metrics.asOf) }) : undefined}
      >
        {format(metrics && numberOf(metrics))}
      </span>
    ),
    value: ({ currentMetrics: metrics }: Broker) => metrics && numberOf(metrics),
  });
  const format = (value: number | null | undefined) => (value == null ? '–' : numberText(value));
  const columns: Column<Broker>[] = [
    {
      key: 'broker',
      title: text('broker'),
      cell: ({ id, name: title }) => <Link href={`/brokers/${id}`}>{title}</Link>,
      value: ({ name: title }) => title,
    },
    {
      key: 'state',
      title: text('state'),
      cell: (broker) => {
        const connection = stateOf(broker);
        if (!connection) return '–';
        const className = isLive ? `state ${connection.state}` : 'state stale';
        return (
          <span className={className} title={connection.lastError ?? undefined}>
            {text(connection.state)}
          </span>
        );
      },
      value: (broker) => stateOf(broker)?.state,
    },
    number('clients', ({ clients }) => clients.connected),
    number('received', ({ rates }) => rates.publishReceivedPerSecond),
    number('sent', ({ rates }) => rates.publishSentPerSecond),
    {
      key: 'refused',
      title: text('refused'),
      isNumber: true,
      cell: ({ id, refusals }) =>
        refusals ? <Link href={`/brokers/${id}/refusals`}>{numberText(refusals.totalCount)}</Link> : '–',
      value: ({ refusals }) => refusals?.totalCount,
    },
    {
      key: 'certificates',
      title: text('certificates'),
      isNumber: true,
      cell: ({ id }) => {
        const days = daysLeft.get(id);
        if (days === undefined) return '–';
        return (
          <Link href={`/projects/${project.id}/certificates`} className={days < SOON_DAYS ? 'soon' : undefined}>
            {text('daysLeft', { days })}
          </Link>
        );
      },
      value: ({ id }) => daysLeft.get(id),
    },
  ];
  return (
    <section aria-labelledby={heading}>
      <header className="screen">
        <h2 id={heading}>
          <Link href={`/projects/${project.id}`}>{project.name}</Link>
        </h2>
        {found && isLive && apart > 0 && (
          <span className="state UNREACHABLE">
            {text('notConnected', { count: apart, total: found.brokers.totalCount })}
          </span>
        )}
        {project.viewerCanAddBrokers && (
          <div className="buttons">
            <RunBroker project={project} />
            <AddBroker project={project} onAdded={renew} />
          </div>
        )}
      </header>
      {data === null && <Problem error={error} />}
      {found && brokers.length === 0 && (
        <>
          <p>{text('noBrokers')}</p>
          <CommandToCopy command={addCommand(project.id)} />
        </>
      )}
      {found && found.brokers.totalCount > brokers.length && (
        <p>
          {text('shownOf', { shown: brokers.length, total: found.brokers.totalCount })}{' '}
          <button type="button" onClick={() => setFirst(first + PAGE)}>
            {text('more')}
          </button>
        </p>
      )}
      {brokers.length > 0 && shown.length === 0 && <p>{text('noMatch')}</p>}
      {shown.length > 0 && (
        <Table
          label={text('brokersOf', { project: project.name })}
          columns={columns}
          rows={shown}
          keyOf={({ id }) => id}
        />
      )}
    </section>
  );
}

const addCommand = (projectId: string): string =>
  `curl ${addressOf(`api/projects/${projectId}/brokers`)} -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' -d '{ "name": "plant", "url": "mqtt://broker.example.com:1883" }'`;
