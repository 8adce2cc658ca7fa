import { useEffect, useState } from 'react';
import type { VariablesOf } from '../graph/graphql.ts';
import { useService } from '../graph/service.ts';
import { MESSAGES, PAYLOAD_BYTES } from './message-graph.ts';
import { type FilterStatus, MessageTail, type TailedMessage } from './message-tail.ts';

interface Tail {
  /** Newest first. */
  readonly messages: readonly TailedMessage[];
  readonly filters: readonly FilterStatus[];
}

/** How often the screen follows the messages, in milliseconds. */
const SHOWN_MS = 200;

/** The messages of some topic filters, live. At most `maxRate` per second and filter are received. */
export function useTail(brokerId: string, filters: readonly string[], maxRate: number): Tail {
  const { live } = useService();
  const [tail, setTail] = useState<Tail>({ messages: [], filters: [] });
  const key = JSON.stringify([brokerId, filters, maxRate]);
  useEffect(() => {
    const messages = new MessageTail(filters);
    const stops = filters.map((filter) => {
      const variables: VariablesOf<typeof MESSAGES> = { brokerId, filter, maxRate, maxPayloadBytes: PAYLOAD_BYTES };
      return live.subscribe(
        MESSAGES,
        variables,
        ({ messages: event }) => {
          if (event.sequence > 0) variables.after = event.sequence;
          messages.receive(filter, event, performance.now());
        },
        (error) => messages.fail(filter, messageOf(error)),
      );
    });
    const show = () => setTail({ messages: messages.messages, filters: messages.statuses(performance.now()) });
    show();
    const timer = setInterval(show, SHOWN_MS);
    const unlisten = live.onChange((isOpen) => isOpen || messages.lose());
    return () => {
      clearInterval(timer);
      unlisten();
      for (const stop of stops) stop();
    };
  }, [live, key]);
  return tail;
}

/** Errors of a subscription are those of GraphQL, or an event of the socket. */
function messageOf(error: unknown): string | null {
  const [first] = Array.isArray(error) ? error : [error];
  return first instanceof Object && 'message' in first ? String(first.message) : null;
}
