import { reasonTexts } from '../advice/reason-texts.ts';
import { protocolName } from '../clients/client-columns.tsx';
import { refusalTexts } from '../refusals/texts.ts';
import { useNumbers, useTexts, useTimes } from '../texts/texts.ts';
import type { ClientEvent, EventGap } from './event-graph.ts';
import { eventTexts } from './texts.ts';

interface EventWords {
  /** What happened, with the number of events that are counted together. */
  readonly kindOf: (event: ClientEvent) => string;
  /** How or why. */
  readonly howOf: (event: ClientEvent) => string;
  /** `isNamed`: with the name of the broker. */
  readonly gapOf: (gap: EventGap, isNamed: boolean) => string;
}

/** Events in words, without links. */
export function useEventWords(): EventWords {
  const text = useTexts(eventTexts);
  const refusalText = useTexts(refusalTexts);
  const reasonText = useTexts(reasonTexts);
  const numberText = useNumbers();
  const timeOf = useTimes();
  return {
    kindOf: ({ kind, count }) =>
      count > 1 ? text('timesCounted', { what: text(kind), count: numberText(count) }) : text(kind),
    howOf: ({ kind, reason, refusal, protocol, listenerPort: port }) => {
      if (refusal !== null) {
        const [what, { topic }] = [refusalText(refusal.kind), refusal];
        return `${topic === null ? what : text('onTopic', { what, topic })}: ${reasonText(refusal.reason)}.`;
      }
      if (kind === 'TAKEN_OVER') return text('newConnection');
      if (kind === 'DISCONNECTED') return text(reason ?? 'reasonUnknown');
      const parts = [protocol && protocolName(protocol), port && text('ofPort', { port })];
      return parts.filter(Boolean).join(', ') || '–';
    },
    gapOf: ({ from, to, reason, broker }, isNamed) =>
      text(isNamed && broker ? 'gapOfBroker' : 'gap', {
        from: timeOf(from),
        to: timeOf(to),
        reason: text(`gap${reason}`),
        broker: broker?.name,
      }),
  };
}

/** The user name. Names that no account has are only in the refusal. */
export const usernameOf = ({ username, refusal }: Pick<ClientEvent, 'username' | 'refusal'>): string | null =>
  username ?? refusal?.username ?? null;
