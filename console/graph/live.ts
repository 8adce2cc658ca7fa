import type { TadaDocumentNode } from 'gql.tada';
import { useEffect, useState } from 'react';
import { type Service, useService } from './service.ts';

/** The fields that all events of subscriptions have. */
interface LiveEvent {
  readonly kind: 'SNAPSHOT' | 'CHANGE' | 'GAP' | 'RESUMED';
  readonly sequence: number;
  /** Number of further events of the same snapshot. Subscriptions whose snapshots have one part do not have it. */
  readonly partsLeft?: number;
}

export interface Live<State> {
  /** `null` until the first snapshot. */
  readonly state: State | null;
  /** Whether the state is that of now: not without a connection, nor from a gap to the last part of a snapshot. */
  readonly isLive: boolean;
}

/** How events become a state. */
interface Followed<Data, Event, State> {
  readonly eventOf: (data: Data) => Event;
  /** Gets SNAPSHOT and CHANGE; the others concern only `isLive`. */
  readonly apply: (state: State | null, event: Event) => State;
  /** Receives each change of the state. */
  readonly onChange: (change: (before: Live<State>) => Live<State>) => void;
}

/**
 * The state that a subscription describes. `apply` gets SNAPSHOT and CHANGE; the others concern only `isLive`. After a
 * lost connection, or when the service has ended the subscription, it resumes at the last event.
 */
export function useLive<Data, Variables extends Record<string, unknown>, Event extends LiveEvent, State>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  eventOf: (data: Data) => Event,
  apply: (state: State | null, event: Event) => State,
): Live<State> {
  const [live, setLive] = useState<Live<State>>({ state: null, isLive: false });
  // Variables are created at each rendering, so they are compared by their text.
  const key = JSON.stringify(variables);
  const { live: connection } = useService();
  useEffect(() => follow(connection, document, variables, { eventOf, apply, onChange: setLive }), [connection, key]);
  return live;
}

/** Follows a subscription as `useLive` does, for components with any number of them. Returns how to stop. */
export function follow<Data, Variables extends Record<string, unknown>, Event extends LiveEvent, State>(
  connection: Service['live'],
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  { eventOf, apply, onChange }: Followed<Data, Event, State>,
): () => void {
  const resumable: Variables & { after?: number } = { ...variables };
  const receive = (data: Data) => {
    const event = eventOf(data);
    if (event.sequence > 0) resumable.after = event.sequence;
    if (event.kind === 'GAP') onChange(({ state }) => ({ state, isLive: false }));
    else if (event.kind === 'RESUMED') onChange(({ state }) => ({ state, isLive: true }));
    else {
      const isLive = (event.partsLeft ?? 0) === 0;
      onChange(({ state }) => ({ state: apply(event.kind === 'SNAPSHOT' ? null : state, event), isLive }));
    }
  };
  const lose = () => onChange(({ state }) => ({ state, isLive: false }));
  const stops = [
    connection.subscribe(document, resumable, receive, lose),
    connection.onChange((isOpen) => isOpen || lose()),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
