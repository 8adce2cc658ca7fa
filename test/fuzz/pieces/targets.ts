import { randomBytes } from 'node:crypto';
import { generate } from 'mqtt-packet';
import { bearer } from '../../support/service.ts';
import type { Random } from '../random.ts';
import { startHostileBroker } from './hostile-broker.ts';
import { jsonPieces } from './json-pieces.ts';
import {
  configurePostgresql,
  configureWebhook,
  HTTP_PATHS,
  type PiecesWorld,
  patiently,
  write,
} from './pieces-world.ts';
import {
  connectPieces,
  framePieces,
  ldapPieces,
  mqttPieces,
  type Pieces,
  postgresqlPieces,
  requestPieces,
  responsePieces,
} from './wire-pieces.ts';

/** A parser of bytes from others. */
export interface PiecesTarget {
  readonly name: string;
  /** Sends pieces once. `report` is called with a description before anything is sent. */
  run(world: PiecesWorld, random: Random, report: (what: string) => void): Promise<void>;
}

const MIB = 1_048_576;
const MAX_BODY = 999_000;
const MAX_ANONYMOUS_BODY = 65_000;
const VERSIONS = [4, 5] as const;
const APIS = [
  'dynamic-security',
  'cedalo/inspect',
  'stream-processing',
  'broker',
  'cedalo/topictree',
  'cedalo/mqtt-bridge',
];

function connectPacket({ account }: PiecesWorld, protocolVersion: 4 | 5, clientId: string): Buffer {
  const { username, password } = account;
  const protocol = { protocolId: 'MQTT', protocolVersion, keepalive: 0 } as const;
  return generate({ cmd: 'connect', clientId, clean: true, username, password: Buffer.from(password), ...protocol });
}

const publish = (topic: string, payload: string | Buffer, protocolVersion: 4 | 5): Buffer =>
  generate({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false }, { protocolVersion });

/** The same bytes in masked WebSocket frames. */
function inFrames(bytes: Buffer): Buffer {
  const head = Buffer.alloc(14);
  head.writeUInt8(0x82, 0);
  head.writeUInt8(0x80 | 127, 1);
  head.writeBigUInt64BE(BigInt(bytes.length), 2);
  return Buffer.concat([head, bytes]);
}

const upgrade = (path: string, protocol: string): Buffer =>
  Buffer.from(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  );

async function post(url: string, token: string | null, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json', ...bearer(token) };
  await (await fetch(url, { method: 'POST', headers, body })).text();
}

/**
 * Adds a broker that sends the bytes when the service publishes to the topic or has subscribed to it. Removes it when
 * they were read.
 */
async function fromBroker({ service }: PiecesWorld, version: 4 | 5, topic: string, bytes: Buffer): Promise<void> {
  const { url, read, close } = await startHostileBroker(version, topic, bytes);
  const input = { projectId: service.projectId, url };
  const { addBroker } = await service.graphql(
    'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }',
    { input },
  );
  const brokerId = addBroker.broker.id;
  // The service asks for the control APIs.
  const asked = service.graphql('query ($id: ID!) { broker(id: $id) { capabilities { api } } }', { id: brokerId });
  asked.catch(() => {});
  await patiently(read);
  await service.graphql('mutation ($input: DeleteBrokerInput!) { deleteBroker(input: $input) { deletedBrokerId } }', {
    input: { brokerId },
  });
  close();
}

/** A masked close frame with code 1000. */
const CLOSE_FRAME = Buffer.from('88820000000003e8', 'hex');

const portOf = ({ service }: PiecesWorld): number => Number(new URL(service.url).port);

export const TARGETS: readonly PiecesTarget[] = [
  {
    name: 'MQTT packets of clients',
    run: async (world, random, report) => {
      const version = random.pick(VERSIONS);
      const isKnown = random.chance(0.8);
      const { bytes, what } = isKnown
        ? mqttPieces(random, version, random.pick([1, 2, 9]) * MIB)
        : connectPieces(random, 320_000);
      report(what);
      await patiently(write(world.mqttPort, isKnown ? connectPacket(world, version, 'pieces') : null, bytes));
    },
  },
  {
    name: 'MQTT packets over WebSocket',
    run: async (world, random, report) => {
      const version = random.pick(VERSIONS);
      const isFrames = random.chance(0.5);
      const { bytes, what } = isFrames ? framePieces(random, MIB) : mqttPieces(random, version, 4 * MIB);
      report(what);
      const connect = inFrames(connectPacket(world, version, 'pieces-ws'));
      const rest = isFrames ? bytes : Buffer.concat([connect, inFrames(bytes)]);
      await patiently(write(world.wsPort, upgrade('/mqtt', 'mqtt'), rest));
    },
  },
  {
    name: 'HTTP requests',
    run: async (world, random, report) => {
      const path = random.pick(HTTP_PATHS);
      const { bytes, what } = requestPieces(random, path, MIB);
      report(what);
      await patiently(write(portOf(world), null, bytes));
    },
  },
  {
    name: 'JSON bodies',
    run: async ({ service, viewer, brokerId }, random, report) => {
      const isKnown = random.chance(0.7);
      const max = isKnown ? MAX_BODY : MAX_ANONYMOUS_BODY;
      const [path, at] = random.pick([
        ['/graphql', '{"query":"query ($v: JSON) { __typename }","variables":{"v":#}}'],
        ['/graphql', '{"query":"mutation ($i: LoginInput!) { login(input: $i) { token } }","variables":{"i":#}}'],
        ['/graphql', '{"query":"{ __typename }","variables":#,"extensions":{}}'],
        ['/graphql', '#'],
        [`/api/brokers/${brokerId}/clients`, '#'],
        [`/api/projects/${service.projectId}/brokers`, '{"name":#,"url":"x"}'],
        ['/auth/session', '{"token":#}'],
      ] as const);
      const { text, what } = jsonPieces(random, max, at);
      report(`${path} ${at} ${what}`);
      await patiently(post(`${service.url}${path}`, isKnown ? viewer : null, text));
    },
  },
  {
    name: 'GraphQL documents',
    run: async ({ service, viewer }, random, report) => {
      const unit = random.pick([
        'a ',
        '{a',
        'a:a ',
        '@a ',
        '...F ',
        '# \n',
        ',',
        '"" ',
        '[',
        '$a:A ',
        'a(a:1) ',
        '\\u{1}',
        '{',
        '1 ',
      ]);
      const count = random.pick([30, 49, 199, 1_990, 100_000, 400_000]);
      const document = `${random.pick(['', 'query(', '{ viewer {'])}${unit.repeat(count)}`.slice(0, MAX_BODY / 2);
      report(`document ${document.slice(0, 20)}… of ${count}`);
      await patiently(post(`${service.url}/graphql`, viewer, JSON.stringify({ query: document })));
    },
  },
  {
    name: 'frames and messages of graphql-ws',
    run: async (world, random, report) => {
      const { bytes, what } = framePieces(random, 2 * MIB);
      const isJson = random.chance(0.5);
      const { text, what: ofText } = jsonPieces(
        random,
        60_000,
        '{"id":"1","type":"subscribe","payload":{"query":"{a}","variables":#}}',
      );
      report(isJson ? ofText : what);
      const rest = isJson ? inFrames(Buffer.from(text)) : bytes;
      if (isJson) rest.writeUInt8(0x81, 0);
      const hello = upgrade('/graphql', 'graphql-transport-ws');
      await patiently(write(portOf(world), hello, Buffer.concat([rest, CLOSE_FRAME])));
    },
  },
  {
    name: 'control responses of brokers',
    run: async (world, random, report) => {
      const version = random.pick(VERSIONS);
      const api = random.pick(APIS);
      const at = random.pick([
        '{"responses":#}',
        '{"responses":[{"command":"listClients","data":{"clients":#}}]}',
        '{"type":"event","event":"x","data":#}',
        '#',
      ]);
      const { text, what } = jsonPieces(random, 8 * MIB, at);
      const isAnswer = random.chance(0.6);
      report(`${api} ${isAnswer ? 'in response' : ''} ${at} ${what}, MQTT ${version}`);
      const response = `$CONTROL/${api}/v1/response`;
      const topic = isAnswer ? `$CONTROL/${api}/v1` : response;
      await fromBroker(world, version, topic, publish(response, text, version));
    },
  },
  {
    name: 'packets, log lines and $SYS of brokers',
    run: async (world, random, report) => {
      const version = random.pick(VERSIONS);
      const line = random.pick([
        ' ',
        ':',
        '1: New client connected from ',
        'a b ',
        '\t',
        '1700000000: ',
        '(',
        'Client ',
      ]);
      const topics = random.pick([
        '$SYS/broker/log/N',
        '$SYS/broker/log/#',
        '$SYS/broker/log/M/subscribe',
        '$SYS/broker/clients/x',
      ]);
      const length = random.pick([1, 100, 1_999, 60_000]);
      const texts = () => publish(topics.replace('#', 'E'), line.repeat(length).slice(0, length), version);
      const isPackets = random.chance(0.5);
      const count = random.int(10, 2_000_000 / (length + 20));
      const pieces: Pieces = isPackets
        ? mqttPieces(random, version, 4 * MIB)
        : {
            bytes: Buffer.concat(Array.from({ length: count }, texts)),
            what: `${count} × ${topics} ${line} × ${length}`,
          };
      report(pieces.what);
      await fromBroker(world, version, '$SYS/broker/log/#', pieces.bytes);
    },
  },
  {
    name: 'control requests to the embedded broker',
    run: async (world, random, report) => {
      const api = random.pick(APIS);
      const at = random.pick([
        '{"commands":#}',
        '{"commands":[{"command":"createRole","rolename":"r","acls":#}]}',
        '{"commands":[{"command":"createClient","username":"u","password":"p","roles":#}]}',
        '{"commands":[{"command":"createStream","name":"s","query":#}]}',
        '{"commands":[{"command":"setDefaultACLAccess","acls":#}]}',
      ]);
      const { text, what } = jsonPieces(random, 8 * MIB, at);
      report(`${api} ${at} ${what}`);
      const bytes = publish(`$CONTROL/${api}/v1`, text, 4);
      await patiently(write(world.mqttPort, connectPacket(world, 4, 'pieces-control'), bytes));
    },
  },
  {
    name: 'payloads of streams and bridges',
    run: async (world, random, report) => {
      const { text, what } = jsonPieces(random, 4 * MIB, random.pick(['#', '{"a":#}', '[#']));
      report(what);
      const bytes = publish('pieces/stream', text, 4);
      await patiently(write(world.mqttPort, connectPacket(world, 4, 'pieces-stream'), bytes));
    },
  },
  {
    name: 'documents of users',
    run: async ({ service, brokerId }, random, report) => {
      const { projectId } = service;
      const pem = random.pick([
        '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n',
        '-----BEGIN',
        '\n',
        '-',
        'AAAA',
      ]);
      const [document, variables, at] = random.pick([
        [
          'mutation ($b: ID!, $v: JSON!) { applyAccessControl(input: { brokerId: $b, document: $v }) { __typename } }',
          { b: brokerId },
          '#',
        ],
        [
          'mutation ($b: ID!, $v: JSON!) { applyAccessControl(input: { brokerId: $b, document: $v }) { __typename } }',
          { b: brokerId },
          '{"version":1,"clients":[],"groups":[],"roles":#}',
        ],
        [
          'mutation ($b: ID!, $v: String) { applyAccessControl(input: { brokerId: $b, mosquittoFile: $v }) { __typename } }',
          { b: brokerId },
          'text',
        ],
        ['query ($v: JSON!) { previewStream(query: $v, samples: [{}]) { __typename } }', {}, '{"select":#}'],
        [
          'mutation ($b: ID!, $v: JSON!) { updateBridgeConfig(input: { brokerId: $b, bridgeKey: "mqtt-bridge", config: $v }) { __typename } }',
          { b: brokerId },
          '{"connections":#}',
        ],
        [
          'mutation ($p: ID!, $v: String!) { createCertificate(input: { projectId: $p, filename: "x", cert: $v }) { __typename } }',
          { p: projectId },
          'pem',
        ],
      ] as const);
      const { text, what } = jsonPieces(random, MAX_BODY / 2, at.includes('#') ? at : '#');
      report(`${document} ${at} ${at === 'pem' ? JSON.stringify(pem) : what}`);
      const value =
        at === 'pem' ? JSON.stringify(pem.repeat(99_000 / pem.length)) : at === 'text' ? JSON.stringify(text) : text;
      const body = `{"query":${JSON.stringify(document)},"variables":{${Object.entries(variables)
        .map(([name, id]) => `"${name}":"${id}",`)
        .join('')}"v":${value}}}`;
      await patiently(post(`${service.url}/graphql`, service.root, body));
    },
  },
  {
    name: 'responses to webhooks',
    run: async (world, random, report) => {
      const { bytes, what } = responsePieces(random, 2 * MIB, jsonPieces(random, 60_000).text);
      report(what);
      const served = world.webhook.respond(bytes);
      await configureWebhook(world, random.int(1, 1e9), 'pieces/hook');
      await write(world.mqttPort, connectPacket(world, 4, 'pieces-hook'), publish('pieces/hook', 'x', 4));
      await patiently(served);
    },
  },
  {
    name: 'messages of a PostgreSQL server',
    run: async (world, random, report) => {
      const { bytes, what } = postgresqlPieces(random, 8 * MIB);
      report(what);
      const served = world.postgresql.respond(bytes);
      await configurePostgresql(world, random.int(1, 1e9));
      await patiently(served);
    },
  },
  {
    name: 'responses of an LDAP directory',
    run: async ({ service, ldap }, random, report) => {
      const { bytes, what } = ldapPieces(random, 4_100_000);
      report(what);
      const served = ldap.respond(bytes);
      const query = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';
      const input = { email: `somebody-${random.int(0, 1e9)}@example.com`, password: 'a password' };
      await patiently(post(`${service.url}/graphql`, null, JSON.stringify({ query, variables: { input } })));
      await patiently(served);
    },
  },
  {
    name: 'responses of an OpenID Connect provider',
    run: async ({ service, oidc }, random, report) => {
      const issuer = `http://127.0.0.1:${oidc.port}`;
      const at = random.pick([
        '#',
        `{"issuer":"${issuer}","jwks_uri":"${issuer}/k","authorization_endpoint":"${issuer}/a","token_endpoint":"${issuer}/t","response_types_supported":#}`,
      ]);
      const json = jsonPieces(random, 999_000, at);
      const { bytes, what } = responsePieces(random, 2 * MIB, json.text);
      report(`${what} ${at} ${json.what}`);
      // The service may remember that the last response was unreadable, and then connects only after a pause.
      void oidc.respond(bytes);
      await patiently(fetch(`${service.url}/auth/oidc`, { redirect: 'manual' }).then((response) => response.text()));
    },
  },
];
