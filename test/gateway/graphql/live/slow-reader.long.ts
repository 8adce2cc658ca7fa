import { test } from 'vitest';
import { expectFlatMemoryAndGap } from './slow-reader.ts';
import type { Transport } from './subscribers.ts';

test.each<Transport>(['WebSocket', 'SSE'])(
  'a client that stops reading %s for 30 seconds at 5,000 events a second costs no memory, and gets a GAP and the state',
  (transport) => expectFlatMemoryAndGap(transport, 30_000),
);
