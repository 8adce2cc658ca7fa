import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { nodeRefusal } from '../../src/app/node-version.ts';
import { nodeOf } from '../support/node.ts';

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const { isSupported } = await import(path('scripts/node.mjs'));
const { engines } = JSON.parse(readFileSync(path('package.json'), 'utf8'));

const NODES = {
  true: ['22.12.0', '22.23.5', '24.0.0', '24.20.0', '26.0.0', '28.1.0'],
  false: ['18.20.8', '20.20.2', '22.11.0', '23.11.1', '25.9.0'],
};

test.each(NODES.true.concat(NODES.false))(
  'whether Node %s is supported is the same for npm, the service and the scripts',
  (version) => {
    const isExpected = NODES.true.includes(version);
    expect(isSupported(version, engines.node)).toBe(isExpected);
    expect(nodeRefusal(version)).toEqual(isExpected ? null : expect.stringContaining(`Node ${version}`));
  },
);

test('on Node 20 the command refuses to start, in one sentence that names the versions', async () => {
  const failure = await promisify(execFile)(nodeOf('20'), [path('dist/main.js'), 'serve']).catch((error) => error);
  expect(failure).toMatchObject({ code: 1, stdout: '' });
  expect(failure.stderr).toMatch(/^Brokergraph does not run on Node 20\.\d+\.\d+: [^\n]+\.\n$/);
  expect(failure.stderr).toContain(engines.node);
});
