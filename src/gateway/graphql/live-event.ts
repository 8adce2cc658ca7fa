import { builder } from './builder.ts';

/** What an event of a subscription says about the state that a subscriber holds. */
const LiveEventKind = builder.enumType('LiveEventKind', {
  description: 'What an event says about the state that a subscriber holds.',
  values: {
    SNAPSHOT: { description: 'The whole state; replaces what is held.' },
    CHANGE: { description: 'What became different; applied to what is held.' },
    RESUMED: { description: 'Nothing was left out since `after`; the changes since then follow.' },
    GAP: { description: 'The subscriber read too slowly and changes were left out; a SNAPSHOT follows.' },
  } as const,
});

/** What all live events say beside their state: see BroadcastEvent. */
interface LiveEvent {
  readonly kind: 'SNAPSHOT' | 'CHANGE' | 'RESUMED' | 'GAP';
  readonly sequence: number;
  readonly partsLeft: number;
  readonly missed?: number;
}

type EventFields<Event> = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], Event>;

/** The fields of every live event; `eventOf` finds the event where more stands beside it. */
export const eventFields = <Event>(t: EventFields<Event>, eventOf: (told: Event) => LiveEvent) => ({
  kind: t.field({
    description: 'What to do with the event; fields that do not belong to it are null or empty.',
    type: LiveEventKind,
    resolve: (told) => eventOf(told).kind,
  }),
  sequence: t.float({
    description:
      'Grows by one with each change, from any number; what `after` takes. 0: nobody can go on from this event.',
    resolve: (told) => eventOf(told).sequence,
  }),
  missed: t.int({
    description: 'GAP: how many changes were left out.',
    nullable: true,
    resolve: (told) => eventOf(told).missed ?? null,
  }),
});

/** For events whose snapshots may come in parts. */
export const partsLeftField = <Event>(t: EventFields<Event>, eventOf: (told: Event) => LiveEvent) => ({
  partsLeft: t.int({
    description:
      'How many more events a large snapshot goes on for, as CHANGEs; a GAP says 1. What is held is whole after an event with 0.',
    resolve: (told) => eventOf(told).partsLeft,
  }),
});

/** The argument by which a subscription goes on where an earlier one ended. */
export const resumeArgument = {
  description:
    'The `sequence` of the last event that an earlier subscription had: begins with RESUMED and the changes since then while they are kept, else with a SNAPSHOT.',
};
