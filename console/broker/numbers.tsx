import { useNumbers, useTexts } from '../texts/texts.ts';
import { Age } from '../ui/age.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { useDurations } from '../ui/use-durations.ts';
import { useBroker } from './broker-context.ts';
import { LIVE_NUMBERS, type Numbers } from './live-numbers.ts';
import { overviewTexts } from './overview-texts.ts';
import { type Format, useBytes } from './units.ts';

/** What the broker publishes about itself, as it publishes it. */
export function CurrentNumbers({ current, isLive }: { readonly current: Numbers; readonly isLive: boolean }) {
  const text = useTexts(overviewTexts);
  const { id } = useBroker();
  const numberText = useNumbers();
  const bytesText = useBytes();
  const durationText = useDurations();
  const { clients, rates, publish, messages, heap } = current;
  const show = (value: number | null, format: Format = numberText) => (value === null ? '–' : format(value));
  const of = (value: number | null, key: Parameters<typeof text>[0], format: Format = numberText) =>
    value === null ? undefined : text(key, { number: format(value) });
  const numbers = [
    { key: 'clients', value: show(clients.connected), more: of(clients.total, 'ofSessions') },
    { key: 'received', value: show(rates.publishReceivedPerSecond), more: of(publish.received, 'inTotal') },
    { key: 'sent', value: show(rates.publishSentPerSecond), more: of(publish.sent, 'inTotal') },
    { key: 'dropped', value: show(rates.publishDroppedPerSecond), more: of(publish.dropped, 'inTotal') },
    {
      key: 'bytesReceived',
      value: show(rates.bytesReceivedPerSecond, bytesText),
      more: of(current.bytes.received, 'inTotal', bytesText),
    },
    {
      key: 'bytesSent',
      value: show(rates.bytesSentPerSecond, bytesText),
      more: of(current.bytes.sent, 'inTotal', bytesText),
    },
    { key: 'subscriptions', value: show(current.subscriptions), more: of(current.sharedSubscriptions, 'shared') },
    { key: 'retained', value: show(current.retainedMessages), more: of(current.retainedMessages, 'withSys') },
    { key: 'stored', value: show(messages.stored), more: of(messages.storedBytes, 'size', bytesText) },
    { key: 'memory', value: show(heap.current, bytesText), more: of(heap.maximum, 'atMost', bytesText) },
  ] as const;
  const known = numbers.filter(({ value }) => value !== '–');
  return (
    <section aria-label={text('numbers')}>
      <dl className={isLive && !current.isStale ? 'numbers' : 'numbers stale'}>
        {known.map((number) => (
          <div key={number.key} className="card">
            <dt>{text(number.key)}</dt>
            <dd>
              <strong>{number.value}</strong>
              {number.more !== undefined && <small>{number.more}</small>}
            </dd>
          </div>
        ))}
      </dl>
      <p className="screen">
        {isLive && !current.isStale ? (
          <span className="live">{text('live')}</span>
        ) : (
          <Age asOf={current.asOf} isStale={true} />
        )}
        {current.uptimeSeconds !== null && (
          <small>{text('uptime', { duration: durationText(current.uptimeSeconds) })}</small>
        )}
        <CopyAs document={LIVE_NUMBERS} variables={{ brokerId: id }} />
      </p>
    </section>
  );
}
