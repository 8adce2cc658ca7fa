import { Link } from 'wouter';
import { isNumber } from '../charts/line.ts';
import type { Values } from '../charts/path.ts';
import { Sparkline } from '../charts/sparkline.tsx';
import { ProblemBadge } from '../problems/problem-badge.tsx';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { WithTooltip } from '../ui/as-sent.tsx';
import { Hint } from '../ui/hint.tsx';
import { useZonedTimes } from '../ui/use-zone.ts';
import type { Hour as Measured } from './operations.ts';
import { fleetTexts } from './texts.ts';
import type { Shown } from './use-brokers.ts';

interface PartProps {
  readonly broker: Shown;
}

export function State({ broker: { connection, isLive } }: PartProps) {
  const text = useTexts(fleetTexts);
  return (
    <WithTooltip className={isLive ? `state ${connection.state}` : 'state stale'} tooltip={connection.lastError}>
      {text(connection.state)}
    </WithTooltip>
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

/** What the totals of all brokers count, too: the last value of the last hour. */
const MEASURED: Readonly<Record<NumberKey, (hour: Measured) => Values | null>> = {
  clients: ({ clients }) => clients.mean.map((value) => value && Math.round(value)),
  received: ({ messagesIn }) => messagesIn.mean,
  sent: ({ messagesOut }) => messagesOut.mean,
  denied: () => null,
};

export const numberOf = (broker: Shown, of: NumberKey): number | null =>
  NUMBERS[of](broker) ?? (broker.hour && MEASURED[of](broker.hour)?.findLast(isNumber)) ?? null;

/** A number that the broker published, with its age; grey if it is old. */
export function Published({ broker, of }: PartProps & { readonly of: NumberKey }) {
  const text = useTexts(fleetTexts);
  const timeOf = useZonedTimes();
  const numberText = useNumbers();
  const metrics = broker.currentMetrics;
  const value = numberOf(broker, of);
  if (value === null) return <Unknown broker={broker} />;
  const isOld = NUMBERS[of](broker) == null;
  const asOf = metrics && !isOld ? text('numbersFrom', { time: timeOf(metrics.asOf) }) : text('numbersOfHour');
  return (
    <span className={isOld || metrics?.isStale ? 'stale' : undefined} title={asOf}>
      {numberText(value)}
    </span>
  );
}

/** That a number is not known, and why. */
export function Unknown({ broker: { connection, currentMetrics } }: PartProps) {
  const text = useTexts(fleetTexts);
  const isReached = connection.state === 'CONNECTED';
  const why = isReached ? (currentMetrics ? 'notMeasured' : 'notPublished') : 'notReached';
  return <Hint text={text(why)}>–</Hint>;
}

/** Messages that clients published in the last hour. */
export function Hour({ broker: { hour } }: PartProps) {
  const text = useTexts(fleetTexts);
  const numberText = useNumbers();
  if (hour === null) return <span className="sparkline" />;
  return <Sparkline title={text('receivedHour')} values={hour.messagesIn.mean} format={numberText} />;
}
