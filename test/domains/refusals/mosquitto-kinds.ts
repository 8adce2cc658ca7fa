import { generate } from 'mqtt-packet';
import { sinceVersion, startClient } from '../../support/mosquitto.ts';
import { type SeenRefusal, sendRaw, shakeHands } from './refused-clients.ts';

interface Listeners {
  readonly port: number;
  /** At most QoS 1, no empty client ids, packets of at most 2,000 bytes. */
  readonly limited: number;
  /** At most one connection. */
  readonly crowded: number;
  readonly webSocketUrl: string;
}

/** What a client does, and what is reported of it; `null`: this version logs nothing of it. */
type Refusing = readonly [act: () => unknown, reported: Partial<SeenRefusal> | null];

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const password = Buffer.from('pw');
const dev = { username: 'dev', password };
const v5 = { protocolVersion: 5 } as const;

const connect = (reason: string, listenerPort: number | null, clientId: string | null = null) =>
  ({ kind: 'CONNECT', reason, clientId, username: null, address: '127.0.0.1', listenerPort }) as const;

/** Refused connections. The accounts are `dev`, `off` (disabled) and `bound` (to another client id). */
export function refusedConnects({ port, limited, crowded, webSocketUrl }: Listeners): readonly Refusing[] {
  const web = Number(new URL(webSocketUrl).port);
  const will = (topic: string) => ({ topic, payload: Buffer.from('x'), qos: 0, retain: false }) as const;
  const wrong = { ...dev, password: Buffer.from('no') };
  /** 2.0.13 and later name the client. */
  const denied = (clientId: string) =>
    connect('NOT_AUTHORIZED', port, sinceVersion({ '2.0.0': null, '2.0.13': clientId }));
  /** Of a CONNECT that is not parsed, 2.0 has no reason. */
  const broken = (since21: string, listenerPort = port) =>
    connect(sinceVersion({ '2.0.0': 'PROTOCOL_ERROR', '2.1.0': since21 }), listenerPort);
  const onWeb = (reason: string, clientId: string | null = null) =>
    sinceVersion({ '2.0.0': null, '2.1.0': connect(reason, web, clientId) });
  return [
    [() => sendRaw(port, { clientId: 'c1', username: 'nobody', password }), denied('c1')],
    [() => sendRaw(port, { clientId: 'c2', ...wrong }), denied('c2')],
    [() => sendRaw(port, { clientId: 'c3', ...wrong, ...v5 }), denied('c3')],
    [() => sendRaw(port, { clientId: 'c4' }), denied('c4')],
    [() => sendRaw(port, { clientId: 'c5', username: 'dev' }), denied('c5')],
    [() => sendRaw(port, { clientId: 'c6', username: 'off', password }), denied('c6')],
    [() => sendRaw(port, { clientId: 'c7', username: 'bound', password }), denied('c7')],
    [
      () => startClient(webSocketUrl, { clientId: 'c8', username: 'dev', password: 'no' }).catch(() => undefined),
      onWeb('NOT_AUTHORIZED', 'c8'),
    ],
    [() => sendRaw(web, { clientId: 'c9', ...dev }), onWeb('WEBSOCKET_REQUEST')],
    [() => sendRaw(web, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'), onWeb('WEBSOCKET_REQUEST')],
    [() => sendRaw(port, 'GET / HTTP/1.1\r\n\r\n'), broken('PROTOCOL_ERROR')],
    [() => sendRaw(port, hex('3007 0004 6f6b2f61 78')), broken('PROTOCOL_ERROR')],
    [() => sendRaw(port, { clientId: 'c13', ...dev, will: will('no/+') }), broken('PROTOCOL_ERROR')],
    [() => sendRaw(port, { clientId: 'a\u0001b', ...dev }), broken('CLIENT_ID_REJECTED')],
    [() => sendRaw(port, hex('100f 00044d515454 04 02 003c 0003610062')), broken('CLIENT_ID_REJECTED')],
    [() => sendRaw(limited, { clientId: '', ...dev }), broken('CLIENT_ID_REJECTED', limited)],
    [() => shakeHands(port), broken('TLS_ON_PLAIN_LISTENER')],
    [
      () => sendRaw(port, hex('100e 00044d515454 09 02 003c 00026331')),
      connect(sinceVersion({ '2.0.0': 'PROTOCOL_VERSION', '2.1.0': 'NOT_SUPPORTED' }), port),
    ],
    [() => sendRaw(port, hex('100e 00044d515458 04 02 003c 00026331')), connect('PROTOCOL_VERSION', port)],
    [
      () => sendRaw(port, { clientId: 'c20', ...dev, will: will('$CONTROL/x') }),
      sinceVersion({ '2.0.0': null, '2.0.22': connect('WILL_REJECTED', port) }),
    ],
    [() => sendRaw(port, hex('1013 00044d515454 04 1e 003c 000161 000177 000178')), connect('WILL_REJECTED', port)],
    [
      () => sendRaw(port, { clientId: 'c22', ...dev, ...v5, properties: { authenticationMethod: 'SCRAM' } }),
      connect('NOT_SUPPORTED', port),
    ],
    [
      () => {
        sendRaw(crowded, { clientId: 'c23', ...dev });
        sendRaw(crowded, { clientId: 'c24', ...dev });
      },
      // The line has no listener.
      connect('TOO_MANY_CONNECTIONS', null),
    ],
  ];
}

/** Packets of connected clients of the account `dev` that end their connections. */
export function refusedPackets({ port, limited }: Listeners): readonly Refusing[] {
  const packet = (reason: string, clientId: string, listenerPort = port) =>
    ({ kind: 'PACKET', reason, clientId, username: 'dev', address: '127.0.0.1', listenerPort }) as const;
  const publish = {
    cmd: 'publish',
    topic: 'a',
    payload: 'x',
    qos: 2,
    messageId: 7,
    dup: false,
    retain: false,
  } as const;
  const tooLarge = Buffer.concat([hex('30ff7f'), Buffer.alloc(64)]);
  const malformed = sinceVersion({ '2.0.0': 'PROTOCOL_ERROR', '2.0.22': 'MALFORMED_PACKET' });
  return [
    [
      () => sendRaw(port, { clientId: 'p1', ...dev }, generate({ cmd: 'pingreq' }), hex('0000')),
      packet('PROTOCOL_ERROR', 'p1'),
    ],
    [
      () => sendRaw(port, { clientId: 'p2', ...dev }, hex('100e 00044d515454 04 02 003c 00027032')),
      packet('PROTOCOL_ERROR', 'p2'),
    ],
    [() => sendRaw(port, { clientId: 'p3', ...dev, ...v5 }, hex('f000')), packet('PROTOCOL_ERROR', 'p3')],
    [
      () => sendRaw(port, { clientId: 'p4', ...dev, ...v5 }, hex('3007 0000 03 230005 78')),
      packet('PROTOCOL_ERROR', 'p4'),
    ],
    [() => sendRaw(port, { clientId: 'p5', ...dev }, hex('8209 0001 0004612b2f62 00')), packet('INVALID_TOPIC', 'p5')],
    [() => sendRaw(port, { clientId: 'p6', ...dev }, hex('a208 0001 0004612b2f62')), packet('INVALID_TOPIC', 'p6')],
    [() => sendRaw(port, { clientId: 'p7', ...dev }, hex('3607 000161 0001 3031')), packet('MALFORMED_PACKET', 'p7')],
    [() => sendRaw(port, { clientId: 'p8', ...dev }, hex('3006 0003612f2b 31')), packet(malformed, 'p8')],
    [() => sendRaw(limited, { clientId: 'p9', ...dev }, publish), packet('NOT_SUPPORTED', 'p9', limited)],
    [() => sendRaw(limited, { clientId: 'p10', ...dev }, tooLarge), packet('PACKET_TOO_LARGE', 'p10', limited)],
  ];
}
