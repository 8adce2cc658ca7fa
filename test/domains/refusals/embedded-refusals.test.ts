import fc from 'fast-check';
import { generate } from 'mqtt-packet';
import { expect, test } from 'vitest';
import WebSocket from 'ws';
import { dynsecDone } from '../../data-plane/broker/dynsec.ts';
import { ADMINISTRATOR, listener } from '../../data-plane/broker/embedded.ts';
import { MQTTS, MUTUAL, PLAIN, startTlsBroker, TLS_LISTENERS } from '../../data-plane/broker/tls.ts';
import { createAuthority, createSelfSigned } from '../../support/certificates.ts';
import { startTestService } from '../../support/service.ts';
import { runs } from '../../support/suite.ts';
import { addBroker } from '../clients/graph/commercial-broker.ts';
import { distrust, listRefusals, type SeenRefusal, sendRaw, shakeHands, watchRefusals } from './refused-clients.ts';

const BARE = 5;
const WS = 6;
const password = Buffer.from('pw');
const HOUR_MS = 3_600_000;

async function start() {
  const listeners = [
    ...TLS_LISTENERS,
    listener({ number: BARE, tls: true }),
    listener({ number: WS, protocol: 'WEBSOCKET' }),
  ];
  const { portOf, admin, setServer, insertCa } = await startTlsBroker({ listeners });
  const authority = createAuthority();
  for (const number of [MQTTS, MUTUAL]) await setServer(number, authority.issue());
  await insertCa(MUTUAL, authority);
  const acl = (acltype: string, topic: string, allow: boolean) => ({ acltype, topic, allow, priority: 1 });
  await dynsecDone(
    admin,
    {
      command: 'createRole',
      rolename: 'device',
      acls: [
        acl('publishClientSend', 'ok/#', true),
        acl('publishClientSend', 'no/#', false),
        acl('subscribePattern', 'ok/#', true),
        acl('subscribePattern', 'no/#', false),
        acl('unsubscribePattern', 'no/#', false),
      ],
    },
    { command: 'createClient', username: 'dev', password: 'pw', roles: [{ rolename: 'device' }] },
    { command: 'createClient', username: 'off', password: 'pw' },
    { command: 'disableClient', username: 'off' },
    { command: 'createClient', username: 'bound', password: 'pw', clientid: 'only-this' },
  );
  const service = await startTestService();
  const brokerId = await addBroker(service, `mqtt://127.0.0.1:${portOf(PLAIN)}`, ADMINISTRATOR);
  return { service, brokerId, portOf, authority, admin };
}

const RULE = { roleName: 'device', verdict: 'MATCHED', groupName: null };

test('each kind of refusal is reported with its reason before the next one', async () => {
  const { service, brokerId, portOf, authority } = await start();
  const plain = portOf(PLAIN);
  const dev = { username: 'dev', password };
  const v5 = { protocolVersion: 5 } as const;
  const mqtt31 = { protocolVersion: 3, protocolId: 'MQIsdp' } as const;
  const will = (topic: string) => ({ will: { topic, payload: Buffer.from('x'), qos: 0, retain: false } as const });
  const publish = (topic: string, qos: 0 | 1 = 1) =>
    ({ cmd: 'publish', topic, payload: 'x', qos, messageId: 7, dup: false, retain: false }) as const;
  const sub = (topic: string) => ({
    cmd: 'subscribe' as const,
    messageId: 7,
    subscriptions: [{ topic, qos: 0 as const }],
  });
  const unsub = (topic: string) => ({ cmd: 'unsubscribe' as const, messageId: 7, unsubscriptions: [topic] });
  const expired = authority.issue({ from: new Date(Date.now() - 48 * HOUR_MS), to: new Date(Date.now() - HOUR_MS) });
  const certificate = ({ cert, key }: { cert: string; key: string }) => ({ cert, key });
  const upgrade = (path: string, protocol: string) => {
    new WebSocket(`ws://127.0.0.1:${portOf(WS)}${path}`, protocol).on('error', () => {});
  };
  /** What a client does, and what is reported. */
  const KINDS: readonly (readonly [() => void, Partial<SeenRefusal> & object])[] = [
    [
      () => sendRaw(plain, { clientId: 'c1', username: 'nobody', password }),
      { kind: 'CONNECT', reason: 'UNKNOWN_ACCOUNT', clientId: 'c1', username: 'nobody', reasonCode: 5 },
    ],
    [
      // mqtt-packet omits an empty user name.
      () => sendRaw(plain, Buffer.from('101500044d51545404c2003c0003633162000000027077', 'hex')),
      { kind: 'CONNECT', reason: 'USERNAME_MISSING', clientId: 'c1b', username: null, reasonCode: 5 },
    ],
    [
      () => sendRaw(plain, { clientId: 'c2', username: 'dev', password: Buffer.from('wrong'), ...v5 }),
      { kind: 'CONNECT', reason: 'WRONG_PASSWORD', clientId: 'c2', username: 'dev', reasonCode: 0x87 },
    ],
    [() => sendRaw(plain, { clientId: 'c3', username: 'dev' }), { reason: 'PASSWORD_MISSING', clientId: 'c3' }],
    [() => sendRaw(plain, { clientId: 'c4' }), { reason: 'USERNAME_MISSING', clientId: 'c4', username: null }],
    [
      () => sendRaw(plain, { clientId: 'c5', username: 'off', password }),
      { reason: 'ACCOUNT_DISABLED', clientId: 'c5', username: 'off' },
    ],
    [
      () => sendRaw(plain, { clientId: 'c6', username: 'bound', password }),
      { reason: 'CLIENT_ID_OF_ACCOUNT', clientId: 'c6', username: 'bound' },
    ],
    [
      () => sendRaw(plain, Buffer.from('101500044d51545404c0003c0000000364657600027077', 'hex')),
      { kind: 'CONNECT', reason: 'CLIENT_ID_REJECTED', clientId: null },
    ],
    [
      () => sendRaw(plain, { clientId: 'c8', ...dev, ...will('no/+') }),
      { reason: 'WILL_REJECTED', clientId: 'c8', topic: 'no/+' },
    ],
    [
      () => sendRaw(plain, { clientId: 'c9', ...dev, ...v5, ...will('$CONTROL/x') }),
      { reason: 'WILL_REJECTED', clientId: 'c9', topic: '$CONTROL/x', reasonCode: 0x87 },
    ],
    [
      () => sendRaw(plain, Buffer.from('100e00044d5154540602003c00026331', 'hex')),
      { kind: 'CONNECT', reason: 'PROTOCOL_VERSION' },
    ],
    [() => sendRaw(plain, 'GET / HTTP/1.1\r\n\r\n'), { kind: 'CONNECT', listenerPort: plain, address: '127.0.0.1' }],
    [
      () => sendRaw(plain, generate(publish('ok/a', 0))),
      { kind: 'CONNECT', reason: 'PROTOCOL_ERROR', address: '127.0.0.1' },
    ],
    [
      () => sendRaw(plain, { clientId: 'c13', ...dev, ...v5, properties: { authenticationMethod: 'SCRAM' } }),
      { kind: 'CONNECT', reason: 'NOT_SUPPORTED', address: '127.0.0.1' },
    ],
    [
      () => sendRaw(plain, { clientId: 'c14', ...dev }, Buffer.from([0x36, 0x00])),
      { kind: 'PACKET', reason: 'MALFORMED_PACKET', clientId: 'c14', username: 'dev' },
    ],
    [
      () => sendRaw(plain, { clientId: 'c15', ...dev, ...v5 }, Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 0])),
      { reason: 'PACKET_TOO_LARGE', clientId: 'c15' },
    ],
    [
      () => sendRaw(plain, { clientId: 'c16', ...dev, ...v5 }, sub('a/#/b')),
      { kind: 'PACKET', reason: 'INVALID_TOPIC', clientId: 'c16', topic: 'a/#/b', reasonCode: 0x8f },
    ],
    [
      () => sendRaw(plain, { clientId: 'c16b', ...dev }, unsub('+a/ü')),
      { reason: 'INVALID_TOPIC', clientId: 'c16b', topic: '+a/ü', detail: expect.stringContaining('+') },
    ],
    [
      () => sendRaw(plain, { clientId: 'c16c', ...dev, ...v5 }, publish('lamp #1/state')),
      { kind: 'PACKET', reason: 'INVALID_TOPIC', clientId: 'c16c', topic: 'lamp #1/state', reasonCode: 0x81 },
    ],
    [
      () => sendRaw(plain, { clientId: `ESP32-24:6F:28:AA:BB:CC-${'ä'.repeat(100)}`, ...mqtt31, ...dev }, sub('x+')),
      { reason: 'INVALID_TOPIC', clientId: `ESP32-24:6F:28:AA:BB:CC-${'ä'.repeat(100)}`, topic: 'x+' },
    ],
    [
      () => sendRaw(plain, { clientId: 'c16e', ...mqtt31, username: '', password }),
      { reason: 'USERNAME_MISSING', clientId: 'c16e', username: null },
    ],
    [() => shakeHands(plain), { kind: 'CONNECT', reason: 'TLS_ON_PLAIN_LISTENER', listenerPort: plain }],
    [
      () => sendRaw(portOf(MQTTS), { clientId: 'c18', ...dev }),
      { reason: 'PLAIN_ON_TLS_LISTENER', listenerPort: portOf(MQTTS) },
    ],
    [
      () => shakeHands(portOf(MUTUAL)),
      { reason: 'TLS_CERTIFICATE_MISSING', listenerPort: portOf(MUTUAL), address: '127.0.0.1' },
    ],
    [
      () => shakeHands(portOf(MUTUAL), certificate(createSelfSigned())),
      { reason: 'TLS_CERTIFICATE_NOT_TRUSTED', listenerPort: portOf(MUTUAL) },
    ],
    [() => shakeHands(portOf(MUTUAL), certificate(expired)), { reason: 'TLS_CERTIFICATE_EXPIRED' }],
    [() => distrust(portOf(MQTTS)), { reason: 'TLS_REFUSED_BY_CLIENT' }],
    [
      () => shakeHands(portOf(MQTTS), { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
      { reason: 'TLS_INCOMPATIBLE' },
    ],
    [() => shakeHands(portOf(BARE)), { reason: 'TLS_NOT_CONFIGURED', listenerPort: portOf(BARE) }],
    [
      () => upgrade('/services/mqtt?token=x', 'chat'),
      {
        reason: 'WEBSOCKET_REQUEST',
        detail: '400 Bad Request: the request for the path "/services/mqtt" offers the subprotocols "chat"',
      },
    ],
    [
      () => upgrade('/other', 'chat'),
      { reason: 'WEBSOCKET_REQUEST', detail: expect.stringContaining('the request for the path "/other"') },
    ],
    [
      () => sendRaw(plain, { clientId: 'c27', ...dev, ...v5 }, publish('no/a')),
      {
        kind: 'PUBLISH',
        reason: 'ACCESS_DENIED',
        clientId: 'c27',
        username: 'dev',
        topic: 'no/a',
        reasonCode: 0x87,
        decision: 'RULE',
        decidedBy: {
          ...RULE,
          priority: -1,
          rule: { aclType: 'PUBLISH_CLIENT_SEND', topic: 'no/#', priority: 1, allow: false },
        } as unknown as SeenRefusal['decidedBy'],
      },
    ],
    [
      () => sendRaw(plain, { clientId: 'c28', ...dev }, publish('other/a')),
      { kind: 'PUBLISH', topic: 'other/a', reasonCode: null, decision: 'DEFAULT', decidedBy: null },
    ],
    [
      () => sendRaw(plain, { clientId: 'c29', ...dev }, publish('$SYS/a')),
      { kind: 'PUBLISH', topic: '$SYS/a', decision: 'BROKER', decidedBy: null },
    ],
    [
      () => sendRaw(plain, { clientId: 'c30', ...dev }, sub('no/+')),
      { kind: 'SUBSCRIBE', reason: 'ACCESS_DENIED', topic: 'no/+', reasonCode: 0x80, decision: 'RULE' },
    ],
    [
      () => sendRaw(plain, { clientId: 'c31', ...dev, ...v5 }, unsub('no/x')),
      { kind: 'UNSUBSCRIBE', reason: 'ACCESS_DENIED', topic: 'no/x', reasonCode: 0x87, decision: 'RULE' },
    ],
  ];
  const { next, clear } = await watchRefusals(service, brokerId);
  for (const [act, expected] of KINDS) {
    clear();
    act();
    const refusal = await next(() => true);
    expect(refusal).toMatchObject(expected);
    expect(refusal.whatWouldHelp).not.toBe('');
    expect(refusal.whatWouldHelp).not.toContain('""');
    // Words of people, not names of the API.
    expect(refusal.whatWouldHelp).not.toMatch(/publishClient|(?:Pattern|Literal)\b|\bACL\b/);
    if (refusal.reason === 'INVALID_TOPIC') expect(refusal.whatWouldHelp).toContain(`"${refusal.topic}"`);
  }
  const { data } = await listRefusals(service, brokerId, { first: 100 });
  expect(data.broker.refusals).toMatchObject({ totalCount: KINDS.length, droppedCount: 0, limit: null });
});

/** MQTT 5, section 4.7.1: `#` is the last level, and wildcards are whole levels. */
const isFilter = (name: string): boolean =>
  name
    .split('/')
    .every((level, nth, all) => level === '+' || (level === '#' && nth === all.length - 1) || !/[+#]/.test(level));

test('any name that MQTT forbids is refused as INVALID_TOPIC with the name, and others by the rules', async () => {
  const { service, brokerId, portOf } = await start();
  const { next } = await watchRefusals(service, brokerId);
  const name = fc
    .array(fc.constantFrom('a', 'ü', '🏃', '/', '/', '+', '#', '$', '"', '\\', ' '), {
      minLength: 1,
      maxLength: 6,
    })
    .map((parts) => `x${parts.join('')}`);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(name, fc.boolean(), fc.constantFrom(4, 5), async (topic, isPublish, protocolVersion) => {
      const isValid = isPublish ? !/[+#]/.test(topic) : isFilter(topic);
      const packet = isPublish
        ? ({ cmd: 'publish', topic, payload: 'x', qos: 1, messageId: 7, dup: false, retain: false } as const)
        : { cmd: 'subscribe' as const, messageId: 7, subscriptions: [{ topic, qos: 0 as const }] };
      count += 1;
      // A client that stays connected would be taken over by the next one of its id, which is reported too.
      const clientId = `names-${count}`;
      sendRaw(portOf(PLAIN), { clientId, username: 'dev', password, protocolVersion }, packet);
      const { reason, topic: reported, whatWouldHelp } = await next((refusal) => refusal.clientId === clientId);
      const expected = { topic, reason: isValid ? 'ACCESS_DENIED' : 'INVALID_TOPIC', reported: topic };
      expect({ topic, reason, reported }).toEqual(expected);
      expect(whatWouldHelp).not.toBe('');
    }),
    { numRuns: runs(40) },
  );
});
