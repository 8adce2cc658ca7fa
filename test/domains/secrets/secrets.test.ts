import { isInputObjectType, isObjectType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { SETTINGS } from '../../../src/platform/config/settings.ts';
import { startOidc } from '../../support/oidc.ts';
import { hasSlapd, startSlapd } from '../../support/slapd.ts';
import { PlantedSecrets } from './planted-secrets.ts';
import { type RecordedService, startRecordedService } from './recorded-service.ts';
import { directorySteps, SECRET_STEPS, type SecretStep, SIGN_IN_STEPS } from './secret-steps.ts';

const SECRET_SETTINGS = Object.values(SETTINGS).flatMap((row) => ('secret' in row ? [row.env] : []));

/** Takes the steps with the first broker of the service; all that did not go as they should. */
async function take(steps: readonly SecretStep[], service: RecordedService): Promise<string[]> {
  const { storage, services } = service;
  const { id } = await storage.db.broker.findFirstOrThrow({ where: { engine: 'embedded' } });
  const listener = services.cloudBrokers.listenersOf(id)?.find(({ protocol, tls }) => protocol === 'MQTT' && !tls);
  const world = { ...service, brokerId: id, mqttUrl: `mqtt://127.0.0.1:${listener?.port}` };
  await expect.poll(() => services.runtimes.isConnected(id)).toBe(true);
  const failed: string[] = [];
  for (const { name, run } of steps) {
    await run(world).catch((error: Error) => failed.push(`${name}: ${error.stack}`));
  }
  return failed;
}

/** What says again what was done. */
async function tellAll({ graph, http, cli, record }: RecordedService): Promise<void> {
  await http('GET', '/metrics');
  await http('GET', '/api/openapi.json');
  const AUDIT = '{ auditEvents(first: 500) { nodes { actorName operation before after result code } } }';
  const { data } = await graph(AUDIT);
  expect(data.auditEvents.nodes.length).toBeGreaterThan(3);
  expect((await http('GET', '/audit.jsonl')).status).toBe(200);
  expect((await cli(['audit', 'export'])).code).toBe(0);
  record('all users', JSON.stringify(await graph('{ users(first: 100) { nodes { id email name hasSecondFactor } } }')));
}

describe('no secret is in a line of the log, an answer, an error, a row, a file or what is printed', () => {
  test('of a service whose people have passwords', async () => {
    const service = await startRecordedService(() => ({ TOKEN_IN_QUERY: 'on' }));
    expect(await take(SECRET_STEPS, service)).toEqual([]);
    await tellAll(service);
    expect(service.secrets.names.length).toBeGreaterThan(100);
    expect(await service.leaks()).toEqual([]);
  });

  test('of a service whose people sign in elsewhere', async () => {
    const oidc = await startOidc();
    oidc.people.set('ada', { email: 'ada@example.com', email_verified: true, groups: ['staff'] });
    const grace = { uid: 'grace', cn: 'Grace Hopper', mail: ['grace@example.com'] };
    const directory = hasSlapd ? await startSlapd([grace], { staff: ['grace'] }) : null;
    const service = await startRecordedService((_plant, secrets) => {
      const env: Record<string, string> = { ...oidc.env, ...directory?.env, LOCAL_LOGIN: 'off' };
      for (const name of SECRET_SETTINGS) if (env[name] !== undefined) secrets.know(name, env[name]);
      return env;
    });
    oidc.serve(service.url);
    const steps = directory === null ? [] : directorySteps(directory.stop);
    expect(await take([...SIGN_IN_STEPS, ...steps], service)).toEqual([]);
    await tellAll(service);
    expect(await service.leaks()).toEqual([]);
  });
});

/** Their names look like it, and they are none: partitions of streams, names of accounts, codes of errors. */
const NO_SECRET =
  /(Stream(Input)?|Bridge)\.key$|\.bridgeKey$|\.(need|keep)Password$|(Error|FailedListener|AuditEvent)\.code$/;

const LOOKS_SECRET = /password$|secret$|token$|^code$|codes$|key$|privatekey$|verifier$/i;

test('each field of the graph that has a secret in it, and each such setting, is tried by a step', () => {
  const all = [...SECRET_STEPS, ...SIGN_IN_STEPS, ...directorySteps(async () => {})];
  const covered = new Set(all.flatMap(({ covers = [] }) => covers));
  const fields = Object.values(schema.getTypeMap()).flatMap((type) => {
    if (type.name.startsWith('__') || !(isInputObjectType(type) || isObjectType(type))) return [];
    return Object.entries(type.getFields())
      .filter(([name, { type: held }]) => LOOKS_SECRET.test(name) && /^\W*(String|JSON)\W*$/.test(String(held)))
      .map(([name]) => `${type.name}.${name}`);
  });
  expect([...fields, ...SECRET_SETTINGS].filter((name) => !covered.has(name) && !NO_SECRET.test(name))).toEqual([]);
});

describe('what is looked for', () => {
  const secrets = new PlantedSecrets();
  const planted = secrets.plant('a password');
  const made = secrets.know('a token', 'bgs_0123456789abcdef');
  const forms = (text: string, tells: readonly string[] = []) => [
    ...new Set(secrets.leaksIn('here', text, tells).map(({ form }) => form)),
  ];

  test('is found inside other text, in pieces, and encoded together with other text', () => {
    expect(forms(`{"password":"${planted}"}`)).toEqual(['plain']);
    expect(forms(`Unexpected token, "..."${planted.slice(3, 24)}"... is not valid JSON`)).toEqual(['plain']);
    for (const before of ['', 'u', 'ad', 'adm', 'admin:']) {
      expect(forms(Buffer.from(`${before}${planted}`).toString('base64'))).toEqual(['base64']);
    }
    expect(forms(Buffer.from(planted).toString('hex'))).toEqual(['hex']);
    expect(forms(planted.toLowerCase())).toEqual(['lower case']);
    expect(forms(`token ${made}.`)).toEqual(['a token']);
  });

  test('is not a secret that is returned once on purpose, nor another text', () => {
    expect(forms(`{"token":"${made}"}`, [made])).toEqual([]);
    expect(forms('a password of 8 characters')).toEqual([]);
  });
});
