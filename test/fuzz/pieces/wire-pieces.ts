import type { Random } from '../random.ts';

/** MQTT packets, HTTP texts and WebSocket frames that consist of as many small pieces as their bytes can hold. */
export interface Pieces {
  readonly bytes: Buffer;
  readonly what: string;
}

type Version = 4 | 5;

/** Packet types with their first byte, and what precedes the properties. */
const PACKETS = {
  connack: [0x20, '0000'],
  publish: [0x30, '000161'],
  publishQos1: [0x32, '0001610001'],
  puback: [0x40, '000100'],
  pubrec: [0x50, '000100'],
  pubrel: [0x62, '000100'],
  pubcomp: [0x70, '000100'],
  subscribe: [0x82, '0001'],
  suback: [0x90, '0001'],
  unsubscribe: [0xa2, '0001'],
  unsuback: [0xb0, '0001'],
  disconnect: [0xe0, '00'],
  auth: [0xf0, '00'],
} as const;
/** Properties of MQTT 5 that a packet may repeat, or that are tried although it may not. */
const PROPERTIES = ['2600000000', '26000161000162', '0b01', '0b80808001', '0101', '1f0000', '2300017f'];
/** Elements of payloads: filters of SUBSCRIBE and UNSUBSCRIBE, codes of SUBACK. */
const ELEMENTS = ['00016100', '0001612f', '000161', '00022f2300', '0003612f2b01', '00', '80', '00012300', '0002242f02'];
const SMALL = [
  'c000',
  'd000',
  '40020001',
  '50020001',
  '62020001',
  '70020001',
  '9003000100',
  '3003000161',
  '300400016161',
];

export function mqttPieces(random: Random, version: Version, maxBytes: number): Pieces {
  if (random.chance(0.3)) {
    const unit = random.pick(SMALL);
    return { bytes: many(unit, random.int(1_000, maxBytes / (unit.length / 2))), what: `packets ${unit}` };
  }
  if (random.chance(0.1)) {
    const topic = random
      .pick(['/', 'a/', '+/', '$', '\u0001'])
      .repeat(65_535)
      .slice(0, random.pick([199, 201, 65_535]));
    const head = Buffer.concat([
      uint16(topic.length),
      Buffer.from(topic),
      Buffer.from(version === 5 ? '00' : '', 'hex'),
    ]);
    const one = framed(0x30, head);
    const count = Math.max(1, Math.floor(random.int(one.length, maxBytes) / one.length));
    return { bytes: Buffer.concat(Array.from({ length: count }, () => one)), what: `topics of ${topic.slice(0, 2)}` };
  }
  const [name, [first, head]] = random.pick(Object.entries(PACKETS));
  const size = random.pick([900, 3_900, 60_000, 1_000_000, maxBytes]);
  const property = random.pick(PROPERTIES);
  const element = random.pick(ELEMENTS);
  const hasProperties = version === 5 && random.chance(0.6);
  const properties = hasProperties ? many(property, Math.floor(size / (property.length / 2))) : Buffer.alloc(0);
  const elements = hasProperties ? Buffer.alloc(0) : many(element, Math.floor(size / (element.length / 2)));
  const prefix = version === 5 ? variable(properties.length) : Buffer.alloc(0);
  const body = Buffer.concat([Buffer.from(head, 'hex'), prefix, properties, elements]);
  return {
    bytes: framed(first, body),
    what: `${name} ${hasProperties ? property : element} × ${size} B, MQTT ${version}`,
  };
}

/** A CONNECT with many properties, of the packet or of its will. */
export function connectPieces(random: Random, maxBytes: number): Pieces {
  const property = random.pick(PROPERTIES);
  const properties = many(property, random.int(1, Math.floor(maxBytes / property.length)));
  const isOfWill = random.chance(0.5);
  const [ofConnect, ofWill] = isOfWill ? [Buffer.alloc(0), properties] : [properties, Buffer.alloc(0)];
  const will = isOfWill ? [variable(ofWill.length), ofWill, Buffer.from('0001610000', 'hex')] : [];
  const start = Buffer.from(`00044d51545405${isOfWill ? '06' : '02'}0000`, 'hex');
  const body = Buffer.concat([start, variable(ofConnect.length), ofConnect, uint16(1), Buffer.from('x'), ...will]);
  return { bytes: framed(0x10, body), what: `CONNECT ${isOfWill ? 'will ' : ''}${property} × ${properties.length} B` };
}

/** A request, or several, to be written as they are. */
export function requestPieces(random: Random, path: string, maxBytes: number): Pieces {
  const start = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  const kind = random.pick(['chunks', 'headers', 'pipeline', 'query', 'cookies', 'path'] as const);
  const size = random.pick([8_000, 16_000, 60_000, maxBytes]);
  const chunk = random.pick([
    '1\r\n{\r\n',
    '1;a=b\r\n \r\n',
    '0001\r\n[\r\n',
    `20\r\n${' '.repeat(32)}\r\n`,
    '2\r\n{}\r\n',
  ]);
  const header = random.pick(['a:\r\n', 'a: b\r\n', 'Accept: a\r\n', 'Cookie: a\r\n', 'X-Forwarded-For: 1\r\n']);
  const get = random.pick(['GET /healthz', 'GET /api/projects', 'GET /metrics', 'HEAD /graphql', 'OPTIONS *']);
  const texts = {
    chunks: () => `${start}Transfer-Encoding: chunked\r\n\r\n${repeat(chunk, size)}`,
    headers: () => `${start}${repeat(header, size)}\r\n`,
    pipeline: () => repeat(`${get} HTTP/1.1\r\nHost: localhost\r\n\r\n`, size),
    query: () =>
      `GET ${path}?${repeat(random.pick(['a&', 'a=b&', '%41&', '&', 'a[]=1&']), size)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    cookies: () => `${start}Cookie: ${repeat(random.pick([';', 'a=b;', 'a;', '=;']), size)}\r\n\r\n`,
    path: () => `GET ${repeat(random.pick(['/', '/.', '/%2e', '/..', '/a']), size)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  };
  return {
    bytes: Buffer.from(texts[kind]()),
    what: `${path} ${kind} of ${size} B: ${JSON.stringify({ chunk, header, get })}`,
  };
}

/** A response to a request of the service. `body`: of a JSON response. */
export function responsePieces(random: Random, maxBytes: number, body: string): Pieces {
  const kind = random.pick(['json', 'json', 'chunks', 'headers', 'interim', 'chunkedJson'] as const);
  const start = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
  const header = random.pick(['a:\r\n', 'Set-Cookie: a\r\n', 'Link: <a>\r\n', 'WWW-Authenticate: a\r\n']);
  const chunked = (size: number) =>
    `${start}Transfer-Encoding: chunked\r\n\r\n${(body.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []).map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`;
  const texts = {
    json: () => `${start}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    chunks: () =>
      `${start}Transfer-Encoding: chunked\r\n\r\n${repeat(random.pick(['1\r\n{\r\n', '1;a=b\r\n \r\n']), maxBytes)}`,
    headers: () => `${start}${repeat(header, random.pick([16_000, maxBytes]))}\r\n`,
    interim: () =>
      repeat(random.pick(['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n']), maxBytes),
    chunkedJson: () => chunked(random.pick([1, 16])),
  };
  return { bytes: Buffer.from(texts[kind]()), what: `response of ${kind}` };
}

/** Masked WebSocket frames. */
export function framePieces(random: Random, maxBytes: number): Pieces {
  const frame = (first: number, payload: Buffer) =>
    Buffer.concat([Buffer.of(first, 0x80 | payload.length, 0, 0, 0, 0), payload]);
  const unit = random.pick([
    frame(0x89, Buffer.alloc(0)),
    frame(0x8a, Buffer.alloc(0)),
    frame(0x00, Buffer.alloc(0)),
    frame(0x00, Buffer.from('x')),
    frame(0x81, Buffer.from('{}')),
    frame(0x81, Buffer.from('{"type":"ping"}')),
    frame(0x81, Buffer.from('{"id":"1","type":"complete"}')),
    frame(0x82, Buffer.from('x')),
  ]);
  const count = random.int(100, Math.floor(maxBytes / unit.length));
  const begin = unit[0] === 0x00 ? [frame(0x01, Buffer.from('{'))] : [];
  return {
    bytes: Buffer.concat([...begin, many(unit.toString('hex'), count)]),
    what: `${count} frames ${unit.toString('hex')}`,
  };
}

/** Messages of LDAP (BER) of many small elements, in response to any request. */
export function ldapPieces(random: Random, maxBytes: number): Pieces {
  const count = random.int(1_000, maxBytes / 8);
  const unit = Buffer.from(
    random.pick(['0400', '3000', '040161', '30043000', '020101', '300604010a310130', '0500']),
    'hex',
  );
  const list = many(unit.toString('hex'), Math.floor(Math.min(count * unit.length, maxBytes - 50) / unit.length));
  const message = random.pick([
    // A bind response with many referrals, a search entry with many attributes, and many small messages.
    () =>
      ber(
        0x30,
        Buffer.concat([
          Buffer.from('020101', 'hex'),
          ber(0x61, Buffer.concat([Buffer.from('0a010004000400', 'hex'), ber(0xa3, list)])),
        ]),
      ),
    () =>
      ber(
        0x30,
        Buffer.concat([
          Buffer.from('020102', 'hex'),
          ber(0x64, Buffer.concat([Buffer.from('040161', 'hex'), ber(0x30, list)])),
        ]),
      ),
    () => many('300c02010161070a010004000400', Math.floor(list.length / 14)),
    () => many('30050201026400', Math.floor(list.length / 7)),
    () => nested(Math.min(count, 900_000)),
  ]);
  const bytes = message();
  return {
    bytes,
    what: `LDAP ${bytes.subarray(0, 20).toString('hex')}… of ${bytes.length} B, unit ${unit.toString('hex')}`,
  };
}

/** Messages of a PostgreSQL server after the log-in of a client, and the beginnings of messages without end. */
export function postgresqlPieces(random: Random, maxBytes: number): Pieces {
  const unit = random.pick([
    '4e0000000500',
    '450000000500',
    '4e0000000b534100004d6100',
    '530000000661006200',
    '540000000600ff',
    '44000000060000',
    '5a0000000549',
    '4300000008534554',
    '4e7fffffff',
    '44ffffffff',
    '52000000080000000a',
    '4700000000',
  ]);
  const count = random.int(1, Math.floor((2 * maxBytes) / unit.length));
  return {
    bytes: Buffer.concat([many('5200000008000000005a0000000549', 1), many(unit, count)]),
    what: `${count} messages of PostgreSQL ${unit}`,
  };
}

const nested = (levels: number): Buffer =>
  Buffer.concat([many('3084003d0900', Math.floor(levels / 6)), Buffer.alloc(100)]);

const ber = (tag: number, content: Buffer): Buffer => {
  const head = Buffer.alloc(6);
  head.writeUInt8(tag, 0);
  head.writeUInt8(0x84, 1);
  head.writeUInt32BE(content.length, 2);
  return Buffer.concat([head, content]);
};

const many = (hex: string, count: number): Buffer => Buffer.alloc((hex.length / 2) * Math.max(0, count), hex, 'hex');
const repeat = (text: string, size: number): string => text.repeat(Math.max(1, Math.floor(size / text.length)));
const uint16 = (value: number): Buffer => Buffer.of((value >> 8) & 0xff, value & 0xff);

const framed = (first: number, body: Buffer): Buffer => Buffer.concat([Buffer.of(first), variable(body.length), body]);

function variable(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; bytes.length === 0 || rest > 0; rest = Math.floor(rest / 128))
    bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
  return Buffer.from(bytes);
}
