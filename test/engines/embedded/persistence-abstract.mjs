/** aedes-persistence's own suite, run by node:test against the built persistence; `persistence.test.ts` starts it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import abstractPersistence from 'aedes-persistence/abstract.js';
import { DEFAULT_STORE_LIMITS } from '../../../dist/engines/embedded/limits.js';
import { BrokerStore } from '../../../dist/engines/embedded/store/broker-store.js';
import { Persistence } from '../../../dist/engines/embedded/store/persistence.js';

const root = mkdtempSync(join(tmpdir(), 'persistence-'));
after(() => rmSync(root, { recursive: true, force: true }));

abstractPersistence({
  test,
  testAsync: true,
  persistence: () =>
    new Persistence(
      new BrokerStore({
        folder: mkdtempSync(join(root, 'broker-')),
        limits: DEFAULT_STORE_LIMITS,
        onBroken: (error) => {
          throw error;
        },
      }),
      () => true,
    ),
});
