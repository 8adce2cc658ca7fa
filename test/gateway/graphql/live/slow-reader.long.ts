import { test } from 'vitest';
import { expectFlatMemoryThenTruth } from './slow-reader.ts';
import type { Transport } from './subscribers.ts';

test.each<Transport>(['WebSocket', 'SSE'])(
  'who stops reading %s for 30 seconds under 5,000 events a second costs no memory, and is then told the truth',
  (transport) => expectFlatMemoryThenTruth(transport, 30_000),
);
