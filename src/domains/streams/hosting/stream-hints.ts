import { isFields } from '../../../protocol/control/fields.ts';
import type { EventHints } from '../../../protocol/hosting/hosted-hints.ts';
import { STREAM_CHANGED } from '../control/stream-control.ts';

/** Whose report changed. */
export const streamHints: EventHints = {
  hintOf: ({ streamname }) => (typeof streamname === 'string' && streamname !== '' ? streamname : null),
  question: (name) =>
    name === null ? { command: 'listStreams', verbose: true } : { command: 'getStream', streamname: name },
  eventsOf: (answer) => {
    if (!isFields(answer)) return [];
    const streams: unknown[] = Array.isArray(answer.streams) ? answer.streams : [answer.stream];
    return streams
      .filter(isFields)
      .map(({ streamname, report }) => ({ type: 'event', event: STREAM_CHANGED, streamname, report }));
  },
};
