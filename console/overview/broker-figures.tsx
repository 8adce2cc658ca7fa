import { Link } from 'wouter';
import { useBroker } from '../broker/broker-context.ts';
import { LIVE_NUMBERS, type Numbers } from '../broker/live-numbers.ts';
import { overviewTexts } from '../broker/overview-texts.ts';
import { type Format, useBytes } from '../broker/units.ts';
import { Figures } from '../charts/figures.tsx';
import { useQuery } from '../graph/use-query.ts';
import { unsilenced } from '../problems/open-problems.ts';
import { countsOf, ProblemBadge } from '../problems/problem-badge.tsx';
import { useProjectProblems } from '../problems/project-problems.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Age } from '../ui/age.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { LiveMark } from '../ui/live-mark.tsx';
import { useDurations } from '../ui/use-durations.ts';
import { HOUR } from './metrics-query.ts';

const HOUR_MS = 10_000;

interface BrokerFiguresProps {
  readonly current: Numbers;
  readonly isLive: boolean;
}

/** What a broker does now, as it publishes it, and did in the last hour. */
export function BrokerFigures({ current, isLive }: BrokerFiguresProps) {
  const text = useTexts(overviewTexts);
  const { id } = useBroker();
  const numberText = useNumbers();
  const bytesText = useBytes();
  const durationText = useDurations();
  const { data } = useQuery(HOUR, { id }, HOUR_MS);
  const open = useProjectProblems();
  const problems = unsilenced(open.problems).filter(({ broker }) => broker?.id === id);
  const hour = data?.broker?.metrics;
  const refused = hour?.refusals.total ?? null;
  const { clients, rates, publish, bytes, messages, heap } = current;
  const show = (value: number | null, format: Format = numberText) => (value === null ? '–' : format(value));
  const of = (value: number | null, key: Parameters<typeof text>[0], format: Format = numberText) =>
    value === null ? undefined : text(key, { number: format(value) });
  const joined = (...parts: readonly (string | null | undefined)[]) => parts.filter(Boolean).join(' · ');
  const figures = [
    {
      key: 'clients',
      value: show(clients.connected),
      more: of(clients.total, 'ofSessions'),
      hour: hour?.clients.mean.map((value) => value && Math.round(value)),
    },
    {
      key: 'received',
      value: show(rates.publishReceivedPerSecond),
      more: of(rates.bytesReceivedPerSecond, 'perSecond', bytesText),
      hint: joined(of(publish.received, 'inTotal'), of(bytes.received, 'inTotal', bytesText)),
      hour: hour?.messagesIn.mean,
    },
    {
      key: 'sent',
      value: show(rates.publishSentPerSecond),
      more: of(rates.bytesSentPerSecond, 'perSecond', bytesText),
      hint: joined(of(publish.sent, 'inTotal'), of(bytes.sent, 'inTotal', bytesText)),
      hour: hour?.messagesOut.mean,
    },
    {
      key: 'refused',
      value: refused === null ? '–' : <Link href={`/brokers/${id}/refusals`}>{numberText(refused)}</Link>,
      more: rates.publishDroppedPerSecond ? of(rates.publishDroppedPerSecond, 'dropped') : undefined,
      hint: of(publish.dropped, 'droppedInTotal'),
      hour: hour?.refusals.mean,
    },
    {
      key: 'subscriptions',
      value: show(current.subscriptions),
      more: of(current.sharedSubscriptions, 'shared'),
      hour: hour?.subscriptions.mean,
    },
    {
      key: 'retained',
      value: show(current.retainedMessages),
      hint: of(current.retainedMessages, 'withSys'),
      hour: hour?.retainedMessages.mean,
    },
    {
      key: 'stored',
      value: show(messages.stored),
      more: of(messages.storedBytes, 'size', bytesText),
      hour: hour?.queuedMessages.mean,
    },
    {
      key: 'problems',
      value: problems.length === 0 ? '0' : <ProblemBadge counts={countsOf(problems)} most={3} />,
    },
  ] as const;
  return (
    <section aria-label={text('numbers')}>
      <Figures
        figures={figures.map((figure) => ({ ...figure, title: text(figure.key) }))}
        format={numberText}
        isStale={!isLive || current.isStale}
      />
      <p className="screen">
        {isLive && !current.isStale ? <LiveMark isLive={true} /> : <Age asOf={current.asOf} isStale={true} />}
        <small>
          {joined(
            of(current.uptimeSeconds, 'uptime', durationText),
            current.brokerVersion,
            of(heap.current, 'memory', bytesText),
          )}
        </small>
        <CopyAs document={LIVE_NUMBERS} variables={{ brokerId: id }} />
      </p>
    </section>
  );
}
