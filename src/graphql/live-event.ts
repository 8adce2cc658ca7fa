import { builder } from './builder.ts';

/** What an event of a subscription says about the state that a subscriber holds. */
export const LiveEventKind = builder.enumType('LiveEventKind', {
  values: {
    SNAPSHOT: { description: 'The whole state; replaces what is held.' },
    CHANGE: { description: 'What became different; applied to what is held.' },
    RESUMED: { description: 'Nothing was left out since `after`; the changes since then follow.' },
    GAP: { description: 'The subscriber read too slowly and changes were left out; a SNAPSHOT follows.' },
  } as const,
});
