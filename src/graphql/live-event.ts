import { builder } from './builder.ts';

/** What an event of a subscription says about the state that a subscriber holds. */
export const LiveEventKind = builder.enumType('LiveEventKind', {
  description: 'What an event says about the state that a subscriber holds.',
  values: {
    SNAPSHOT: { description: 'The whole state; replaces what is held.' },
    CHANGE: { description: 'What became different; applied to what is held.' },
    RESUMED: { description: 'Nothing was left out since `after`; the changes since then follow.' },
    GAP: { description: 'The subscriber read too slowly and changes were left out; a SNAPSHOT follows.' },
  } as const,
});

/** Descriptions that all live events share. */
export const EVENT_KIND = 'What to do with the event; fields that do not belong to it are null or empty.';
export const SEQUENCE =
  'Grows by one with each change, from any number; what `after` takes. 0: nobody can go on from this event.';
export const PARTS_LEFT =
  'How many more events a large snapshot goes on for, as CHANGEs; a GAP says 1. What is held is whole after an event with 0.';

/** The argument by which a subscription goes on where an earlier one ended. */
export const resumeArgument = {
  description:
    'The `sequence` of the last event that an earlier subscription had: begins with RESUMED and the changes since then while they are kept, else with a SNAPSHOT.',
};
