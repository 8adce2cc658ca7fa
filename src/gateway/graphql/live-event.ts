import type { OutputFields } from './builder.ts';
import { describedEnum } from './described-enum.ts';

const LiveEventKind = describedEnum('LiveEventKind', 'How a subscriber applies an event to its state.', {
  SNAPSHOT: 'The complete state, which replaces the state of the subscriber.',
  CHANGE: 'A difference, which the subscriber applies to its state.',
  RESUMED: 'No change since `after` was missed. The changes since then follow.',
  GAP: 'The subscriber read too slowly, so changes were left out. A SNAPSHOT follows.',
});

/** Fields of all live events; see BroadcastEvent. */
interface LiveEvent {
  readonly kind: 'SNAPSHOT' | 'CHANGE' | 'RESUMED' | 'GAP';
  readonly sequence: number;
  readonly partsLeft: number;
  readonly missed?: number;
}

export const eventFields = <Event>(t: OutputFields<Event>, eventOf: (parent: Event) => LiveEvent) => ({
  kind: t.field({
    description: 'How to apply the event. Fields that do not belong to its kind are null or empty.',
    type: LiveEventKind,
    resolve: (parent) => eventOf(parent).kind,
  }),
  sequence: t.field({
    type: 'SafeInt',
    description:
      'Number for `after`. It starts at random and grows by one with each change. 0 if a subscription cannot resume from this event.',
    resolve: (parent) => eventOf(parent).sequence,
  }),
  missed: t.int({
    description: 'GAP: number of changes that were left out.',
    nullable: true,
    resolve: (parent) => eventOf(parent).missed ?? null,
  }),
});

export const partsLeftField = <Event>(t: OutputFields<Event>, eventOf: (parent: Event) => LiveEvent) => ({
  partsLeft: t.int({
    description:
      'Number of further CHANGE events that belong to a large snapshot; 1 for a GAP. The state is complete after an event with 0.',
    resolve: (parent) => eventOf(parent).partsLeft,
  }),
});

export const resumeArgument = {
  type: 'SafeInt',
  description:
    'The `sequence` of the last event of an earlier subscription. If the changes since then are still stored, the subscription starts with RESUMED and these changes, otherwise with a SNAPSHOT.',
} as const;

/** The description of a subscription with `resumeArgument`. */
export const resumable = (description: string): string =>
  `${description} To miss nothing after a reconnect, pass the last \`sequence\` that is not 0 as \`after\`, with the same other arguments.`;
