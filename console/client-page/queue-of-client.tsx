import { useBytes } from '../broker/units.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Fact } from '../ui/facts.tsx';
import { Card } from './card.tsx';
import type { ClientNumbers } from './operations.ts';
import { clientTexts } from './texts.ts';

/** Messages that wait for a client. */
export function QueueOfClient({ numbers }: { readonly numbers: ClientNumbers | null }) {
  const text = useTexts(clientTexts);
  const numberText = useNumbers();
  const bytesText = useBytes();
  const count = (value: number | null | undefined, format = numberText) => (value == null ? null : format(value));
  const of = (value: number | null | undefined, limit: number | null | undefined, format = numberText) =>
    value != null && limit != null ? text('of', { value: format(value), limit: format(limit) }) : count(value, format);
  const { queues, inflight } = numbers ?? {};
  const waiting: Fact[] = [
    [text('queuedMessages'), of(queues?.messagesOut, queues?.messagesMax)],
    [text('queuedBytes'), of(queues?.bytesOut, queues?.bytesMax, bytesText)],
    [text('inflightOut'), of(inflight?.messagesOut, inflight?.messagesOutMax ?? inflight?.messagesMax)],
    [text('inflightIn'), of(inflight?.messagesIn, inflight?.messagesInMax ?? inflight?.messagesMax)],
    [text('droppedMessages'), count(numbers?.numDropped)],
  ];
  return <Card title={text('queue')} facts={waiting} />;
}
