import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { everyCommandLine, runHere } from '../../support/commands.ts';
import { temporaryFolder } from '../../support/database.ts';
import { describeEngines } from '../../support/engines.ts';
import { PROCESS_ENV } from '../../support/process-env.ts';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

/** They begin with nothing, or use no data. */
const NEED_NO_DATA = ['serve', 'migrate', 'restore', 'doctor'];

const input = fileURLToPath(new URL('../../../package.json', import.meta.url));
const lines = everyCommandLine({ file: input, action: 'publish', email: 'ann@example.com' });
const needData = [
  ...lines.filter(([name = '']) => !NEED_NO_DATA.includes(name)),
  ['migrate', '--to', 'postgresql://127.0.0.1:1/x'],
];

test('the command lines are those of all commands', () => {
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.map(([name]) => name)).toEqual(expect.arrayContaining([...NEED_NO_DATA, 'backup', 'audit', 'secrets']));
});

describe.each(needData.map((args) => [args.join(' '), args] as const))('%s', (_name, args) => {
  test('is refused without data, and creates nothing', async () => {
    const parent = temporaryFolder();
    const folders = [join(parent, 'misspelled'), join(parent, 'empty'), join(input, 'below-a-file')];
    mkdirSync(join(parent, 'empty'));
    for (const DATA_DIR of folders) {
      const { code, out, err } = await runHere(args, { DATA_DIR, LOG_LEVEL: 'silent' });
      expect({ code, out, err }).toEqual({
        code: 1,
        out: '',
        err: `error: There is no data in ${DATA_DIR}. Set DATA_DIR\n`,
      });
    }
    expect([readdirSync(parent), readdirSync(join(parent, 'empty'))]).toEqual([['empty'], []]);
  });
});

describeEngines((engine, postgres) => {
  test('commands are refused with a database that no service has used, and accepted after `migrate`', async () => {
    const DATABASE_URL = engine === 'sqlite' ? '' : await postgres.createDatabase();
    const DATA_DIR = join(temporaryFolder(), 'data');
    const env = { DATA_DIR, DATABASE_URL, SECRET_KEY: 'k'.repeat(32), LOG_LEVEL: 'silent' };
    if (engine === 'postgresql') {
      mkdirSync(DATA_DIR);
      for (const args of needData.filter((each) => each[0] !== 'migrate')) {
        const { code, out, err } = await runHere(args, env);
        expect([code, out, err]).toEqual([
          1,
          '',
          expect.stringMatching(/no data in the database \w+\. Set DATABASE_URL\n$/),
        ]);
      }
      expect(readdirSync(DATA_DIR)).toEqual([]);
    }
    expect(await runHere(['migrate'], env)).toMatchObject({ code: 0, err: '' });
    expect(await runHere(['project', 'list', '--json'], env)).toEqual({ code: 0, out: '[]\n', err: '' });
    if (engine === 'postgresql') {
      const { err } = await runHere(['project', 'list'], { ...env, SECRET_KEY: '' });
      expect(err).toContain(`There is no secret.key in ${DATA_DIR}. Set DATA_DIR or SECRET_KEY`);
    }
    expect(existsSync(join(DATA_DIR, 'secret.key'))).toBe(false);
  });
});

/** Runs a command in a process of its own, with files or pipes. A service gets SIGTERM when it is ready. */
async function runProcess(args: readonly string[], stdio: readonly [number | 'pipe', number | 'pipe'], env: object) {
  const settings = { PORT: '0', EMBEDDED_BROKER: 'off', LOG_FORMAT: 'json' };
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...PROCESS_ENV, ...settings, ...env },
    stdio: ['ignore', ...stdio],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      text += chunk;
      if (args[0] === 'serve' && !child.killed && /is ready|cannot be written/.test(text)) child.kill('SIGTERM');
    });
  const [code] = await once(child, 'close');
  return { code, text };
}

function fullDevice(): number {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  return full;
}

test('results that cannot be written are one sentence and exit code 1, and errors keep their exit code', async () => {
  const env = { DATA_DIR: join(temporaryFolder(), 'data') };
  expect((await runHere(['migrate'], { ...env, LOG_LEVEL: 'silent' })).code).toBe(0);
  const sentence = 'error: The output cannot be written: ENOSPC: no space left on device, write\n';
  for (const args of [['--help'], ['user', 'list']])
    expect(await runProcess(args, [fullDevice(), 'pipe'], env)).toEqual({ code: 1, text: sentence });
  expect(await runProcess(['explode'], ['pipe', fullDevice()], env)).toEqual({ code: 2, text: '' });
  const file = await runHere(['audit', 'export', '--output', '/dev/full'], env);
  expect(file).toMatchObject({ code: 0, out: '' });
});

test('a service goes on without its log, or without the reader of its start message, and stops in order', async () => {
  const env = { DATA_DIR: join(temporaryFolder(), 'data') };
  const unheard = await runProcess(['serve'], ['pipe', fullDevice()], env);
  expect(unheard).toEqual({ code: 0, text: expect.stringContaining('Brokergraph is ready') });
  const { code, text } = await runProcess(['serve'], [fullDevice(), 'pipe'], env);
  expect([code, text]).toEqual([
    1,
    expect.stringMatching(/"level":50.*"msg":"The output cannot be written: ENOSPC[\s\S]*"stopped"/m),
  ]);
  expect(text).not.toContain('    at ');
});
