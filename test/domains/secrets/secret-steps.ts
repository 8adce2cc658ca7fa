import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { TOTP } from 'otpauth';
import { expect } from 'vitest';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { createSelfSigned } from '../../support/certificates.ts';
import { temporaryFolder } from '../../support/database.ts';
import type { GraphqlAnswer } from '../../support/service.ts';
import { LDAP_PASSWORD } from '../../support/slapd.ts';
import { WebVisitor } from '../sign-in/web-visitor.ts';
import { type RecordedService, ROOT } from './recorded-service.ts';

/**
 * Each step gives secrets to the service, or lets it create some, and asserts success or failure. A new feature with
 * secrets gets a step here. `covers`: the settings, and the fields of inputs and payloads, with secrets in this step.
 */
export interface SecretStep {
  readonly name: string;
  readonly covers?: readonly string[];
  readonly run: (world: World) => Promise<void>;
}

interface World extends RecordedService {
  readonly brokerId: string;
  /** Where the broker of this service listens. */
  readonly mqttUrl: string;
}

const ok = ({ data, errors }: GraphqlAnswer) => {
  expect(errors).toBeUndefined();
  return data;
};
const refused = ({ errors }: GraphqlAnswer, code: string) => expect(errors?.[0]?.extensions.code).toBe(code);

const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { token } }';
const CREATE_USER = 'mutation ($i: CreateUserInput!) { createUser(input: $i) { user { id } } }';
const CREATE_TOKEN = 'mutation ($i: CreateTokenInput!) { createToken(input: $i) { secret token { id } } }';
const ADD_BROKER = 'mutation ($i: AddBrokerInput!) { addBroker(input: $i) { broker { id url } } }';
const UPDATE_BROKER = 'mutation ($i: UpdateBrokerInput!) { updateBroker(input: $i) { broker { id } } }';
const CREATE_CLIENT =
  'mutation ($i: CreateAccountInput!) { createAccount(input: $i) { outcome error { message } account { username } } }';
const BRIDGE =
  'mutation ($i: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $i) { bridge { isActive config status } } }';
const CREATE_CHANNEL = `mutation ($i: CreateNotificationChannelInput!) { createNotificationChannel(input: $i) {
  notificationChannel { id webhook { origin headerNames credentialNames template } deliveries { nodes { error } } } } }`;
const TEST_BROKER =
  'mutation ($i: TestBrokerInput!) { testBroker(input: $i) { connection { state lastError } deniedFilters } }';
const TEST_CHANNEL = `mutation ($i: TestNotificationChannelInput!) { testNotificationChannel(input: $i) {
  isDelivered responseStatus response error } }`;
const PERSON = 'person@example.com';

/** With TOKEN_IN_QUERY. */
export const SECRET_STEPS: readonly SecretStep[] = [
  {
    name: 'log-ins that succeed and fail',
    covers: ['LoginInput.password', 'LoginPayload.token', 'ROOT_PASSWORD', 'SECRET_KEY'],
    run: async ({ graph, plant, secrets }) => {
      const told = (data: { login?: { token: string } }) =>
        data.login ? [secrets.know('session', data.login.token)] : [];
      const login = (email: string, password: string) => graph(LOGIN, { i: { email, password } }, null, told);
      const data = ok(await login(ROOT.email, plant('ROOT_PASSWORD')));
      ok(await graph('{ viewer { name sessions { id address } } }', {}, data.login.token));
      refused(await login(ROOT.email, plant('a wrong password')), 'UNAUTHORIZED');
      // People type it into the wrong field.
      refused(await login(plant('a password as address'), 'x'), 'UNAUTHORIZED');
      for (let i = 0; i < 8; i++) await login('nobody@example.com', plant('a guess'));
    },
  },
  {
    name: 'metrics with their token, and with a wrong one',
    covers: ['METRICS_TOKEN'],
    run: async ({ http, plant }) => {
      await http('GET', '/metrics', { token: plant('METRICS_TOKEN') });
      await http('GET', '/metrics', { token: plant('a wrong token') });
    },
  },
  {
    name: 'a rotation of the key of stored secrets',
    covers: ['SECRET_KEY_PREVIOUS'],
    run: async ({ graph, cli }) => {
      ok(await graph('mutation { rotateSecrets { resealed unreadable { context reason } removable } }'));
      await cli(['secrets', 'rotate'], { env: { SECRET_KEY_PREVIOUS: '' } });
    },
  },
  {
    name: 'people, and their passwords',
    covers: [
      'CreateUserInput.password',
      'ResetUserPasswordInput.password',
      'ChangePasswordInput.currentPassword',
      'ChangePasswordInput.newPassword',
    ],
    run: async ({ graph, http, plant, secrets }) => {
      ok(await graph(CREATE_USER, { i: { email: PERSON, password: plant('first password') } }));
      refused(
        await graph(CREATE_USER, { i: { email: PERSON, password: plant('another password') } }),
        'ALREADY_EXISTS',
      );
      refused(await graph(CREATE_USER, { i: { email: 'no address', password: plant('unused') } }), 'INVALID');
      const RESET = 'mutation ($i: ResetUserPasswordInput!) { resetUserPassword(input: $i) { user { id } } }';
      ok(await graph(RESET, { i: { email: PERSON, password: plant('second password') } }));
      refused(
        await graph(RESET, { i: { email: 'nobody@example.com', password: plant('second password') } }),
        'NOT_FOUND',
      );
      const told = (data: { login: { token: string } }) => [secrets.know('session of a person', data.login.token)];
      const { token } = ok(
        await graph(LOGIN, { i: { email: PERSON, password: plant('second password') } }, null, told),
      ).login;
      const CHANGE = 'mutation ($i: ChangePasswordInput!) { changePassword(input: $i) { user { id } } }';
      const change = (currentPassword: string) =>
        graph(CHANGE, { i: { currentPassword, newPassword: plant('third password') } }, token);
      const body = { firstname: 'A', lastname: 'B', email: 'rest@example.com', password: plant('password by REST') };
      expect((await http('POST', '/api/users', { body })).status).toBe(200);
      expect((await http('POST', '/api/users', { body: { ...body, password: plant('again by REST') } })).status).toBe(
        400,
      );
      expect((await http('POST', '/api/users', { body: { ...body, password: [plant('odd by REST')] } })).status).toBe(
        400,
      );
      await http('GET', '/api/users');
      refused(await change(plant('not the password')), 'NOT_ALLOWED');
      ok(await change(plant('second password')));
    },
  },
  {
    name: 'an invitation',
    covers: [
      'InviteUserPayload.secret',
      'AcceptInvitationInput.secret',
      'AcceptInvitationInput.password',
      'AcceptInvitationPayload.token',
    ],
    run: async ({ graph, plant, secrets }) => {
      const INVITE = 'mutation { inviteUser(input: { email: "invited@example.com" }) { secret } }';
      const ACCEPT = 'mutation ($i: AcceptInvitationInput!) { acceptInvitation(input: $i) { token } }';
      const invited = (data: { inviteUser: { secret: string } }) => [
        secrets.know('invitation', data.inviteUser.secret),
      ];
      const { secret } = ok(await graph(INVITE, {}, undefined, invited)).inviteUser;
      const told = (data: { acceptInvitation?: { token: string } }) =>
        data.acceptInvitation ? [secrets.know('session of an invited person', data.acceptInvitation.token)] : [];
      const accept = (password: string) => graph(ACCEPT, { i: { secret, password } }, null, told);
      ok(await accept(plant('password of an invited person')));
      refused(await accept(plant('another password of an invited person')), 'UNAUTHORIZED');
    },
  },
  {
    name: 'a second factor',
    covers: [
      'LoginInput.code',
      'BeginSecondFactorInput.currentPassword',
      'ConfirmSecondFactorInput.code',
      'ChangePasswordInput.code',
      'RemoveSecondFactorInput.currentPassword',
      'RemoveSecondFactorInput.code',
      'BeginSecondFactorPayload.secret',
      'ConfirmSecondFactorPayload.recoveryCodes',
    ],
    run: async ({ graph, plant, secrets, services }) => {
      const { id } = (await services.users.findByEmail(PERSON)) ?? { id: '' };
      const { token } = await services.auth.sessions.open(id);
      secrets.know('session with a second factor', token);
      const BEGIN = 'mutation ($p: String!) { beginSecondFactor(input: { currentPassword: $p }) { secret url } }';
      const told = ({ beginSecondFactor: begun }: { beginSecondFactor: { secret: string; url: string } }) => [
        begun.url,
        secrets.know('TOTP secret', begun.secret),
      ];
      refused(await graph(BEGIN, { p: plant('no password') }, token, () => []), 'NOT_ALLOWED');
      const { secret } = ok(await graph(BEGIN, { p: plant('third password') }, token, told)).beginSecondFactor;
      const CONFIRM = 'mutation ($c: String!) { confirmSecondFactor(input: { code: $c }) { recoveryCodes } }';
      refused(await graph(CONFIRM, { c: plant('no code') }, token), 'NOT_ALLOWED');
      const codes = ({
        confirmSecondFactor: { recoveryCodes },
      }: {
        confirmSecondFactor: { recoveryCodes: string[] };
      }) => recoveryCodes.map((code, i) => secrets.know(`recovery code ${i}`, code));
      const { recoveryCodes } = ok(
        await graph(CONFIRM, { c: new TOTP({ secret }).generate() }, token, codes),
      ).confirmSecondFactor;
      const login = (code?: string) =>
        graph(LOGIN, { i: { email: PERSON, password: plant('third password'), code } }, null, (data) =>
          data.login ? [data.login.token] : [],
        );
      refused(await login(), 'SECOND_FACTOR_REQUIRED');
      refused(await login(plant('a wrong code')), 'UNAUTHORIZED');
      ok(await login(recoveryCodes[0]));
      refused(await login(recoveryCodes[0]), 'UNAUTHORIZED');
      const CHANGE = 'mutation ($i: ChangePasswordInput!) { changePassword(input: $i) { user { id } } }';
      const change = { currentPassword: plant('third password'), newPassword: plant('fourth password') };
      refused(await graph(CHANGE, { i: { ...change, code: plant('a wrong code to change') } }, token), 'NOT_ALLOWED');
      const REMOVE =
        'mutation ($p: String!, $c: String!) { removeSecondFactor(input: { currentPassword: $p, code: $c }) { user { id } } }';
      refused(await graph(REMOVE, { p: plant('third password'), c: recoveryCodes[0] }, token), 'NOT_ALLOWED');
      ok(await graph(REMOVE, { p: plant('third password'), c: recoveryCodes[1] }, token));
    },
  },
  {
    name: 'tokens of projects, good and unknown ones, in a header, a URL and over a socket',
    covers: ['CreateTokenPayload.secret', 'RotateTokenPayload.secret', 'Token.secret'],
    run: async ({ graph, http, webSocket, plant, secrets, projectId }) => {
      const told = (data: { createToken: { secret: string } }) => [
        secrets.know('project token', data.createToken.secret),
      ];
      const i = { projectId, name: 'ci', role: 'VIEWER' };
      const made = ok(await graph(CREATE_TOKEN, { i }, undefined, told)).createToken;
      const ROTATE = 'mutation ($i: RotateTokenInput!) { rotateToken(input: $i) { secret token { secret } } }';
      const rotated = (data: { rotateToken: { secret: string } }) => [
        secrets.know('rotated token', data.rotateToken.secret),
      ];
      const { secret } = ok(await graph(ROTATE, { i: { tokenId: made.token.id } }, undefined, rotated)).rotateToken;
      refused(await graph(ROTATE, { i: { tokenId: made.token.id } }, secret), 'NOT_ALLOWED');
      ok(await graph('query ($id: ID!) { project(id: $id) { tokens { id name secret hash } } }', { id: projectId }));
      await http('GET', `/api/projects/${projectId}/tokens`);
      const byRest = await http('POST', `/api/projects/${projectId}/tokens`, {
        body: { name: 'rest', role: 'viewer', type: 'unrestricted' },
        told: (text) => [secrets.know('token by REST', JSON.parse(text).token)],
      });
      expect(byRest.status).toBe(200);
      const path = `/api/projects/${projectId}/brokers`;
      expect((await http('GET', path, { token: secret })).status).toBe(200);
      expect((await http('GET', `${path}?token=${secret}`, { token: null })).status).toBe(200);
      expect((await http('GET', `${path}?token=bgp_${plant('unknown in a URL')}`, { token: null })).status).toBe(401);
      expect((await http('GET', `${path}?x=1&token=${plant('odd in a URL')}`, { token: null })).status).toBe(401);
      await http('GET', `/graphql?query={viewer{name}}&token=${secret}`, { token: null });
      await http('GET', `/graphql?query={viewer{nam}}&token=${plant('in a URL of the graph')}`, { token: null });
      for (const credentials of [`bgs_${plant('unknown session')}`, plant('odd token')]) {
        expect((await http('GET', path, { token: credentials })).status).toBe(401);
        for (let n = 0; n < 6; n++) refused(await graph('{ viewer { name } }', {}, credentials), 'UNAUTHORIZED');
        await webSocket({ authorization: `Bearer ${credentials}` }, '{ viewer { name } }');
        await webSocket({ token: credentials }, 'subscription { brokerStatus(projectId: "x") { kind } }');
      }
      const basic = Buffer.from(`${ROOT.email}:${plant('Basic password')}`).toString('base64');
      expect((await http('GET', path, { token: null, headers: { authorization: `Basic ${basic}` } })).status).toBe(401);
    },
  },
  {
    name: 'bodies that are no JSON, and documents that are none of the graph',
    run: async ({ http, graph, webSocket, plant, projectId, root }) => {
      const odd = [
        `{"password":"${plant('in broken JSON')}"`,
        `{"password":${plant('bare in JSON')}}`,
        `${plant('no JSON at all')}`,
        `"${plant('a JSON text')}"`,
      ];
      for (const body of odd) {
        expect((await http('POST', '/graphql', { body })).status).toBe(400);
        expect((await http('POST', `/api/projects/${projectId}/brokers`, { body })).status).toBe(400);
        await http('POST', '/graphql', { body, headers: { 'content-type': plant('a content type') } });
      }
      const login = (password: string) => `login(input: { email: "x@example.com", password: ${password} }) { token }`;
      // Errors contain unknown names of fields, arguments, types and keys of JSON, which are no place for a secret.
      const documents = [
        `mutation { ${login(`"${plant('unclosed')}`)} }`,
        `mutation { ${login(plant('an enum'))} }`,
        `mutation { ${login(`["${plant('a list')}"]`)} }`,
        `mutation { ${login(`{ x: "${plant('an object')}" }`)} odd }`,
        `mutation { login(input: { email: "x@example.com", pasword: "${plant('misspelt field')}" }) { token } }`,
        `mutation { login(input: "${plant('for an input')}") { token } }`,
        `mutation ($p: Int = "${plant('a default')}") { ${login('$p')} }`,
        `query { viewer(password: "${plant('unknown argument')}") { name } }`,
        `# ${plant('a comment')}\n{ `,
        `query @include(if: "${plant('in a directive')}") { viewer { name } }`,
      ];
      for (const document of documents) {
        await http('POST', '/graphql', { body: { query: document } });
        await webSocket({ authorization: `Bearer ${root}` }, document);
        await http('POST', '/graphql', { body: { query: document }, headers: { accept: 'text/event-stream' } });
        await http('GET', `/graphql?query=${encodeURIComponent(document)}`);
      }
      const variables = [
        { i: { email: 'x', password: { deep: plant('an object as password') } } },
        { i: { email: ['x'], password: [plant('a list as password')] } },
        { i: plant('a text as input') },
        { i: { email: 'x', pasword: plant('beside') } },
      ];
      for (const one of variables) refused(await graph(LOGIN, one, null), 'INVALID');
      refused(
        await graph('query ($first: Int) { users(first: $first) { totalCount } }', { first: plant('a number') }),
        'INVALID',
      );
      await http('POST', `/api/projects/${projectId}/brokers`, {
        body: { name: 1, password: { x: plant('odd password') } },
      });
      await http('POST', `/api/projects/${projectId}/brokers`, {
        body: { name: 'x', url: 'mqtt://127.0.0.1', clientKey: [plant('odd key')] },
      });
    },
  },
  {
    name: 'brokers: with a password that is right, wrong, in the address, and nowhere to send it',
    covers: [
      'AddBrokerInput.password',
      'UpdateBrokerInput.password',
      'AddBrokerInput.clientKey',
      'UpdateBrokerInput.clientKey',
      'TestBrokerInput.password',
      'TestBrokerInput.clientKey',
    ],
    run: async ({ graph, http, plant, secrets, projectId, mqttUrl, brokerId, services }) => {
      const add = (more: object) =>
        graph(ADD_BROKER, { i: { projectId, name: 'other', type: 'SELF_HOSTED', ...more } });
      const about = { username: 'gateway', password: plant('broker password') };
      ok(
        await graph(CREATE_CLIENT, {
          i: { brokerId, change: { username: 'gateway', password: plant('broker password') } },
        }),
      );
      const right = ok(await add({ name: 'right', url: mqttUrl, ...about })).addBroker.broker.id;
      const wrong = ok(await add({ name: 'wrong', url: mqttUrl, ...about, password: plant('wrong broker password') }));
      const nowhere = ok(await add({ name: 'nowhere', url: 'mqtt://127.0.0.1:1', ...about }));
      refused(await add({ url: `mqtt://gateway:${plant('in an address')}@127.0.0.1:1` }), 'INVALID');
      refused(await add({ url: mqttUrl, clientKey: plant('no PEM') }), 'INVALID');
      const test = (more: object) => graph(TEST_BROKER, { i: { projectId, url: mqttUrl, ...more } });
      ok(await test({ username: 'gateway', password: plant('tested broker password') }));
      refused(await test({ clientKey: plant('no PEM') }), 'INVALID');
      const { key, cert } = createSelfSigned();
      const bodyOfKey = secrets.know('client key', key.split('\n')[1] ?? '');
      ok(
        await graph(UPDATE_BROKER, { i: { brokerId: nowhere.addBroker.broker.id, clientKey: key, clientCert: cert } }),
      );
      const other = createSelfSigned().key;
      secrets.know('key of another certificate', other.split('\n')[1] ?? '');
      await graph(UPDATE_BROKER, { i: { brokerId: right, clientKey: other, clientCert: cert } });
      await graph(UPDATE_BROKER, { i: { brokerId: right, clientKey: bodyOfKey, clientCert: cert } });
      refused(
        await graph(UPDATE_BROKER, { i: { brokerId: 'brk_none', password: plant('of no broker') } }),
        'NOT_FOUND',
      );
      const STATUS =
        'query ($id: ID!) { broker(id: $id) { isConnected name username url connection { state lastError } } }';
      await expect.poll(() => services.runtimes.isConnected(right)).toBe(true);
      const failed = async (id: string) => ok(await graph(STATUS, { id })).broker.connection.lastError;
      await expect.poll(() => failed(wrong.addBroker.broker.id)).toEqual(expect.any(String));
      await expect.poll(() => failed(nowhere.addBroker.broker.id)).toEqual(expect.any(String));
      await http('GET', `/api/projects/${projectId}/brokers`);
      await http('GET', `/api/projects/${projectId}/brokers/${right}`);
      ok(
        await graph(UPDATE_BROKER, { i: { brokerId: wrong.addBroker.broker.id, password: plant('broker password') } }),
      );
      const rest = {
        type: 'self-hosted',
        name: 'by REST',
        url: mqttUrl,
        username: 'gateway',
        password: plant('broker password'),
      };
      await http('POST', `/api/projects/${projectId}/brokers`, { body: rest });
      await http('POST', `/api/projects/${projectId}/brokers`, {
        body: { ...rest, url: `mqtt://u:${plant('REST address')}@x` },
      });
    },
  },
  {
    name: 'access control: accounts, bulk changes, imports, dry runs',
    covers: ['AccountChange.password', 'SetAccountPasswordChange.password', 'AccountPasswordInput.password'],
    run: async ({ graph, http, cli, plant, projectId, brokerId }) => {
      const PAYLOAD = '{ outcome error { message } account { username } commands { command fields } }';
      const password = plant('account password');
      for (const kind of ['Create', 'Put', 'Update']) {
        const field = `${kind.toLowerCase()}Account`;
        const document = `mutation ($i: ${kind}AccountInput!) { ${field}(input: $i) ${PAYLOAD} }`;
        for (const dryRun of [true, false])
          ok(await graph(document, { i: { brokerId, change: { username: 'meter', password }, dryRun } }));
        await graph(document, {
          i: { brokerId, change: { username: 'meter', password, roles: [{ roleName: 'none' }] } },
        });
        await graph(document, { i: { brokerId: 'brk_none', change: { username: 'meter', password } } });
      }
      const SET = `mutation ($i: SetAccountPasswordInput!) { setAccountPassword(input: $i) ${PAYLOAD} }`;
      ok(
        await graph(SET, { i: { brokerId, change: { username: 'meter', password: plant('next account password') } } }),
      );
      await graph(SET, { i: { brokerId, change: { username: 'nobody', password } } });
      const CHANGE =
        'mutation ($i: ChangeAccessControlInput!) { changeAccessControl(input: $i) { changes { outcome commands { command fields error { message } } error { message } } } }';
      const changes = [
        { createAccount: { username: 'bulk', password } },
        { updateAccount: { username: 'bulk', password } },
        { putAccount: { username: 'bulk', password } },
        { setAccountPassword: { username: 'bulk', password } },
        { setAccountPassword: { username: 'nobody', password } },
      ];
      await graph(CHANGE, { i: { brokerId, changes } });
      await graph(CHANGE, { i: { brokerId, changes, dryRun: true } });
      const APPLY = `mutation ($i: AccessControlImportInput!) { applyAccessControl(input: $i) { outcome notes needPassword changes { outcome commands { command fields } error { message } } } }`;
      const document = { clients: [{ username: 'imported' }], groups: [], roles: [] };
      const passwords = [{ username: 'imported', password: plant('imported password') }];
      await graph(APPLY, { i: { brokerId, document, passwords } });
      await graph(APPLY, { i: { brokerId, document, passwords, setPasswords: true } });
      await graph(APPLY, {
        i: { brokerId, document: { clients: [{ username: 'x', password: plant('in a document') }] } },
      });
      const copied = [{ username: 'imported', password: plant('copied account') }];
      const COPY = `mutation ($i: CopyAccountsInput!) { copyAccounts(input: $i) { outcome } }`;
      for (const fromBrokerId of [brokerId, 'nowhere']) {
        await graph(COPY, { i: { brokerId, fromBrokerId, usernames: ['imported'], passwords: copied } });
      }
      const input = JSON.stringify({ imported: plant('imported by command') });
      await cli(['access', 'plan', brokerId, '/nowhere.json', '--passwords', '-'], { input });
      await cli(['access', 'apply', brokerId, '-'], { input: `{"clients":[{"password":"${plant('broken import')}"` });
      await cli(['access', 'export', brokerId]);
      const at = `/api/projects/${projectId}/brokers/${brokerId}/clients`;
      await http('POST', at, { body: { username: 'by-rest', password: plant('REST account') } });
      await http('POST', at, { body: { username: 'by-rest', password: plant('REST account again') } });
      await http('PUT', `${at}/by-rest`, { body: { password: plant('REST account changed') } });
      await http('POST', at, { body: { user: 'by-rest', password: [plant('odd REST account')] } });
    },
  },
  {
    name: 'clients of a broker that connect with wrong passwords and with right ones',
    run: async ({ mqttUrl, plant }) => {
      const connect = (username: string, password: string) =>
        connectAsync(mqttUrl, { username, password, reconnectPeriod: 0, connectTimeout: 20_000 });
      await expect(connect('gateway', plant('a guess at a broker'))).rejects.toThrow();
      await expect(connect(plant('a password as user name'), 'x')).rejects.toThrow();
      await (await connect('gateway', plant('broker password'))).endAsync();
    },
  },
  {
    name: 'notification channels that cannot reach their receiver, and a bad one',
    covers: ['NotificationWebhookInput.secret', 'SMTP_URL'],
    run: async ({ graph, plant, projectId }) => {
      const key = Buffer.from(plant('signing secret')).subarray(0, 32).toString('base64');
      const create = (webhook: object, name = 'c') => {
        const i = { projectId, name, target: { webhook } };
        return graph(CREATE_CHANNEL, { i });
      };
      const webhook = {
        url: `http://127.0.0.1:1/${plant('path of a webhook')}`,
        secret: `whsec_${key}`,
        headers: [{ name: 'Authorization', value: plant('header of a webhook') }],
        credentials: [{ name: 'routingKey', value: plant('credential of a template') }],
      };
      const template = '{"key": "{{credentials.routingKey}}"}';
      const made = ok(await create({ ...webhook, template })).createNotificationChannel.notificationChannel;
      const tested = ok(await graph(TEST_CHANNEL, { i: { channelId: made.id } })).testNotificationChannel;
      expect(tested).toMatchObject({ isDelivered: false });
      refused(await create({ ...webhook, secret: plant('no signing secret') }), 'INVALID');
      refused(await create({ ...webhook, template: '{"key": {{credentials.routingKey}}}' }), 'INVALID');
      const i = { projectId, name: 'mail', target: { email: { to: ['a@example.com'] } } };
      const mail = ok(await graph(CREATE_CHANNEL, { i })).createNotificationChannel.notificationChannel;
      ok(await graph(TEST_CHANNEL, { i: { channelId: mail.id } }));
    },
  },
  {
    name: 'bridges that cannot reach the other side, and bad configurations of them',
    covers: ['UpdateBridgeConfigInput.config'],
    run: async ({ graph, http, plant, secrets, projectId, brokerId, mqttUrl, config }) => {
      const file = join(config.dataDir, 'brokers', brokerId, 'password');
      const password = secrets.know('password of the administrator', readFileSync(file, 'utf8').trim());
      const client = await connectAsync(mqttUrl, { username: 'admin', password, reconnectPeriod: 0 });
      // A webhook is only called when there is an event to send.
      await client.publishAsync('a/b', 'x', { qos: 1, retain: true });
      await client.endAsync();
      const topics = [{ pattern: 'a/#', direction: 'out', qos: 1 }];
      const mqtt = {
        name: 'mqtt',
        url: 'mqtt://127.0.0.1:1',
        username: 'plant',
        password: plant('bridge password'),
        topics,
      };
      const database = {
        name: 'sql',
        url: `postgresql://me:${plant('in a database address')}@127.0.0.1:1/plant`,
        mappings: [{ name: 'm', topics: ['a/#'], table: 't', columns: [{ column: 'a', source: 'topic' }] }],
      };
      const webhook = {
        name: 'hook',
        url: 'http://127.0.0.1:1/hook',
        secret: `whsec_${Buffer.from(plant('webhook secret')).toString('base64')}`,
        topics: ['a/#'],
      };
      const kinds = { 'mqtt-bridge': mqtt, 'postgresql-bridge': database, 'webhook-bridge': webhook };
      const STATUS =
        'query ($b: ID!, $id: String!) { broker(id: $b) { bridge(key: $id) { config status connections { name state error } } } }';
      for (const [bridgeId, connection] of Object.entries(kinds)) {
        const set = (config: unknown) => graph(BRIDGE, { i: { brokerId, bridgeKey: bridgeId, config } });
        ok(await set({ connections: [connection] }));
        const error = async () =>
          ok(await graph(STATUS, { b: brokerId, id: bridgeId })).broker.bridge.connections[0]?.error;
        await expect.poll(error).toEqual(expect.any(String));
        const at = `/api/projects/${projectId}/brokers/${brokerId}/bridges/${bridgeId}`;
        await http('GET', `${at}/config`);
        await http('GET', `${at}/status`);
        refused(await set({ connections: [{ ...connection, name: [1] }] }), 'INVALID');
        await http('PUT', `${at}/config`, { body: { connections: [{ ...connection, name: [1] }] } });
        ok(await set({ connections: [] }));
      }
    },
  },
  {
    name: 'certificates with their keys',
    covers: [
      'CreateCertificateInput.privateKey',
      'UpdateCertificateInput.privateKey',
      'CreateCertificateInput.cert',
      'UpdateCertificateInput.cert',
    ],
    run: async ({ graph, http, plant, secrets, projectId }) => {
      const CREATE =
        'mutation ($i: CreateCertificateInput!) { createCertificate(input: $i) { certificate { id filename } } }';
      const mine = createSelfSigned();
      const other = createSelfSigned();
      for (const [name, { key }] of Object.entries({ mine, other })) {
        for (const line of key.split('\n').slice(1, 3)) secrets.know(`line of the key ${name}`, line);
      }
      const create = (i: object) => graph(CREATE, { i: { projectId, filename: 'a.pem', ...i } });
      const { id } = ok(await create({ cert: mine.cert, privateKey: mine.key })).createCertificate.certificate;
      refused(await create({ filename: 'b.pem', cert: mine.cert, privateKey: other.key }), 'INVALID');
      refused(await create({ filename: 'b.pem', cert: `${mine.cert}${other.key}` }), 'INVALID');
      refused(await create({ filename: 'b.pem', cert: mine.cert, privateKey: plant('no key') }), 'INVALID');
      const UPDATE = 'mutation ($i: UpdateCertificateInput!) { updateCertificate(input: $i) { certificate { id } } }';
      ok(await graph(UPDATE, { i: { projectId, certificateId: id, cert: other.cert, privateKey: other.key } }));
      refused(
        await graph(UPDATE, { i: { projectId, certificateId: id, cert: mine.cert, privateKey: other.key } }),
        'INVALID',
      );
      await http('GET', `/api/projects/${projectId}/certificates`);
      await http('GET', `/api/projects/${projectId}/certificates/${id}`);
      await http('POST', `/api/projects/${projectId}/certificates`, { body: { cert: mine.key } });
    },
  },
  {
    name: 'clusters whose nodes cannot be reached',
    covers: [
      'ClusterNodeInput.password',
      'ClusterNodeInput.clientKey',
      'JoinClusterInput.password',
      'JoinClusterInput.clientKey',
    ],
    run: async ({ graph, plant, projectId, brokerId }) => {
      const node = {
        name: 'n',
        address: '127.0.0.1',
        port: 1,
        password: plant('node password'),
        clientKey: plant('node key'),
      };
      const CREATE = 'mutation ($i: CreateClusterInput!) { createCluster(input: $i) { cluster { id } } }';
      const nodes = [1, 2].map((nodeId) => ({ ...node, nodeId, brokerId }));
      const { errors } = await graph(CREATE, { i: { projectId, name: 'c', mode: 'DYNSEC', nodes } });
      expect(errors).toHaveLength(1);
      const JOIN = 'mutation ($i: JoinClusterInput!) { joinCluster(input: $i) { cluster { id } } }';
      const { name: _name, ...joining } = node;
      refused(
        await graph(JOIN, { i: { projectId, clusterId: 'cls_none', url: 'mqtt://127.0.0.1:1', ...joining } }),
        'NOT_FOUND',
      );
    },
  },
  {
    name: 'commands',
    run: async ({ cli, plant, secrets, projectId }) => {
      const made = await cli(['user', 'create', 'cli@example.com', '--json'], {
        told: (out) => [secrets.know('password that a command made', JSON.parse(out).password)],
      });
      expect(made.code).toBe(0);
      const withPassword = async (command: string, email: string, input: string) =>
        (await cli(['user', command, email, '--ask-password'], { input })).code;
      expect(await withPassword('create', 'cli@example.com', plant('password of a command'))).toBe(1);
      expect(await withPassword('reset-password', 'cli@example.com', plant('reset by a command'))).toBe(0);
      expect(await withPassword('reset-password', 'nobody@example.com', plant('reset nobody'))).toBe(1);
      expect(await withPassword('create', 'short@example.com', plant('x').slice(0, 7))).toBe(1);
      const token = await cli(['token', 'create', '--project', projectId, '--name', 'n', '--json'], {
        told: (out) => [secrets.know('token of a command', JSON.parse(out).secret)],
      });
      expect(token.code).toBe(0);
      await cli(['user', 'list']);
      await cli(['token', 'list', '--project', projectId]);
      expect((await cli(['doctor', `mqtt://me:${plant('doctor')}@127.0.0.1:1`])).code).toBe(1);
    },
  },
  {
    name: 'settings that are wrong, or lead nowhere',
    covers: ['DATABASE_URL'],
    run: async ({ cli, plant }) => {
      const wrong = {
        ROOT_PASSWORD: plant('too short').slice(0, 7),
        SECRET_KEY: plant('short key').slice(0, 20),
        DATABASE_URL: `mysql://me:${plant('of another database')}@127.0.0.1:1/x`,
        OIDC_ISSUER: `no issuer`,
        OIDC_CLIENT_SECRET: plant('client secret'),
        LDAP_URL: `ldap://me:${plant('in an LDAP address')}@127.0.0.1:1`,
        LDAP_BIND_PASSWORD: plant('bind password'),
        PORT: 'x',
      };
      for (const command of ['serve', 'migrate']) expect((await cli([command], { env: wrong })).code).toBe(2);
      const DATABASE_URL = `postgresql://me:${plant('database password')}@127.0.0.1:1/x`;
      for (const command of [['serve'], ['migrate'], ['user', 'list']]) {
        // Its own folder: on the folder of the service the command would use that service.
        const { code, err } = await cli(command, { env: { DATABASE_URL, DATA_DIR: temporaryFolder() } });
        expect([code, err]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
      }
    },
  },
];

/** With an OpenID provider and a directory that know ada, and passwords of the service switched off. */
export const SIGN_IN_STEPS: readonly SecretStep[] = [
  {
    name: 'single sign-on, and answers of a provider that nobody asked for',
    covers: [
      'CompleteSignInInput.code',
      'CompleteSignInInput.verifier',
      'CompleteSignInPayload.token',
      'OIDC_CLIENT_SECRET',
    ],
    run: async ({ graph, http, plant, secrets, record, url, storage, config, services }) => {
      const told = (data: { completeSignIn: { token: string } }) => [
        secrets.know('session of single sign-on', data.completeSignIn.token),
      ];
      const COMPLETE = 'mutation ($i: CompleteSignInInput!) { completeSignIn(input: $i) { token user { email } } }';
      const visitor = new WebVisitor();
      const callback = new URL(await visitor.signInAt(`${url}/auth/oidc`, 'ada'));
      secrets.know('code of the provider', callback.searchParams.get('code') ?? '');
      secrets.know('state of the sign-in', callback.searchParams.get('state') ?? '');
      const returned = await visitor.visit(callback.href);
      const { hash } = new URL(returned.headers.get('location') ?? '');
      const code = secrets.know('code for the session', new URLSearchParams(hash.slice(1)).get('code') ?? '');
      record('the way back', `${JSON.stringify([...returned.headers])} ${await returned.text()}`, [code]);
      const back = `${callback.pathname}${callback.search}`;
      await http('GET', back, { token: null });
      refused(
        await graph(COMPLETE, { i: { code: plant('a guessed code'), verifier: plant('a verifier') } }, null),
        'UNAUTHORIZED',
      );
      ok(await graph(COMPLETE, { i: { code } }, null, told));
      refused(await graph(COMPLETE, { i: { code } }, null), 'UNAUTHORIZED');
      const { sealedRefresh, subject } = await storage.db.identity.findFirstOrThrow({
        where: { subject: { endsWith: ' ada' } },
      });
      const sealer = openSealer({ dataDir: config.dataDir, secretKey: config.secretKey });
      const { refreshToken } = JSON.parse(sealer.open(sealedRefresh ?? '', `identity sso ${subject}`));
      secrets.know('refresh token', refreshToken);
      await services.signIn.checks.run(0);
      for (const search of ['code', 'state', 'error', 'error_description', 'returnTo']) {
        await http('GET', `/auth/oidc/callback?${search}=${plant(`in ${search}`)}`, { token: null });
        await http('GET', `/auth/oidc?${search}=${plant(`in ${search}`)}`, { token: null });
      }
    },
  },
  {
    name: 'passwords that are switched off',
    run: async ({ graph, plant }) => {
      const login = (email: string, password: string) => graph(LOGIN, { i: { email, password } }, null);
      refused(await login(ROOT.email, plant('a guess at the last password')), 'UNAUTHORIZED');
    },
  },
  {
    name: 'tokens in addresses where they are not taken',
    run: async ({ http, plant, projectId }) => {
      for (const path of [`/api/projects/${projectId}/brokers`, '/graphql', '/metrics', '/', '/nowhere']) {
        await http('GET', `${path}?token=bgp_${plant('in an address, not taken')}`, { token: null });
      }
    },
  },
];

/** `stop` ends the directory. */
export const directorySteps = (stop: () => Promise<void>): readonly SecretStep[] => [
  {
    name: 'a directory that knows a person, and then cannot be reached',
    covers: ['LDAP_BIND_PASSWORD'],
    run: async ({ graph, plant, secrets }) => {
      const told = (data: { login?: { token: string } }) =>
        data.login ? [secrets.know('session by the directory', data.login.token)] : [];
      const login = (email: string, password: string) => graph(LOGIN, { i: { email, password } }, null, told);
      ok(await login('grace@example.com', secrets.know('password of the directory', LDAP_PASSWORD)));
      refused(await login('grace@example.com', plant('wrong for the directory')), 'UNAUTHORIZED');
      refused(await login(plant('a password as login'), 'x'), 'UNAUTHORIZED');
      await stop();
      refused(await login('grace@example.com', LDAP_PASSWORD), 'SIGN_IN_UNAVAILABLE');
    },
  },
];
