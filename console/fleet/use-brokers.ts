import { useEffect } from 'react';
import { BROKER_STATUS, type BrokerStatusEvent } from '../graph/broker-status.ts';
import { useLive } from '../graph/live.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useQuery } from '../graph/use-query.ts';
import { PAGE } from '../ui/pager.tsx';
import { type FleetView, filterOf } from './fleet-view.ts';
import { BROKERS, type Broker, HOURS, type Hour } from './operations.ts';

/** Numbers of brokers are not live in a list, so they are read again. */
const NUMBERS_MS = 5_000;
const HOURS_MS = 60_000;

/** A broker as the fleet shows it. */
export type Shown = Broker & {
  /** `null`: not known yet. */
  readonly hour: Hour | null;
  /** Whether the state is that of now. */
  readonly isLive: boolean;
  /** Of the certificate that expires first. `null`: the broker has none. */
  readonly daysLeft: number | null;
  /** Of the project. */
  readonly warnDays: number;
};

interface ShownBrokers {
  /** The brokers of the page; `null`: not known yet. */
  readonly brokers: readonly Shown[] | null;
  /** On all pages. */
  readonly total: number;
  readonly page: number;
  readonly error: RefusedError | null;
  readonly renew: () => void;
}

/** A page of the brokers of a project that the view selects, with their live states. */
export function useBrokers(projectId: string, view: FleetView): ShownBrokers {
  const page = view.pageOf(projectId);
  const { orderBy } = view;
  const variables = { id: projectId, first: PAGE, offset: (page - 1) * PAGE, filter: filterOf(view), orderBy };
  const { data, error, renew } = useQuery(BROKERS, variables, NUMBERS_MS);
  const hours = useQuery(HOURS, variables, HOURS_MS);
  const { state, isLive } = useLive(BROKER_STATUS, { projectId }, ({ brokerStatus }) => brokerStatus, apply);
  const found = data?.project;
  const hourOf = new Map(hours.data?.project?.brokers.nodes.map(({ id, metrics }) => [id, metrics]));
  // Another order of the numbers may bring a broker to the page.
  const missing = hours.data && found?.brokers.nodes.filter(({ id }) => !hourOf.has(id)).map(({ id }) => id);
  const missingIds = String(missing ?? '');
  useEffect(() => {
    if (missingIds !== '') hours.renew();
  }, [missingIds]);
  const daysLeft = daysLeftOf(found?.certificates?.nodes ?? []);
  const brokers = found?.brokers.nodes.map((broker) => ({
    ...broker,
    connection: state?.get(broker.id)?.connection ?? broker.connection,
    hour: hourOf.get(broker.id) ?? null,
    isLive,
    daysLeft: daysLeft.get(broker.id) ?? null,
    warnDays: found.problemThresholds.certificateDays,
  }));
  return { brokers: brokers ?? null, total: found?.brokers.totalCount ?? 0, page, error, renew };
}

type Statuses = ReadonlyMap<string, BrokerStatusEvent['brokers'][number]>;

function apply(before: Statuses | null, { brokers }: BrokerStatusEvent): Statuses {
  const statuses = new Map(before);
  for (const broker of brokers) {
    if (broker.isRemoved) statuses.delete(broker.brokerId);
    else statuses.set(broker.brokerId, broker);
  }
  return statuses;
}

interface Certificate {
  readonly daysLeft: number;
  readonly brokers: readonly { readonly id: string }[];
}

/** By the id of the broker. */
function daysLeftOf(certificates: readonly Certificate[]): ReadonlyMap<string, number> {
  const least = new Map<string, number>();
  for (const { daysLeft, brokers } of certificates)
    for (const { id } of brokers) least.set(id, Math.min(daysLeft, least.get(id) ?? Number.POSITIVE_INFINITY));
  return least;
}
