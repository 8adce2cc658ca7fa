import { useId } from 'react';
import { Link } from 'wouter';
import { addressOf } from '../graph/addresses.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts, useTimes } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Problem } from '../ui/problem.tsx';

const BROKERS = graphql(`query ProjectBrokers($id: ID!) {
  project(id: $id) {
    brokers(first: 200) {
      nodes {
        id
        name
        metrics {
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

const STATUS = graphql(`subscription BrokerStatus($projectId: ID!, $after: SafeInt) {
  brokerStatus(projectId: $projectId, after: $after) {
    kind
    sequence
    brokers { brokerId isRemoved connection { state lastError since } }
  }
}`);

type StatusEvent = ResultOf<typeof STATUS>['brokerStatus'];
type Statuses = ReadonlyMap<string, StatusEvent['brokers'][number]>;
type Broker = NonNullable<ResultOf<typeof BROKERS>['project']>['brokers']['nodes'][number];

/** Numbers of brokers are not live in a list, so they are read again. */
const NUMBERS_MS = 5_000;

function apply(before: Statuses | null, { brokers }: StatusEvent): Statuses {
  const statuses = new Map(before);
  for (const broker of brokers) {
    if (broker.isRemoved) statuses.delete(broker.brokerId);
    else statuses.set(broker.brokerId, broker);
  }
  return statuses;
}

interface ProjectBrokersProps {
  readonly project: { readonly id: string; readonly name: string };
  /** Only brokers whose name contains it are shown. */
  readonly name: string;
}

export function ProjectBrokers({ project, name }: ProjectBrokersProps) {
  const text = useTexts();
  const heading = useId();
  const { data, error } = useQuery(BROKERS, { id: project.id }, NUMBERS_MS);
  const { state, isLive } = useLive(STATUS, { projectId: project.id }, ({ brokerStatus }) => brokerStatus, apply);
  const found = data?.project;
  const brokers = found?.brokers.nodes ?? [];
  const shown = brokers.filter((broker) => broker.name.toLowerCase().includes(name.toLowerCase()));
  const daysLeft = new Map<string, number>();
  for (const certificate of found?.certificates?.nodes ?? []) {
    for (const { id } of certificate.brokers) {
      daysLeft.set(id, Math.min(certificate.daysLeft, daysLeft.get(id) ?? Number.POSITIVE_INFINITY));
    }
  }
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>{project.name}</h2>
      {data === null && <Problem error={error} />}
      {found && brokers.length === 0 && (
        <>
          <p>{text('noBrokers')}</p>
          <CommandToCopy command={addCommand(project.id)} />
        </>
      )}
      {brokers.length > 0 && shown.length === 0 && <p>{text('noMatch')}</p>}
      {shown.length > 0 && (
        <div className="wide">
          <table>
            <thead>
              <tr>
                <th scope="col">{text('broker')}</th>
                <th scope="col">{text('state')}</th>
                {(['clients', 'received', 'sent', 'refused', 'certificates'] as const).map((column) => (
                  <th key={column} scope="col" className="number">
                    {text(column)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((broker) => (
                <BrokerRow
                  key={broker.id}
                  broker={broker}
                  status={state?.get(broker.id)}
                  isLive={isLive}
                  daysLeft={daysLeft.get(broker.id)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

interface BrokerRowProps {
  readonly broker: Broker;
  readonly status: StatusEvent['brokers'][number] | undefined;
  readonly isLive: boolean;
  readonly daysLeft: number | undefined;
}

function BrokerRow({ broker: { id, name, metrics, refusals }, status, isLive, daysLeft }: BrokerRowProps) {
  const text = useTexts();
  const timeOf = useTimes();
  const from = metrics ? text('numbersFrom', { time: timeOf(metrics.asOf) }) : undefined;
  const numbers = [
    metrics?.clients.connected,
    metrics?.rates.publishReceivedPerSecond?.toFixed(1),
    metrics?.rates.publishSentPerSecond?.toFixed(1),
  ];
  return (
    <tr>
      <th scope="row">{name}</th>
      <td
        className={isLive ? `state ${status?.connection.state}` : 'state stale'}
        title={status?.connection.lastError ?? undefined}
      >
        {status ? text(status.connection.state) : '–'}
      </td>
      {numbers.map((number, column) => (
        <td key={column} className={metrics?.isStale === false ? 'number' : 'number stale'} title={from}>
          {number ?? '–'}
        </td>
      ))}
      <td className="number">{refusals ? <Link href={`/refusals/${id}`}>{refusals.totalCount}</Link> : '–'}</td>
      <td className="number">{daysLeft === undefined ? '–' : text('daysLeft', { days: daysLeft })}</td>
    </tr>
  );
}

const addCommand = (projectId: string): string =>
  `curl ${addressOf(`api/projects/${projectId}/brokers`)} -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' -d '{ "name": "plant", "url": "mqtt://broker.example.com:1883" }'`;
