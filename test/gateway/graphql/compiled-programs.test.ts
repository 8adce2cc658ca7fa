import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { Operation, type OperationContext } from '../../../src/gateway/graphql/operation.ts';
import { Operations } from '../../../src/gateway/graphql/operations.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const CLIENTS =
  'connectedClients { nodes { clientId username numSubscriptions broker { id url connection { state } } } }';
const PROJECTS = `nodes { id name description brokers { nodes { id name ${CLIENTS} } } }`;
const CONDITIONS = ['a', 'b', 'c', 'd'];

/** Runs every variant of one document twice, without credentials. */
async function askAllVariants(operations: Operations, name: string): Promise<void> {
  const variables = CONDITIONS.map((condition) => `$${condition}: Boolean!`).join(', ');
  const optional = CONDITIONS.map((condition) => `${condition}: viewer @include(if: $${condition}) { kind }`).join(' ');
  const operation = await operations.findFor(
    { viewer: null },
    `query ${name}(${variables}) { projects(first: 1) { ${PROJECTS} } ${optional} }`,
  );
  if (!(operation instanceof Operation)) throw operation[0];
  for (let bits = 0; bits < 32; bits++) {
    const chosen = CONDITIONS.map((condition, i) => [condition, (bits & (1 << i)) !== 0]);
    await operation.execute({ viewer: null } as OperationContext, Object.fromEntries(chosen));
  }
}

test('documents that do not repeat do not fill the memory with programs', async () => {
  const operations = new Operations({ schema, preparationMsPerSecond: Infinity });
  const used = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  for (let n = 0; n < 17; n++) await askAllVariants(operations, `First${n}`);
  const full = used();
  // Without eviction the programs would take 13 MB.
  for (let n = 0; n < 10; n++) await askAllVariants(operations, `Next${n}`);
  expect(used() - full).toBeLessThan(9_000_000);
});
