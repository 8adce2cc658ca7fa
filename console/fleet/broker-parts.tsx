import { Link } from 'wouter';
import { Sparkline } from '../charts/sparkline.tsx';
import { ProblemBadge } from '../problems/problem-badge.tsx';
import { useNumbers, useTexts, useTimes } from '../texts/texts.ts';
import { fleetTexts } from './texts.ts';
import type { Shown } from './use-brokers.ts';

interface PartProps {
  readonly broker: Shown;
}

export function State({ broker: { connection, isLive } }: PartProps) {
  const text = useTexts(fleetTexts);
  return (
    <span className={isLive ? `state ${connection.state}` : 'state stale'} title={connection.lastError ?? undefined}>
      {text(connection.state)}
    </span>
  );
}

/** Open problems, which lead to the broker. */
export function Problems({ broker: { id, problemCounts } }: PartProps) {
  const { critical, warning, notice } = problemCounts;
  if (critical + warning + notice === 0) return null;
  return (
    <Link href={`/brokers/${id}`} className="badges">
      <ProblemBadge counts={problemCounts} />
    </Link>
  );
}

const NUMBERS = {
  clients: ({ currentMetrics }: Shown) => currentMetrics?.clients.connected,
  received: ({ currentMetrics }: Shown) => currentMetrics?.rates.publishReceivedPerSecond,
  sent: ({ currentMetrics }: Shown) => currentMetrics?.rates.publishSentPerSecond,
  denied: ({ hour }: Shown) => hour?.refusals.total,
} as const;
export type NumberKey = keyof typeof NUMBERS;

export const numberOf = (broker: Shown, of: NumberKey): number | null => NUMBERS[of](broker) ?? null;

/** A number that the broker published, with its age; grey if it is old. */
export function Published({ broker, of }: PartProps & { readonly of: NumberKey }) {
  const text = useTexts(fleetTexts);
  const timeOf = useTimes();
  const numberText = useNumbers();
  const metrics = broker.currentMetrics;
  const value = numberOf(broker, of);
  return (
    <span
      className={metrics?.isStale === false ? undefined : 'stale'}
      title={metrics ? text('numbersFrom', { time: timeOf(metrics.asOf) }) : undefined}
    >
      {value === null ? '–' : numberText(value)}
    </span>
  );
}

/** Messages that clients published in the last hour. */
export function Hour({ broker: { hour } }: PartProps) {
  const text = useTexts(fleetTexts);
  const numberText = useNumbers();
  if (hour === null) return <span className="sparkline" />;
  return <Sparkline title={text('receivedHour')} values={hour.messagesIn.mean} format={numberText} />;
}
